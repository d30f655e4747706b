// Exp, max and conditions in normal form.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "solver/extended_maximum.h"
#include "solver/term.h"

namespace planproof::solver {
namespace {

constexpr int64_t kMaxPowerOfLog = 4;

}  // namespace

AtomId Arena::ElementAtom(uint32_t tag, std::vector<Affine> indices) {
  Atom a;
  a.kind = AtomKind::kElement;
  a.tag = tag;
  a.indices = std::move(indices);
  return InternAtom(std::move(a));
}

PolyId Arena::Element(uint32_t tag, std::vector<Affine> indices) {
  return OfAtom(ElementAtom(tag, std::move(indices)));
}

// Rules exp-of-sum and exp-of-log.
PolyId Arena::Exp(PolyId p) {
  Factors factors;
  std::vector<std::pair<PolyId, int32_t>> powers;
  for (const Term& t : polys_[p].terms) {
    const Factors& own = monos_[t.mono].factors;
    int64_t power = 0;
    if (own.size() == 1 && own[0].exponent == Exponent{} &&
        atoms_[own[0].atom].kind == AtomKind::kLog && t.coefficient.ToInt64(&power) &&
        std::abs(power) <= kMaxPowerOfLog) {
      powers.emplace_back(atoms_[own[0].atom].polys[0], static_cast<int32_t>(power));
      continue;
    }
    Atom a;
    a.kind = AtomKind::kExp;
    a.mono = t.mono;
    a.number = t.coefficient;
    factors.push_back({InternAtom(std::move(a)), Exponent{}});
  }
  PolyId result = ProductOf(std::move(factors), Rational(1));
  for (const auto& [base, power] : powers) result = Mul(result, Power(base, Exponent{power, 1}));
  return result;
}

PolyId Arena::Unary(AtomKind kind, PolyId p) {
  // erf and sin are odd, cos is even: one sign of the argument is canonical (the smaller id).
  PolyId negated = Scale(p, Rational(-1));
  const bool flip = negated < p;
  if (p == kZeroPoly) return kind == AtomKind::kCos ? one_ : kZeroPoly;
  Atom a;
  a.kind = kind;
  a.polys = {flip ? negated : p};
  PolyId value = OfAtom(InternAtom(std::move(a)));
  return flip && kind != AtomKind::kCos ? Scale(value, Rational(-1)) : value;
}

PolyId Arena::Abs(PolyId p) {
  if (p == kZeroPoly || SignOf(p) != Sign::kUnknown) return p;
  PolyId negated = Scale(p, Rational(-1));
  if (SignOf(negated) != Sign::kUnknown) return negated;
  if (polys_[p].terms.size() == 1) {
    const Term term = polys_[p].terms[0];
    if (monos_[term.mono].factors.size() > 1 || !term.coefficient.IsOne() ||
        !(monos_[term.mono].factors[0].exponent == Exponent{})) {
      PolyId result = Constant(term.coefficient.Sign() < 0 ? -term.coefficient : term.coefficient);
      for (const Factor& f : monos_[term.mono].factors) {
        Factors one;
        one.push_back(f);
        if (SignOfAtom(f.atom, f.exponent) != Sign::kUnknown) {
          result = Mul(result, ProductOf(std::move(one), Rational(1)));
        } else {
          PolyId magnitude = Abs(OfAtom(f.atom));
          result = Mul(result, f.exponent == Exponent{} ? magnitude : Power(magnitude, f.exponent));
        }
      }
      return result;
    }
  }
  Atom a;
  a.kind = AtomKind::kAbs;
  a.polys = {std::min(p, negated)};
  return OfAtom(InternAtom(std::move(a)));
}

namespace {

// The one atom of this kind that stands in the sum by itself, with coefficient 1; null if there is
// none, or are several.
const AtomId* LoneAtom(const Arena& arena, PolyId p, AtomKind kind) {
  const AtomId* found = nullptr;
  for (const Term& t : arena.poly(p).terms) {
    const Factors& f = arena.mono(t.mono).factors;
    if (f.size() != 1 || arena.atom(f[0].atom).kind != kind) continue;
    if (!(f[0].exponent == Exponent{}) || !t.coefficient.IsOne() || found != nullptr) {
      return nullptr;
    }
    found = &f[0].atom;
  }
  return found;
}

// Rule max-shared, inwards: max(c + max(f, g), h) = max(c + f, c + g, h).
std::vector<PolyId> OperandsOfMaximum(Arena* arena, PolyId a, PolyId b) {
  std::vector<PolyId> operands;
  for (PolyId p : {a, b}) {
    const AtomId* inner = LoneAtom(*arena, p, AtomKind::kMax);
    if (inner == nullptr) {
      operands.push_back(p);
      continue;
    }
    const AtomId maximum = *inner;
    const PolyId rest = arena->Sub(p, arena->OfAtom(maximum));
    const std::vector<PolyId> of_inner = arena->atom(maximum).polys;
    for (PolyId q : of_inner) operands.push_back(arena->Add(rest, q));
  }
  return operands;
}

// The box that both cover, if they differ in one dimension at most and overlap or touch there.
std::optional<std::vector<Interval>> UnionOfBoxes(const std::vector<Interval>& x,
                                                  const std::vector<Interval>& y) {
  if (x.size() != y.size()) return std::nullopt;
  std::vector<Interval> box = x;
  int differing = 0;
  for (size_t d = 0; d < x.size(); ++d) {
    if (x[d] == y[d]) continue;
    if (++differing > 1 || x[d].lo > y[d].hi || y[d].lo > x[d].hi) return std::nullopt;
    box[d] = {std::min(x[d].lo, y[d].lo), std::max(x[d].hi, y[d].hi)};
  }
  return box;
}

// Rule merge-maxima: maxima over adjacent boxes of one body are one maximum, also with one summand
// beside them. What both are, with the box of the two; nothing if they are none.
std::optional<std::pair<PolyId, Atom>> MergedMaxima(Arena* arena, PolyId p, PolyId q) {
  const AtomId* of_p = LoneAtom(*arena, p, AtomKind::kReduceMax);
  const AtomId* of_q = LoneAtom(*arena, q, AtomKind::kReduceMax);
  if (of_p == nullptr || of_q == nullptr) return std::nullopt;
  const AtomId x = *of_p, y = *of_q;
  if (arena->atom(x).polys != arena->atom(y).polys) return std::nullopt;
  std::optional<std::vector<Interval>> box =
      UnionOfBoxes(arena->atom(x).domain, arena->atom(y).domain);
  if (!box) return std::nullopt;
  const PolyId rest = arena->Sub(p, arena->OfAtom(x));
  if (rest != arena->Sub(q, arena->OfAtom(y))) return std::nullopt;
  Atom merged = arena->atom(x);
  merged.domain = *std::move(box);
  return std::pair{rest, std::move(merged)};
}

// The same where one is a slice at the edge of the other's box.
std::optional<std::pair<PolyId, Atom>> WithSlice(Arena* arena, PolyId p, PolyId q) {
  const AtomId* of_p = LoneAtom(*arena, p, AtomKind::kReduceMax);
  if (of_p == nullptr) return std::nullopt;
  const AtomId maximum = *of_p;
  const PolyId rest = arena->Sub(p, arena->OfAtom(maximum));
  std::optional<Atom> extended = ExtendedMaximum(arena, maximum, arena->Sub(q, rest));
  if (!extended) return std::nullopt;
  return std::pair{rest, *std::move(extended)};
}

// The terms that all have.
Terms SharedTerms(const Arena& arena, const std::vector<PolyId>& polys) {
  Terms shared = arena.poly(polys[0]).terms;
  for (PolyId p : polys) {
    const Terms& terms = arena.poly(p).terms;
    const auto elsewhere = [&](const Term& t) {
      return std::any_of(terms.begin(), terms.end(), [&](const Term& u) {
        return u.mono == t.mono && u.coefficient == t.coefficient;
      });
    };
    shared.erase(std::stable_partition(shared.begin(), shared.end(), elsewhere), shared.end());
  }
  return shared;
}

}  // namespace

PolyId Arena::Max(PolyId a, PolyId b) {
  if (a == b) return a;
  std::vector<PolyId> set = OperandsOfMaximum(this, a, b);
  for (bool changed = true; changed && !exhausted_;) {
    changed = false;
    for (size_t i = 0; i < set.size() && !changed; ++i) {
      for (size_t j = i + 1; j < set.size() && !changed; ++j) {
        std::optional<std::pair<PolyId, Atom>> merged = MergedMaxima(this, set[i], set[j]);
        if (!merged) merged = WithSlice(this, set[i], set[j]);
        if (!merged) merged = WithSlice(this, set[j], set[i]);
        if (!merged) continue;
        set[i] = Add(merged->first, OfAtom(InternAtom(std::move(merged->second))));
        set.erase(set.begin() + static_cast<std::ptrdiff_t>(j));
        changed = true;
      }
    }
  }
  // Rule max-shared: max(c + f, c + g) = c + max(f, g).
  const PolyId common = InternPoly(SharedTerms(*this, set));
  if (common != kZeroPoly && !exhausted_) {
    PolyId largest_rest = Sub(set[0], common);
    for (size_t i = 1; i < set.size(); ++i) largest_rest = Max(largest_rest, Sub(set[i], common));
    return Add(common, largest_rest);
  }
  // Of constants only the largest matters; 0 does not matter beside a nonnegative value.
  bool has_constant = false, has_nonnegative = false;
  Rational largest;
  std::vector<PolyId> rest;
  for (PolyId p : set) {
    Rational c;
    if (IsConstant(p, &c)) {
      if (!has_constant || largest < c) largest = c;
      has_constant = true;
    } else {
      has_nonnegative |= SignOf(p) != Sign::kUnknown;
      rest.push_back(p);
    }
  }
  if (has_constant && !(has_nonnegative && largest.Sign() <= 0)) rest.push_back(Constant(largest));
  std::sort(rest.begin(), rest.end());
  rest.erase(std::unique(rest.begin(), rest.end()), rest.end());
  if (rest.size() == 1) return rest[0];
  if (const auto inverse = LargestOfInverses(rest)) return *inverse;
  Atom m;
  m.kind = AtomKind::kMax;
  m.polys = std::move(rest);
  return OfAtom(InternAtom(std::move(m)));
}

Affine Arena::WholeNumber(PolyId value) {
  Affine sum;
  bool affine = true;
  for (const Term& term : polys_[value].terms) {
    int64_t coefficient = 0;
    const Factors& factors = monos_[term.mono].factors;
    affine = affine && term.coefficient.ToInt64(&coefficient);
    if (affine && term.mono == kUnitMono) {
      sum = sum + Affine(coefficient);
      continue;
    }
    affine = affine && factors.size() == 1 && factors[0].exponent == Exponent{} &&
             atoms_[factors[0].atom].kind == AtomKind::kPosition;
    if (!affine) break;
    sum = sum + atoms_[factors[0].atom].indices[0].Scaled(coefficient);
  }
  if (affine) return sum;
  IntRange range = BoundsOf(value, 0);
  if (SignOf(value) != Sign::kUnknown) range.low = std::max<int64_t>(range.low, 0);
  return Affine::Of(IntAtom(OpaqueAtom(kWholeNumberTag, {}, {value}), range));
}

namespace {

constexpr int kMaxNestedBounds = 16;

int64_t Saturated(__int128 value) {
  return static_cast<int64_t>(
      std::clamp<__int128>(value, -kAffineLimit, kAffineLimit));  // the ends mean: not bounded
}

IntRange TimesBounds(const IntRange& a, const IntRange& b) {
  IntRange product{kAffineLimit, -kAffineLimit};
  for (const int64_t x : {a.low, a.high}) {
    for (const int64_t y : {b.low, b.high}) {
      const int64_t xy = Saturated(static_cast<__int128>(x) * y);
      product.low = std::min(product.low, xy);
      product.high = std::max(product.high, xy);
    }
  }
  return product;
}

}  // namespace

IntRange Arena::BoundsOf(PolyId p, int depth) {
  const Terms terms = polys_[p].terms;
  __int128 low = 0, high = 0;
  for (const Term& term : terms) {
    int64_t coefficient = 0;
    if (!term.coefficient.ToInt64(&coefficient) || depth > kMaxNestedBounds) return IntRange{};
    IntRange product{1, 1};
    for (const Factor& factor : Factors(monos_[term.mono].factors)) {
      if (!factor.exponent.IsInteger() || factor.exponent.num < 1 || factor.exponent.num > 8) {
        return IntRange{};
      }
      const IntRange bounds = BoundsOfAtom(factor.atom, depth);
      for (int k = 0; k < factor.exponent.num; ++k) product = TimesBounds(product, bounds);
    }
    product = TimesBounds(product, {coefficient, coefficient});
    low = product.low <= -kAffineLimit || low <= -kAffineLimit ? -kAffineLimit : low + product.low;
    high =
        product.high >= kAffineLimit || high >= kAffineLimit ? kAffineLimit : high + product.high;
  }
  return {Saturated(low), Saturated(high)};
}

IntRange Arena::BoundsOfAtom(AtomId id, int depth) {
  const Atom atom = atoms_[id];
  switch (atom.kind) {
    case AtomKind::kPosition:
      return RangeOf(atom.indices[0]);
    case AtomKind::kIndicator:
    case AtomKind::kDelta:
    case AtomKind::kRealPositive:
    case AtomKind::kRealZero:
      return {0, 1};
    case AtomKind::kMax: {
      IntRange bounds{-kAffineLimit, -kAffineLimit};
      for (PolyId operand : atom.polys) {
        const IntRange of = BoundsOf(operand, depth + 1);
        bounds.low = std::max(bounds.low, of.low);
        bounds.high = std::max(bounds.high, of.high);
      }
      return bounds;
    }
    default:
      return IntRange{};
  }
}

PolyId Arena::Position(const Affine& e) {
  PolyId result = Constant(Rational(e.constant));
  if (e.overflow) Overflow();
  for (const auto& [s, c] : e.terms) {
    if (KindOf(s) == SymbolKind::kIntAtom && atoms_[AtomOfIntAtom(s)].tag == kWholeNumberTag) {
      result = Add(result, Scale(atoms_[AtomOfIntAtom(s)].polys[0], Rational(c)));
      continue;
    }
    Atom a;
    a.kind = AtomKind::kPosition;
    a.indices = {Affine::Of(s)};
    result = Add(result, Scale(OfAtom(InternAtom(std::move(a))), Rational(c)));
  }
  return result;
}

// With e = d u + v and v in [k d, (k + 1) d): e >= 0 exactly where u + k >= 0.
Affine Arena::WithoutLowDigits(const Affine& e) const {
  for (const auto& digit : e.terms) {
    const int64_t d = std::abs(digit.second);
    if (d <= 1) continue;
    Affine u, v(e.constant);
    for (const auto& [s, c] : e.terms) {
      if (c % d == 0) {
        u = u + Affine::Of(s, c / d);
      } else {
        v = v + Affine::Of(s, c);
      }
    }
    const IntRange r = RangeOf(v);
    if (v.overflow || !r.IsBounded() || FloorDiv(r.low, d) != FloorDiv(r.high, d)) continue;
    return WithoutLowDigits(u + Affine(FloorDiv(r.low, d)));
  }
  return e;
}

PolyId Arena::Indicator(const Affine& e) {
  if (e.overflow) {
    Overflow();
    return kZeroPoly;
  }
  IntRange r = RangeOf(e);
  if (r.low >= 0) return one_;
  if (r.high < 0) return kZeroPoly;
  if (const auto cases = InCases(AtomKind::kIndicator, e)) return *cases;
  Affine reduced = WithoutLowDigits(e);
  // What no digit decides may still have a common divisor.
  int64_t g = 0;
  for (const auto& [s, c] : reduced.terms) g = std::gcd(g, c);
  if (g > 1) {
    reduced.constant = FloorDiv(reduced.constant, g);
    for (auto& [s, c] : reduced.terms) c /= g;
  }
  Atom a;
  a.kind = AtomKind::kIndicator;
  a.indices = {reduced};
  return OfAtom(InternAtom(std::move(a)));
}

PolyId Arena::Delta(const Affine& e) {
  if (e.overflow) {
    Overflow();
    return kZeroPoly;
  }
  IntRange r = RangeOf(e);
  if (r.low > 0 || r.high < 0) return kZeroPoly;
  if (r.low == 0 && r.high == 0) return one_;
  if (e.IsConstant()) return e.constant == 0 ? one_ : kZeroPoly;
  if (const auto cases = InCases(AtomKind::kDelta, e)) return *cases;
  int64_t g = 0;
  for (const auto& [s, c] : e.terms) g = std::gcd(g, c);
  if (FloorMod(e.constant, g) != 0) return kZeroPoly;
  Affine reduced = e;
  reduced.constant /= g;
  for (auto& [s, c] : reduced.terms) c /= g;
  if (reduced.terms[0].second < 0) reduced = -reduced;
  Atom a;
  a.kind = AtomKind::kDelta;
  a.indices = {reduced};
  return OfAtom(InternAtom(std::move(a)));
}

PolyId Arena::PositiveWith(PolyId p) const {
  const Terms& terms = polys_[p].terms;
  if (terms.size() != 1 || terms[0].coefficient.Sign() < 0) return p;
  const Factors& factors = monos_[terms[0].mono].factors;
  if (factors.size() != 1 || !(factors[0].exponent == Exponent{})) return p;
  const Atom& max = atoms_[factors[0].atom];
  if (max.kind != AtomKind::kMax || max.polys.size() != 2) return p;
  for (size_t i = 0; i < 2; ++i) {
    Rational c;
    if (IsConstant(max.polys[i], &c) && c.Sign() <= 0) return max.polys[1 - i];
  }
  return p;
}

PolyId Arena::RealPositive(PolyId p) {
  Rational c;
  if (IsConstant(p, &c)) return c.Sign() > 0 ? one_ : kZeroPoly;
  if (IsTruthValue(p)) return p;
  if (SignOf(p) == Sign::kPositive) return one_;
  if (SignOf(Scale(p, Rational(-1))) != Sign::kUnknown) return kZeroPoly;
  if (const PolyId same = PositiveWith(p); same != p) return RealPositive(same);
  Rational lead = polys_[p].terms[0].coefficient;
  Atom a;
  a.kind = AtomKind::kRealPositive;
  a.polys = {Scale(p, (lead.Sign() < 0 ? -lead : lead).Inverse())};
  return OfAtom(InternAtom(std::move(a)));
}

PolyId Arena::RealZero(PolyId p) {
  Rational c;
  if (IsConstant(p, &c)) return c.IsZero() ? one_ : kZeroPoly;
  if (IsTruthValue(p)) return Sub(one_, p);
  if (SignOf(p) == Sign::kPositive || SignOf(Scale(p, Rational(-1))) == Sign::kPositive)
    return kZeroPoly;
  Atom a;
  a.kind = AtomKind::kRealZero;
  a.polys = {Scale(p, polys_[p].terms[0].coefficient.Inverse())};
  return OfAtom(InternAtom(std::move(a)));
}

AtomId Arena::OpaqueAtom(uint32_t tag, std::vector<Affine> indices, std::vector<PolyId> polys) {
  Atom a;
  a.kind = AtomKind::kOpaque;
  a.tag = tag;
  a.indices = std::move(indices);
  a.polys = std::move(polys);
  return InternAtom(std::move(a));
}

PolyId Arena::Opaque(uint32_t tag, std::vector<Affine> indices, std::vector<PolyId> polys) {
  return OfAtom(OpaqueAtom(tag, std::move(indices), std::move(polys)));
}

}  // namespace planproof::solver
