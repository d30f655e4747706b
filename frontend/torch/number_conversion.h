// Converts a number to an element type: what a tensor of that type holds of it.
//
// Whatever is stored, filled or folded passes through here. Floating types hold every number that
// is not beyond their largest, as proofs are over the reals (docs/soundness.md). Integers drop a
// fraction and wrap around, truth values say what is not 0.
#ifndef PLANPROOF_FRONTEND_TORCH_NUMBER_CONVERSION_H_
#define PLANPROOF_FRONTEND_TORCH_NUMBER_CONVERSION_H_

#include <optional>

#include "sdfg/types.h"
#include "solver/rational.h"

namespace planproof::frontend::torch {

// A number that is known beforehand. PyTorch computed it in floating point, so the one that it has
// lies within `error` of the value; 0 where nothing was rounded.
struct KnownNumber {
  solver::Rational value;
  sdfg::DType type = sdfg::DType::kUnknown;  // which it has by now
  double error = 0;
};

// The number that a tensor of type `to` holds when it is given this one. Nothing where that is not
// defined (a real number beyond the integers of the type) or not known (the fraction is dropped
// next to a whole number to which rounding may lead; a number beyond the type, of which it is not
// known whether it was an integer).
std::optional<KnownNumber> InType(const KnownNumber& number, sdfg::DType to);

// The same of a number that is not rounded.
std::optional<solver::Rational> InType(const solver::Rational& number, sdfg::DType from,
                                       sdfg::DType to);

// Whether the type holds the number without rounding.
bool HoldsExactly(sdfg::DType type, const solver::Rational& number);

enum class Arithmetic : uint8_t { kAdd, kSubtract, kMultiply, kDivide };

// x op y as an operator whose result has type `result` computes it, before it is stored. Nothing
// for a quotient by 0, or by what may be 0.
std::optional<KnownNumber> Computed(Arithmetic op, const KnownNumber& x, const KnownNumber& y,
                                    sdfg::DType result);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_NUMBER_CONVERSION_H_
