// Maxima of negative inverses, as a coefficient that is limited has them.
#include <vector>

#include "solver/term.h"

namespace planproof::solver {

// Rule maximum-of-inverses: max(-a / f, -b) = -1 / max(f / a, 1 / b) of positive f, a and b.
std::optional<PolyId> Arena::LargestOfInverses(const std::vector<PolyId>& operands) {
  std::vector<PolyId> inverses;
  bool any = false;
  for (const PolyId p : operands) {
    const Terms terms = polys_[p].terms;
    if (terms.size() != 1 || terms[0].coefficient.Sign() >= 0) return std::nullopt;
    const Rational inverse = (-terms[0].coefficient).Inverse();
    const Factors factors = monos_[terms[0].mono].factors;
    if (factors.empty()) {
      inverses.push_back(Constant(inverse));
      continue;
    }
    if (factors.size() != 1 || !(factors[0].exponent == Exponent{-1, 1})) return std::nullopt;
    const Atom& base = atoms_[factors[0].atom];
    if (base.kind != AtomKind::kBase || SignOf(base.polys[0]) != Sign::kPositive) {
      return std::nullopt;
    }
    inverses.push_back(Scale(base.polys[0], inverse));
    any = true;
  }
  if (!any) return std::nullopt;
  PolyId largest = inverses[0];
  for (size_t i = 1; i < inverses.size(); ++i) largest = Max(largest, inverses[i]);
  return Scale(Power(largest, Exponent{-1, 1}), Rational(-1));
}

}  // namespace planproof::solver
