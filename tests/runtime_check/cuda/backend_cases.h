// What a backend is compared with: the executor on this processor, operator by operator.
#ifndef PLANPROOF_TESTS_RUNTIME_CHECK_CUDA_BACKEND_CASES_H_
#define PLANPROOF_TESTS_RUNTIME_CHECK_CUDA_BACKEND_CASES_H_

#include <memory>
#include <vector>

#include "runtime_check/backend.h"
#include "tests/runtime_check/operator_cases.h"

namespace planproof::runtime_check::cuda {

// All operators and derivatives, and a few of them on larger operands.
std::vector<OperatorCase> BackendCases();

// What a backend is asked to run for these cases, without operands. Tapes are kept in `tapes`.
std::vector<Backend::Application> ApplicationsOf(const std::vector<OperatorCase>& cases,
                                                 const std::vector<sdfg::DType>& types,
                                                 std::vector<std::unique_ptr<Tape>>* tapes);

// Runs the function there and here. `tolerance` 0: bit for bit. Otherwise in float64 it is relative
// to 1 + |value|; in float32 outputs are compared with float64's here: their errors, as the root of
// the sum of squares, are at most four times the executor's in float32, and the tolerance relative
// to the output. False if both refuse the operands.
bool ExpectTheExecutorsValues(const OperatorCase& c, sdfg::DType type, double tolerance,
                              bool hostile, Backend* backend);

}  // namespace planproof::runtime_check::cuda

#endif  // PLANPROOF_TESTS_RUNTIME_CHECK_CUDA_BACKEND_CASES_H_
