// Checks that results have the shapes and types that PyTorch gives them.
//
// What an operator computes is stored as the tensor that the trace says its result is. A trace in
// which that has another shape, or is of another kind of numbers, was not recorded. Operators are
// looked at by their rule: results as large as an operand, as operands broadcast, reduced, and so
// on; those without a rule here are not looked at.
#ifndef PLANPROOF_FRONTEND_TORCH_RECORDED_RESULTS_H_
#define PLANPROOF_FRONTEND_TORCH_RECORDED_RESULTS_H_

#include <string>

#include "absl/status/status.h"
#include "frontend/torch/aten_schema.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// `base` is the operator's name without overload.
// InvalidArgument if the first result contradicts the arguments. Complex numbers, and results that
// are given as `out`, are not looked at.
absl::Status CheckResult(const Trace& trace, const Executed& executed, const std::string& base,
                         const AtenSchema& schema, const std::string& place);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_RECORDED_RESULTS_H_
