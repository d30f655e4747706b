// Translates writes and additions at indices that are data.
#ifndef PLANPROOF_FRONTEND_TORCH_ATEN_SCATTER_H_
#define PLANPROOF_FRONTEND_TORCH_ATEN_SCATTER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torch/aten_call.h"

namespace planproof::frontend::torch {

// `self` of index_put with its argument `values` added, or written, at `indices`, which name its
// first dimensions and are broadcast against each other. Values that are written have a premise: no
// element is written twice; and every one is, if nobody wrote self's memory before.
absl::StatusOr<Argument> PutAt(AtenCall* call, sdfg::TensorId self,
                               const std::vector<sdfg::TensorId>& indices, bool accumulate);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ATEN_SCATTER_H_
