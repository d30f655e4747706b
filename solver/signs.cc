// What sign a value has for all admissible inputs: used to discharge premises and to combine roots
// and logarithms. Unknown is always a correct answer.
#include <algorithm>

#include "solver/term.h"

namespace planproof::solver {

// Whether [e == 0] holds for some point of the sum's box, for all values of the other symbols: e
// has one bound variable of the sum, with coefficient +-1, and its solution lies in the interval.
// An id at that variable differs from point to point: [v == ids[v]] need not hold anywhere. Other
// indices of the sum may stand in ids: [v == ids[k]] has a solution v for any one k.
bool Arena::SumMeets(const Atom& sum, const Affine& e) const {
  int variables = 0;
  int64_t coefficient = 0;
  Symbol variable = 0;
  Affine rest(e.constant);
  for (const auto& [s, c] : e.terms) {
    if (KindOf(s) == SymbolKind::kBound && BoundLevel(s) == 0) {
      ++variables;
      coefficient = c;
      variable = s;
    } else {
      rest = rest + Affine::Of(s, c);
    }
  }
  if (variables != 1 || (coefficient != 1 && coefficient != -1) || e.overflow) return false;
  for (const auto& [s, c] : rest.terms) {
    if (KindOf(s) != SymbolKind::kIntAtom) continue;
    // Symbols of ids at ids are among them.
    const Symbols& inner = atoms_[AtomOfIntAtom(s)].symbols;
    if (std::binary_search(inner.begin(), inner.end(), variable)) return false;
  }
  const Interval domain = sum.domain[BoundPosition(variable)];
  // The solution must not depend on other variables bound by this sum; those were counted above.
  const IntRange solution = RangeOf(rest.Scaled(-coefficient));
  return solution.IsBounded() && solution.low >= domain.lo && solution.high < domain.hi;
}

// Whether the sum counts the points at which a maximum over its own box is attained: sum over v of
// [f(v) = max over v of f(v)]. There is at least one.
bool Arena::CountsMaximum(const Atom& sum) {
  const Factors factors = monos_[sum.mono].factors;
  if (factors.size() != 1 || !(factors[0].exponent == Exponent{})) return false;
  const Atom zero = atoms_[factors[0].atom];
  if (zero.kind != AtomKind::kRealZero) return false;
  const Terms terms = polys_[zero.polys[0]].terms;
  for (const Term& term : terms) {
    const Factors& f = monos_[term.mono].factors;
    if (f.size() != 1 || !(f[0].exponent == Exponent{})) continue;
    const Atom& maximum = atoms_[f[0].atom];
    if (maximum.kind != AtomKind::kReduceMax || maximum.domain != sum.domain) continue;
    const PolyId body = maximum.polys[0];
    // Within the maximum, symbols that are bound further out have other numbers: 1 for the sum's.
    const auto mentions_level = [this](PolyId p, uint32_t least, uint32_t most) {
      const Symbols& symbols = polys_[p].symbols;
      return std::any_of(symbols.begin(), symbols.end(), [&](Symbol s) {
        return KindOf(s) == SymbolKind::kBound && BoundLevel(s) >= least && BoundLevel(s) <= most;
      });
    };
    if (mentions_level(body, 1, UINT32_MAX)) continue;
    // What is masked must be the same at every point: max over k != v of f(k) is attained at k.
    if (mentions_level(maximum.polys[1], 1, 1)) continue;
    const PolyId rest = Sub(zero.polys[0], OfMono(term.mono, term.coefficient));
    if (rest == Scale(body, -term.coefficient)) return true;
  }
  return false;
}

namespace {

// Whether the inequality holds at the corner of the sum's box where every variable is smallest, or
// largest, for all values of the other symbols.
bool HoldsAtCorner(const Arena& arena, const Atom& sum, const Affine& condition, bool largest) {
  Affine at(condition.constant);
  for (const auto& [s, k] : condition.terms) {
    if (KindOf(s) == SymbolKind::kBound && BoundLevel(s) == 0) {
      const Interval& d = sum.domain[BoundPosition(s)];
      at = at + Affine(largest ? d.hi - 1 : d.lo).Scaled(k);
    } else {
      at = at + Affine::Of(s, k);
    }
  }
  return !condition.overflow && !at.overflow && arena.RangeOf(at).low >= 0;
}

// Whether a body of conditions and factors that are positive is so at some point of the box: where
// one corner fulfils all inequalities, or its one equality has a solution (`meets`).
template <typename IsPositive, typename Meets>
bool IsPositiveSomewhere(const Arena& arena, const Atom& sum, const IsPositive& is_positive,
                         const Meets& meets) {
  std::vector<const Affine*> inequalities, equalities;
  for (const Factor& f : arena.mono(sum.mono).factors) {
    const Atom& factor = arena.atom(f.atom);
    if (factor.kind == AtomKind::kIndicator) {
      inequalities.push_back(&factor.indices[0]);
    } else if (factor.kind == AtomKind::kDelta) {
      equalities.push_back(&factor.indices[0]);
    } else if (!is_positive(f)) {
      return false;
    }
  }
  if (!equalities.empty())
    return equalities.size() == 1 && inequalities.empty() && meets(*equalities[0]);
  for (const bool largest : {false, true}) {
    if (std::all_of(inequalities.begin(), inequalities.end(), [&](const Affine* condition) {
          return HoldsAtCorner(arena, sum, *condition, largest);
        })) {
      return true;
    }
  }
  return false;
}

}  // namespace

Sign Arena::SignOfAtom(AtomId id, Exponent e) {
  const Atom& a = atoms_[id];
  const bool even = e.IsInteger() && e.num % 2 == 0;
  switch (a.kind) {
    case AtomKind::kNumber:
    case AtomKind::kExp:
      return Sign::kPositive;
    case AtomKind::kPosition: {
      const int64_t low = RangeOf(a.indices[0]).low;
      if (low > 0 || (low == 0 && e.num < 0)) return Sign::kPositive;
      if (low == 0) return Sign::kNonNegative;
      break;
    }
    case AtomKind::kElement:
      if (positive_tags_.contains(a.tag)) return Sign::kPositive;
      if (nonnegative_tags_.contains(a.tag)) {
        return e.num < 0 ? Sign::kPositive : Sign::kNonNegative;
      }
      break;
    case AtomKind::kBase: {
      // A fractional power is a principal root of a radicand that is nonnegative by premise; a
      // negative power of it is nonzero by premise.
      Sign inner = SignOf(a.polys[0]);
      if (inner == Sign::kPositive) return Sign::kPositive;
      if (!e.IsInteger() || even) return e.num < 0 ? Sign::kPositive : Sign::kNonNegative;
      if (inner == Sign::kNonNegative) return e.num < 0 ? Sign::kPositive : Sign::kNonNegative;
      return Sign::kUnknown;
    }
    case AtomKind::kMax: {  // at least its largest operand
      Sign most = Sign::kUnknown;
      for (PolyId operand : std::vector<PolyId>(a.polys.begin(), a.polys.end())) {
        most = std::max(most, SignOf(operand));
      }
      if (most == Sign::kPositive) return most;
      if (most == Sign::kNonNegative) return e.num < 0 ? Sign::kPositive : most;
      break;
    }
    case AtomKind::kReduceMax: {  // one of the elements, of which there are some
      const Sign element = SignOf(a.polys[0]);
      if (element == Sign::kPositive) return element;
      if (element == Sign::kNonNegative) return e.num < 0 ? Sign::kPositive : element;
      break;
    }
    case AtomKind::kLog: {
      Rational number;
      if (IsConstant(a.polys[0], &number) && Rational(1) < number) return Sign::kPositive;
      break;
    }
    case AtomKind::kAbs:
      return e.num < 0 ? Sign::kPositive : Sign::kNonNegative;
    case AtomKind::kIndicator:
    case AtomKind::kDelta:
    case AtomKind::kRealPositive:
    case AtomKind::kRealZero:
      return Sign::kNonNegative;
    case AtomKind::kSum: {
      const Sign body = SignOfMono(a.mono);
      if (body == Sign::kPositive) return body;  // the box is not empty
      if (CountsMaximum(a)) return Sign::kPositive;
      if (body == Sign::kUnknown) break;
      const auto is_positive = [this](const Factor& f) {
        return SignOfAtom(f.atom, f.exponent) == Sign::kPositive;
      };
      const auto meets = [&](const Affine& delta) { return SumMeets(a, delta); };
      if (IsPositiveSomewhere(*this, a, is_positive, meets)) return Sign::kPositive;
      return e.num < 0 ? Sign::kPositive : Sign::kNonNegative;
    }
    default:
      break;
  }
  if (even) return e.num < 0 ? Sign::kPositive : Sign::kNonNegative;
  return Sign::kUnknown;
}

Sign Arena::SignOfMono(MonoId id) {
  Sign sign = Sign::kPositive;
  for (const Factor& f : monos_[id].factors) {
    Sign s = SignOfAtom(f.atom, f.exponent);
    if (s == Sign::kUnknown) return s;
    if (s == Sign::kNonNegative) sign = s;
  }
  return sign;
}

// Rule square-of-sum (Cauchy and Schwarz): over a box of n points n sum f^2 - (sum f)^2 >= 0. Takes
// every term -c R (sum f)^2 together with a term d R sum f^2 with d >= c n; R is nonnegative. Marks
// the negative terms so covered; what is left of d counts as nonnegative.
std::vector<bool> Arena::CoveredSquares(PolyId p) {
  const Terms terms = polys_[p].terms;
  std::vector<bool> covered(terms.size(), false);
  std::vector<Rational> left;
  for (const Term& t : terms) left.push_back(t.coefficient);
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].coefficient.Sign() > 0) continue;
    const Factors factors = monos_[terms[i].mono].factors;
    for (size_t k = 0; k < factors.size() && !covered[i]; ++k) {
      const Atom& sum = atoms_[factors[k].atom];
      if (sum.kind != AtomKind::kSum || !(factors[k].exponent == Exponent{2, 1})) continue;
      Factors squared = monos_[sum.mono].factors;
      Rational volume(1);
      for (Factor& f : squared) f.exponent = f.exponent * Exponent{2, 1};
      for (const Interval& d : sum.domain) volume *= Rational(d.length());
      Atom squares = sum;
      squares.mono = InternMono(std::move(squared));
      Factors rest = factors;
      rest.erase(rest.begin() + k);
      if (SignOfMono(InternMono(Factors(rest))) == Sign::kUnknown) continue;
      rest.push_back({InternAtom(std::move(squares)), Exponent{}});
      const MonoId wanted = InternMono(std::move(rest));
      for (size_t j = 0; j < terms.size(); ++j) {
        const Rational needed = -terms[i].coefficient * volume;
        if (terms[j].mono != wanted || left[j] < needed) continue;
        left[j] += -needed;
        covered[i] = true;
        break;
      }
    }
  }
  return covered;
}

Sign Arena::SignOf(PolyId p) {
  auto it = sign_cache_.find(p);
  if (it != sign_cache_.end()) return it->second;
  const Terms terms = polys_[p].terms;
  bool has_negative = false;
  for (const Term& t : terms) has_negative |= t.coefficient.Sign() < 0;
  std::vector<bool> covered(terms.size(), false);
  if (has_negative) covered = CoveredSquares(p);
  Sign sign = Sign::kNonNegative;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (covered[i]) continue;
    Sign s = terms[i].coefficient.Sign() > 0 ? SignOfMono(terms[i].mono) : Sign::kUnknown;
    if (s == Sign::kUnknown) {
      sign = Sign::kUnknown;
      break;
    }
    // A sum of squares that covers a square of the sum may be used up: it is not positive by
    // itself.
    if (s == Sign::kPositive && !has_negative) sign = Sign::kPositive;
    if (s == Sign::kPositive && terms[i].mono == kUnitMono) sign = Sign::kPositive;
  }
  if (sign == Sign::kUnknown && IsNonNegativeForm(p)) sign = Sign::kNonNegative;
  sign_cache_[p] = sign;
  return sign;
}

}  // namespace planproof::solver
