// Rules clear-denominators, clear-sums and expand-short.
#include <algorithm>

#include "solver/rewriter.h"
#include "solver/zero_test.h"

namespace planproof::solver {
namespace {

constexpr int64_t kExpandLength = 8;
constexpr int64_t kMaxExpanded = 512;
constexpr int64_t kMaxCleared = 1024;  // terms after denominators are cleared
// Terms and sums of which the sums in denominators are cleared.
constexpr size_t kMaxSumQuotients = 128, kMaxSumsCleared = 6;

}  // namespace

// How many terms the product with base^raise has at most, each written out.
int64_t ZeroTest::SizeCleared(const Terms& terms, AtomId base, int32_t raise) {
  const int64_t length = static_cast<int64_t>(arena_.poly(arena_.atom(base).polys[0]).terms.size());
  int64_t total = 0;
  for (const Term& t : terms) {
    Exponent e{raise, 1};
    for (const Factor& f : arena_.mono(t.mono).factors) {
      if (f.atom == base) e = e + f.exponent;
    }
    int64_t size = 1;
    for (int64_t w = FloorDiv(e.num, e.den); w > 0 && size <= kMaxCleared; --w) size *= length;
    total += size;
  }
  return total;
}

// Multiplies by powers of bases until none has a negative exponent. Each base is nonzero by a
// recorded premise, so the product is zero exactly when p is. What would grow beyond
// kMaxCleared terms stays as it is.
PolyId ZeroTest::ClearDenominators(PolyId p) {
  for (int step = 0; step < 16; ++step) {
    if (arena_.exhausted()) return p;
    AtomId base = 0;
    Exponent least{0, 1};
    const Terms terms = arena_.poly(p).terms;
    for (const Term& t : terms) {
      for (const Factor& f : arena_.mono(t.mono).factors) {
        const Atom& a = arena_.atom(f.atom);
        if (a.kind != AtomKind::kBase || f.exponent.num >= 0) continue;
        if (base == 0 || a.polys[0] > arena_.atom(base).polys[0]) {
          base = f.atom;
          least = f.exponent;
        } else if (base == f.atom && (f.exponent + Exponent{-least.num, least.den}).num < 0) {
          least = f.exponent;
        }
      }
    }
    if (base == 0) return p;
    // All exponents of this base may differ by fractions: multiply by the integer part.
    int32_t raise = static_cast<int32_t>(-FloorDiv(least.num, least.den));
    if (SizeCleared(terms, base, raise) > kMaxCleared) return p;
    std::vector<PolyId> products;
    for (const Term& t : terms) {
      Factors f = arena_.mono(t.mono).factors;
      f.push_back({base, Exponent{raise, 1}});
      products.push_back(arena_.ProductOf(std::move(f), t.coefficient));
    }
    p = Total(std::move(products));
    if (p == kZeroPoly) return p;
  }
  return p;
}

// Multiplies by powers of sums until none has a negative exponent at the top. Each is nonzero by a
// recorded premise or by its sign, so the product is zero exactly when p is. No term becomes two.
// Of more sums p stays as it is.
PolyId ZeroTest::TimesSums(PolyId p, size_t most_sums) {
  std::map<AtomId, Exponent> least;  // of sums in the denominator
  for (const Term& t : arena_.poly(p).terms) {
    for (const Factor& f : arena_.mono(t.mono).factors) {
      if (f.exponent.num >= 0) continue;
      if (arena_.atom(f.atom).kind != AtomKind::kSum && !IsName(f.atom)) continue;
      Exponent& of_sum = least.try_emplace(f.atom, f.exponent).first->second;
      if ((f.exponent + Exponent{-of_sum.num, of_sum.den}).num < 0) of_sum = f.exponent;
    }
  }
  if (least.empty() || least.size() > most_sums) return p;
  const Terms terms = arena_.poly(p).terms;
  std::vector<PolyId> products;
  for (const Term& t : terms) {
    Factors factors = arena_.mono(t.mono).factors;
    for (const auto& [sum, exponent] : least) {
      factors.push_back({sum, Exponent{-exponent.num, exponent.den}});
    }
    products.push_back(arena_.ProductOf(std::move(factors), t.coefficient));
  }
  return Total(std::move(products));
}

// What was multiplied is cut next: of more terms and sums p stays as it is.
PolyId ZeroTest::ClearSums(PolyId p) {
  return arena_.poly(p).terms.size() > kMaxSumQuotients ? p : TimesSums(p, kMaxSumsCleared);
}

// `size` times the number of points of the atom's box, which may be any number; at most 2^20.
int64_t ZeroTest::TimesVolume(int64_t size, const Atom& a) {
  constexpr int64_t kMany = 1 << 20;
  for (const Interval& d : a.domain) {
    size = d.length() >= kMany ? kMany : std::min(size * d.length(), kMany);
  }
  return size;
}

bool ZeroTest::IsShort(AtomId atom) const {
  const Atom& a = arena_.atom(atom);
  return a.kind == AtomKind::kSum && TimesVolume(1, a) <= kExpandLength;
}

bool ZeroTest::HasShortSum(PolyId p) const {
  for (const Term& t : arena_.poly(p).terms) {
    for (const Factor& f : arena_.mono(t.mono).factors) {
      if (f.exponent.IsInteger() && IsShort(f.atom)) return true;
    }
  }
  return false;
}

PolyId ZeroTest::PointByPoint(const Atom& sum) {
  PolyId total = kZeroPoly;
  for (int64_t k = 0, volume = TimesVolume(1, sum); k < volume; ++k) {
    SymbolMap map;
    map.shift_bound = -1;
    int64_t index = k;
    for (size_t d = 0; d < sum.domain.size(); ++d) {
      map.pairs.emplace_back(BoundSymbol(0, static_cast<uint32_t>(d)),
                             Affine(sum.domain[d].lo + index % sum.domain[d].length()));
      index /= sum.domain[d].length();
    }
    total = arena_.Add(total, Rewriter(&arena_, std::move(map)).Mono(sum.mono));
  }
  return total;
}

// The power of a short sum, or of a denominator in which such sums stand. That a denominator is not
// 0 was recorded when it was built; written out, it is the same number, and so are those within it.
std::optional<PolyId> ZeroTest::Expanded(const Factor& factor) {
  const Atom a = arena_.atom(factor.atom);
  if (!factor.exponent.IsInteger()) return std::nullopt;
  const bool is_short = IsShort(factor.atom);
  if (is_short && factor.exponent.num > 0)
    return arena_.IntegerPower(PointByPoint(a), factor.exponent.num);
  const bool holds_short = a.kind == AtomKind::kBase && HasShortSum(a.polys[0]);
  if (!is_short && !holds_short) return std::nullopt;
  const size_t met = arena_.premises().size();
  const PolyId base = is_short ? PointByPoint(a) : ExpandShortSums(a.polys[0]);
  std::optional<PolyId> power;
  if (base != kZeroPoly) power = arena_.Power(base, factor.exponent);
  arena_.RewindPremises(met);
  return power;
}

PolyId ZeroTest::ExpandShortSums(PolyId p) {
  const Terms terms = arena_.poly(p).terms;
  // Written out, the sums must stay few: the product of their sizes is what it costs.
  int64_t total = 0;
  bool any = false;
  for (const Term& t : terms) {
    int64_t size = 1;
    for (const Factor& f : arena_.mono(t.mono).factors) {
      const Atom& a = arena_.atom(f.atom);
      if (!f.exponent.IsInteger()) continue;
      any |= IsShort(f.atom) || (a.kind == AtomKind::kBase && HasShortSum(a.polys[0]));
      if (a.kind != AtomKind::kSum) continue;
      for (int32_t e = 0; e < f.exponent.num && size <= kMaxExpanded; ++e) {
        size = TimesVolume(size, a);
      }
    }
    total += size;
  }
  if (!any || total > kMaxExpanded) return p;
  std::vector<PolyId> products;
  for (const Term& t : terms) {
    PolyId product = arena_.Constant(t.coefficient);
    Factors rest;
    for (const Factor& f : Factors(arena_.mono(t.mono).factors)) {
      if (const std::optional<PolyId> expanded = Expanded(f)) {
        product = arena_.Mul(product, *expanded);
      } else {
        rest.push_back(f);
      }
    }
    if (!rest.empty())
      product = arena_.Mul(product, arena_.ProductOf(std::move(rest), Rational(1)));
    products.push_back(product);
  }
  return Total(std::move(products));
}

}  // namespace planproof::solver
