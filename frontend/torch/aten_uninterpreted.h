// Translates functions of numbers of which only this is said: they give equal numbers for equal
// operands.
#ifndef PLANPROOF_FRONTEND_TORCH_ATEN_UNINTERPRETED_H_
#define PLANPROOF_FRONTEND_TORCH_ATEN_UNINTERPRETED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torch/aten_call.h"

namespace planproof::frontend::torch {

// f of the operands, element by element, broadcast against each other; at least one is a tensor.
// The result has the type `dtype`, which is one of real numbers. `function` spells out everything
// on which f depends beside its operands.
absl::StatusOr<Argument> Uninterpreted(AtenCall* call, const std::string& function,
                                       const std::vector<Argument>& operands, sdfg::DType dtype);

// The largest whole number that is not above x. Of a number that is known beforehand it is known,
// too; Unimplemented if rounding decides.
absl::StatusOr<Argument> FloorOf(AtenCall* call, const Argument& x, sdfg::DType dtype);

// x / y rounded down, or towards 0, of real numbers.
absl::StatusOr<Argument> RoundedQuotient(AtenCall* call, const Argument& x, const Argument& y,
                                         sdfg::DType dtype, bool towards_zero);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ATEN_UNINTERPRETED_H_
