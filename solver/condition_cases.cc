// Premises by cases: a polynomial is positive (not negative, not 0) if it is so for both values of
// a condition that stands in it, where the condition says what it does. So 1 + [x > 0] (x - 1), the
// operand of a logarithm that is read where x > 0 only, is positive. Equality of integers by cases,
// too: an id that a condition replaces is one of two.
#include <algorithm>
#include <optional>

#include "solver/term.h"

namespace planproof::solver {
namespace {

constexpr size_t kMaxConditions = 4;       // conditions that are taken apart
constexpr size_t kMaxConditionTerms = 64;  // of a polynomial that is looked at

}  // namespace

// The first condition that is a factor of a term; none: false.
bool Arena::FindCondition(PolyId p, AtomId* condition) const {
  if (polys_[p].terms.size() > kMaxConditionTerms) return false;
  for (const Term& t : polys_[p].terms) {
    for (const Factor& f : monos_[t.mono].factors) {
      if (!IsCondition(atoms_[f.atom].kind) || f.exponent.num <= 0) continue;
      *condition = f.atom;
      return true;
    }
  }
  return false;
}

// Rule implied-comparison: of integers, what [d >= 0] is where [e >= 0] is known. Where e >= 0, d
// is at least d - e; where it is not, at least d + e + 1.
std::optional<bool> Arena::ImpliedCondition(AtomId condition, bool holds, AtomId other) {
  if (condition == other) return holds;
  if (atoms_[condition].kind != AtomKind::kIndicator ||
      atoms_[other].kind != AtomKind::kIndicator) {
    return std::nullopt;
  }
  const Affine e = atoms_[condition].indices[0], d = atoms_[other].indices[0];
  const Affine known = holds ? e : -e - Affine(1);  // at least 0
  const Affine above = d - known, below = -d - Affine(1) - known;
  if (above.overflow || below.overflow) return std::nullopt;
  if (RangeOf(above).low >= 0) return true;
  if (RangeOf(below).low >= 0) return false;
  return std::nullopt;
}

bool Arena::HasFewConditions(PolyId p) const {
  std::vector<AtomId> met;
  for (const Term& t : polys_[p].terms) {
    for (const Factor& f : monos_[t.mono].factors) {
      if (!IsCondition(atoms_[f.atom].kind)) continue;
      if (std::find(met.begin(), met.end(), f.atom) != met.end()) continue;
      if (met.size() == kMaxConditions) return false;
      met.push_back(f.atom);
    }
  }
  return true;
}

// A whole number in e that depends on a condition, and that condition.
std::optional<std::pair<Symbol, AtomId>> Arena::ConditionalNumber(const Affine& e) const {
  for (const auto& [symbol, step] : e.terms) {
    if (KindOf(symbol) != SymbolKind::kIntAtom) continue;
    const Atom& number = atoms_[AtomOfIntAtom(symbol)];
    AtomId condition;
    if (number.tag != kWholeNumberTag || !HasFewConditions(number.polys[0]) ||
        !FindCondition(number.polys[0], &condition)) {
      continue;
    }
    return std::pair(symbol, condition);
  }
  return std::nullopt;
}

// [e >= 0] or [e = 0], by the conditions on which a whole number in e depends.
std::optional<PolyId> Arena::InCases(AtomKind kind, const Affine& e) {
  if (!ConditionalNumber(e).has_value()) return std::nullopt;
  std::vector<KnownCondition> known;
  return InCasesOf(kind, e, &known);
}

// [c] times what it is where the condition holds, and 1 - [c] times what it is elsewhere.
PolyId Arena::InCasesOf(AtomKind kind, const Affine& e, std::vector<KnownCondition>* known) {
  const auto number = ConditionalNumber(e);
  if (exhausted_) return kZeroPoly;
  if (!number.has_value()) {
    const bool follows =
        kind == AtomKind::kIndicator &&
        std::any_of(known->begin(), known->end(), [&](const KnownCondition& k) {
          const Atom& condition = atoms_[k.condition];
          if (condition.kind != AtomKind::kIndicator) return false;
          const Affine& q = condition.indices[0];
          return RangeOf(e - (k.holds ? q : -q - Affine(1))).low >= 0;  // what is known is >= 0
        });
    if (follows) return One();
    return kind == AtomKind::kIndicator ? Indicator(e) : Delta(e);
  }
  const auto& [symbol, condition] = *number;
  const int64_t step = e.Coefficient(symbol);
  const PolyId value = atoms_[AtomOfIntAtom(symbol)].polys[0], holds = OfAtom(condition);
  PolyId result = kZeroPoly;
  for (const bool here : {true, false}) {
    const Affine own = WholeNumber(WhereCondition(value, condition, here));
    known->push_back({condition, here});
    const PolyId part = InCasesOf(kind, e - Affine::Of(symbol, step) + own.Scaled(step), known);
    known->pop_back();
    result = Add(result, Mul(here ? holds : Sub(One(), holds), part));
  }
  return result;
}

// p where the condition holds, or does not.
PolyId Arena::WhereCondition(PolyId p, AtomId condition, bool holds) {
  const Terms terms = polys_[p].terms;
  PolyId result = kZeroPoly;
  for (const Term& t : terms) {
    const Factors all = monos_[t.mono].factors;
    Factors factors;
    bool zero = false;
    for (const Factor& f : all) {
      const std::optional<bool> value =
          f.exponent.num > 0 ? ImpliedCondition(condition, holds, f.atom) : std::nullopt;
      if (!value)
        factors.push_back(f);
      else
        zero = zero || !*value;
    }
    if (zero) continue;
    result = Add(result, OfMono(InternMono(std::move(factors)), t.coefficient));
  }
  return result;
}

// Whether the one condition, known to hold or not to, gives the premise.
bool Arena::FollowsFrom(const KnownCondition& known, PremiseKind kind, PolyId p) {
  const Atom& atom = atoms_[known.condition];
  PolyId q = kZeroPoly;  // what is known of it: not 0, or at least 0, and more than 0 if `strict`
  bool strict = known.holds;
  switch (atom.kind) {
    case AtomKind::kRealPositive:
      q = known.holds ? atom.polys[0] : Scale(atom.polys[0], Rational(-1));
      break;
    case AtomKind::kIndicator:  // of integers: t >= 0, or -t - 1 >= 0
      q = Position(known.holds ? atom.indices[0] : -atom.indices[0] - Affine(1));
      strict = false;
      break;
    case AtomKind::kRealZero:
    case AtomKind::kDelta: {
      if (known.holds || kind != PremiseKind::kNonZero) return false;
      q = atom.kind == AtomKind::kDelta ? Position(atom.indices[0]) : atom.polys[0];
      const std::optional<Rational> factor = LeadingQuotient(p, q);
      return factor.has_value() && p == Scale(q, *factor);
    }
    default:
      return false;
  }
  // p >= f q with f > 0.
  const auto at_least = [&](PolyId value) {
    const std::optional<Rational> factor = LeadingQuotient(value, q);
    if (!factor.has_value() || factor->Sign() <= 0) return false;
    const Sign rest = SignOf(Sub(value, Scale(q, *factor)));
    if (rest == Sign::kUnknown) return false;
    return strict || rest == Sign::kPositive || kind == PremiseKind::kNonNegative;
  };
  return at_least(p) || (kind == PremiseKind::kNonZero && at_least(Scale(p, Rational(-1))));
}

// The quotient of the coefficients of q's first term that is no number.
std::optional<Rational> Arena::LeadingQuotient(PolyId p, PolyId q) const {
  for (const Term& of : polys_[q].terms) {
    if (of.mono == kUnitMono) continue;
    for (const Term& t : polys_[p].terms) {
      if (t.mono == of.mono) return t.coefficient / of.coefficient;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

bool Arena::HoldsBySign(PremiseKind kind, PolyId p) {
  const Sign sign = SignOf(p);
  if (sign == Sign::kPositive) return true;
  if (kind == PremiseKind::kNonNegative) return sign == Sign::kNonNegative;
  if (kind != PremiseKind::kNonZero) return false;
  Rational c;
  if (IsConstant(p, &c)) return !c.IsZero();
  return SignOf(Scale(p, Rational(-1))) == Sign::kPositive;
}

bool Arena::HoldsUnder(PremiseKind kind, PolyId p, std::vector<KnownCondition>* known) {
  if (HoldsBySign(kind, p)) return true;
  const auto follows = [&](PremiseKind what, PolyId value) {
    return HoldsBySign(what, value) ||
           std::any_of(known->begin(), known->end(), [&](const KnownCondition& condition) {
             return FollowsFrom(condition, what, value);
           });
  };
  if (follows(kind, p)) return true;
  // A product: of factors that are not 0, or are positive.
  if (polys_[p].terms.size() == 1 && !known->empty()) {
    const Term term = polys_[p].terms[0];
    const PremiseKind each =
        kind == PremiseKind::kNonZero ? PremiseKind::kNonZero : PremiseKind::kPositive;
    const Factors factors = monos_[term.mono].factors;
    if (!factors.empty() && (kind == PremiseKind::kNonZero || term.coefficient.Sign() > 0) &&
        std::all_of(factors.begin(), factors.end(),
                    [&](const Factor& f) { return follows(each, OfAtom(f.atom)); })) {
      return true;
    }
  }
  AtomId condition;
  if (known->size() == kMaxConditions || !FindCondition(p, &condition)) return false;
  for (const bool holds : {true, false}) {
    known->push_back({condition, holds});
    const bool follows_here = HoldsUnder(kind, WhereCondition(p, condition, holds), known);
    known->pop_back();
    if (!follows_here) return false;
  }
  return true;
}

bool Arena::AlwaysHolds(PremiseKind kind, PolyId p) {
  std::vector<KnownCondition> known;
  return HoldsUnder(kind, p, &known) && !exhausted_;
}

bool Arena::IsTruthValue(PolyId p) {
  const Terms terms = polys_[p].terms;
  if (terms.size() > 8) return false;
  for (const Term& t : terms) {
    for (const Factor& f : monos_[t.mono].factors) {
      if (!IsCondition(atoms_[f.atom].kind)) return false;
    }
  }
  return Mul(p, p) == p;
}

}  // namespace planproof::solver
