// Translates sums, differences, products, quotients and powers of tensors and numbers.
#ifndef PLANPROOF_FRONTEND_TORCH_ATEN_ARITHMETIC_H_
#define PLANPROOF_FRONTEND_TORCH_ATEN_ARITHMETIC_H_

#include <string>

#include "absl/status/statusor.h"
#include "frontend/torch/aten_call.h"
#include "solver/rational.h"

namespace planproof::frontend::torch {

// x op y by the operator `declared` of the library; `alpha` multiplies the second of sums and
// differences. The result, target number `r`, is a number where both are and what PyTorch computes
// of them is known. A factor, divisor or exponent of a real result is what it is meant to be
// (rounded_number.h).
absl::StatusOr<Argument> Binary(AtenCall* call, const std::string& declared, const Argument& x,
                                const Argument& y, const solver::Rational& alpha, size_t r = 0);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ATEN_ARITHMETIC_H_
