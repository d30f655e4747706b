// Recognizes literals that stand for a number of which a program's text shows the float32 rounding.
#ifndef PLANPROOF_FRONTEND_PLAN_ROUNDED_LITERAL_H_
#define PLANPROOF_FRONTEND_PLAN_ROUNDED_LITERAL_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "solver/rational.h"

namespace planproof::plan {

// What the specification declares: the value of a decimal -> what it stands for.
using RoundedLiterals = std::vector<std::pair<solver::Rational, solver::Rational>>;

// The float32 nearest to the value, ties to even (IEEE 754), computed exactly: rounding to double
// first can end in the neighbour. Nothing beyond the largest float32.
std::optional<solver::Rational> NearestFloat32(const solver::Rational& value);

// Whether a decimal with a point or an exponent: only these can be rounded. An integer counts or
// indexes, and a fraction is exact.
bool IsDecimal(const std::string& text);

// The pair (value of `literal`, value of `exact`). InvalidArgument unless `literal` is the decimal
// that a program prints for the float32 nearest to `exact`: its exact value, or that value rounded
// to some number of digits which still tells it from its neighbours.
absl::StatusOr<std::pair<solver::Rational, solver::Rational>> ReadRoundedLiteral(
    const std::string& literal, const std::string& exact);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_ROUNDED_LITERAL_H_
