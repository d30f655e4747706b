// Translates backward operators that are derivatives of declared operators.
#ifndef PLANPROOF_FRONTEND_TORCH_ATEN_DERIVATIVE_H_
#define PLANPROOF_FRONTEND_TORCH_ATEN_DERIVATIVE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torch/aten_call.h"

namespace planproof::frontend::torch {

// The gradient of operand number `wrt` of the declared operator, whose first result has the
// gradient `g`. Unimplemented if `g` has not that result's shape.
absl::StatusOr<sdfg::TensorId> GradientOf(AtenCall* call, const std::string& declared,
                                          const std::vector<sdfg::TensorId>& operands,
                                          const sdfg::Attributes& attributes, int wrt,
                                          sdfg::TensorId g);

// Returns the next result as the gradient of the operand `of`, which has that operand's shape.
// Unimplemented if it has not, or the trace says otherwise: operands of other shapes than the
// forward operator's were given.
absl::Status ReturnGradient(AtenCall* call, Argument gradient, const char* of, size_t result = 0);

// Which of the gradients are asked for: the others are not returned.
bool IsGradientWanted(const AtenCall& call, size_t gradient);
void ReturnWantedGradients(AtenCall* call, const std::vector<sdfg::TensorId>& gradients);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ATEN_DERIVATIVE_H_
