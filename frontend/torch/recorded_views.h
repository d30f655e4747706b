// Checks that views lie where the arguments of the operators that gave them say.
//
// A view computes nothing: it is the tensor that the trace says it is. A trace in which that is
// another one than PyTorch gives was not recorded.
#ifndef PLANPROOF_FRONTEND_TORCH_RECORDED_VIEWS_H_
#define PLANPROOF_FRONTEND_TORCH_RECORDED_VIEWS_H_

#include <string>

#include "absl/status/status.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// `base` is the operator's name without overload, one whose results are views. InvalidArgument if
// one of them is another view of the operand's memory than its arguments give. Views of complex
// numbers, and those of which arguments are no plain numbers, are not looked at.
absl::Status CheckViews(const Trace& trace, const Executed& executed, const std::string& base,
                        const std::string& place);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_RECORDED_VIEWS_H_
