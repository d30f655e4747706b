// Checks that results have the element types that PyTorch's promotion gives them.
#ifndef PLANPROOF_FRONTEND_TORCH_RECORDED_TYPES_H_
#define PLANPROOF_FRONTEND_TORCH_RECORDED_TYPES_H_

#include <string>

#include "absl/status/status.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// `base` is the operator's name without overload. InvalidArgument if the first result is of another
// kind (truth values, integers, real numbers), or of other integers, than the operands make it.
// Types of floating point are not told apart; an operator in place keeps its operand's type.
// Precondition: the first result is a tensor, and no tensor is complex.
absl::Status CheckResultType(const Trace& trace, const Executed& executed, const std::string& base,
                             const std::string& place);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_RECORDED_TYPES_H_
