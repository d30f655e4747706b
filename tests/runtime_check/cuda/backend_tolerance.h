// What a backend computes, against this processor's float64 and what rounding explains.
#ifndef PLANPROOF_TESTS_RUNTIME_CHECK_CUDA_BACKEND_TOLERANCE_H_
#define PLANPROOF_TESTS_RUNTIME_CHECK_CUDA_BACKEND_TOLERANCE_H_

#include "lineage/lineage.h"
#include "runtime_check/backend.h"
#include "sdfg/types.h"

namespace planproof::runtime_check::cuda {

struct ToleranceUse {
  int tensors = 0;
  double worst = 0;  // part of the bound
};

// Runs the plan there in the type, on random inputs, and compares each tensor whose relation to the
// model is known with the model in float64 on the same inputs here. What is expected of rounding is
// estimated here, too.
ToleranceUse ExpectWithinTolerance(const lineage::Problem& problem, sdfg::DType type,
                                   Backend* backend);

}  // namespace planproof::runtime_check::cuda

#endif  // PLANPROOF_TESTS_RUNTIME_CHECK_CUDA_BACKEND_TOLERANCE_H_
