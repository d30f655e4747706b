#include "solver/summation.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace planproof::solver {
namespace {

bool MentionsAny(const Symbols& symbols, const std::vector<BoundVariable>& vars) {
  for (const BoundVariable& v : vars) {
    if (std::binary_search(symbols.begin(), symbols.end(), v.symbol)) return true;
  }
  return false;
}

// The values of stride * high + low, which has each of them once: the stride is the length of low,
// or minus that. Nothing if they leave the limits: then the two stay apart.
std::optional<Interval> FusedDomain(int64_t stride, Interval high, Interval low) {
  const __int128 first = static_cast<__int128>(stride) * high.lo;
  const __int128 last = static_cast<__int128>(stride) * (high.hi - 1);
  const __int128 lo = std::min(first, last) + low.lo;
  const __int128 hi = std::max(first, last) + low.hi;
  if (lo <= -kAffineLimit || hi > kAffineLimit) return std::nullopt;
  return Interval{static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

}  // namespace

PolyId Summation::SumProduct(const Vars& vars, PolyId p) {
  const Terms& terms = arena_.poly(p).terms;
  std::vector<PolyId> sums;
  for (const Term& t : terms) {
    if (arena_.exhausted()) return kZeroPoly;
    PolyId s = SumFactors(vars, arena_.mono(t.mono).factors);
    sums.push_back(arena_.Scale(s, t.coefficient));
  }
  // Neighbours first, then neighbouring sums: each term is copied as often as the tree is deep, not
  // once for every later term.
  for (; sums.size() > 1; sums.resize((sums.size() + 1) / 2)) {
    for (size_t i = 0; i + 1 < sums.size(); i += 2) sums[i / 2] = arena_.Add(sums[i], sums[i + 1]);
    if (sums.size() % 2 == 1) sums[sums.size() / 2] = sums.back();
  }
  return sums.empty() ? kZeroPoly : sums[0];
}

PolyId Summation::SumFactors(Vars vars, const Factors& all) {
  if (!arena_.Charge(8)) return kZeroPoly;
  Factors outside, inside;
  for (const Factor& f : all) {
    (MentionsAny(arena_.atom(f.atom).symbols, vars) ? inside : outside).push_back(f);
  }
  auto with_outside = [&](PolyId p) {
    if (outside.empty()) return p;
    return arena_.Mul(arena_.ProductOf(Factors(outside), Rational(1)), p);
  };
  for (const BoundVariable& v : vars) {
    if (v.domain.length() <= 0) return kZeroPoly;
  }
  PolyId result;
  if (OpenInnerSums(vars, inside, &result)) return with_outside(result);
  if (EliminateDelta(vars, inside, &result)) return with_outside(result);
  if (UseDataDelta(vars, inside, &result)) return with_outside(result);
  if (Clip(vars, inside, &result)) return with_outside(result);
  if (FuseDigits(vars, inside, &result)) return with_outside(result);

  // Connected components of variables that share a factor.
  std::vector<int> group(vars.size());
  std::iota(group.begin(), group.end(), 0);
  auto find = [&](int i) {
    while (group[i] != i) i = group[i] = group[group[i]];
    return i;
  };
  for (const Factor& f : inside) {
    int first = -1;
    const auto& symbols = arena_.atom(f.atom).symbols;
    for (size_t i = 0; i < vars.size(); ++i) {
      if (!std::binary_search(symbols.begin(), symbols.end(), vars[i].symbol)) continue;
      if (first < 0) {
        first = find(static_cast<int>(i));
      } else {
        group[find(static_cast<int>(i))] = find(first);
      }
    }
  }
  PolyId product = arena_.One();
  for (size_t root = 0; root < vars.size(); ++root) {
    if (find(static_cast<int>(root)) != static_cast<int>(root)) continue;
    Vars members;
    for (size_t i = 0; i < vars.size(); ++i) {
      if (find(static_cast<int>(i)) == static_cast<int>(root)) members.push_back(vars[i]);
    }
    Factors factors;
    for (const Factor& f : inside) {
      if (MentionsAny(arena_.atom(f.atom).symbols, members)) factors.push_back(f);
    }
    product =
        arena_.Mul(product, factors.empty() ? arena_.Constant(Rational(members[0].domain.length()))
                                            : Component(std::move(members), factors));
  }
  return with_outside(product);
}

PolyId Summation::SubstituteAndSum(const Vars& vars, const Factors& factors, Symbol from,
                                   const Affine& to) {
  SymbolMap map;
  map.pairs.emplace_back(from, to);
  Rewriter rewriter(&arena_, std::move(map));
  return SumProduct(vars, rewriter.OfFactors(factors));
}

bool Summation::OpenInnerSums(const Vars& vars, const Factors& factors, PolyId* result) {
  bool any = false;
  for (const Factor& f : factors) {
    any |=
        arena_.atom(f.atom).kind == AtomKind::kSum && f.exponent.IsInteger() && f.exponent.num > 0;
  }
  if (!any) return false;
  ScratchSymbols scratch(&arena_);
  Vars all = vars;
  Factors rest;
  PolyId product = arena_.One();
  for (const Factor& f : factors) {
    const Atom a = arena_.atom(f.atom);
    if (a.kind != AtomKind::kSum || !f.exponent.IsInteger() || f.exponent.num <= 0) {
      rest.push_back(f);
      continue;
    }
    if (f.exponent.num > 8) {
      arena_.exhausted_ = true;
      *result = kZeroPoly;
      return true;
    }
    for (int copy = 0; copy < f.exponent.num; ++copy) {
      SymbolMap opening;
      const Vars opened = Rewriter::Open(&scratch, a, &opening);
      all.insert(all.end(), opened.begin(), opened.end());
      product = arena_.Mul(product, Rewriter(&arena_, std::move(opening)).Mono(a.mono));
    }
  }
  if (!rest.empty()) product = arena_.Mul(arena_.ProductOf(std::move(rest), Rational(1)), product);
  *result = scratch.Close(SumProduct(all, product));
  return true;
}

// Whether factor k is 1 at exactly one value of v, namely at data (an id) whose range lies within
// v's domain, and no other factor depends on v.
bool Summation::CountsOne(const BoundVariable& v, const Factors& factors, size_t k,
                          const Affine& solution) const {
  for (const auto& [s, c] : solution.terms) {
    if (KindOf(s) != SymbolKind::kIntAtom) continue;
    const auto& inner = arena_.atom(arena_.AtomOfIntAtom(s)).symbols;
    if (std::binary_search(inner.begin(), inner.end(), v.symbol)) return false;
  }
  for (size_t j = 0; j < factors.size(); ++j) {
    const auto& symbols = arena_.atom(factors[j].atom).symbols;
    if (j != k && std::binary_search(symbols.begin(), symbols.end(), v.symbol)) return false;
  }
  const IntRange range = arena_.RangeOf(solution);
  return range.IsBounded() && range.low >= v.domain.lo && range.high < v.domain.hi;
}

bool Summation::EliminateDelta(const Vars& vars, const Factors& factors, PolyId* result) {
  for (size_t k = 0; k < factors.size(); ++k) {
    const Atom& a = arena_.atom(factors[k].atom);
    if (a.kind != AtomKind::kDelta) continue;
    const Affine e = a.indices[0];
    bool has_data = false;
    for (const auto& [s, c] : e.terms) has_data |= KindOf(s) == SymbolKind::kIntAtom;
    for (size_t i = 0; i < vars.size(); ++i) {
      const int64_t c = e.Coefficient(vars[i].symbol);
      if (c != 1 && c != -1) continue;
      // c v + rest = 0  =>  v = -rest / c
      Affine rest = e - Affine::Of(vars[i].symbol, c);
      Affine solution = rest.Scaled(-c);
      const Interval domain = vars[i].domain;
      if (has_data && !CountsOne(vars[i], factors, k, solution)) continue;
      PolyId guard = arena_.Mul(arena_.Indicator(solution - Affine(domain.lo)),
                                arena_.Indicator(Affine(domain.hi - 1) - solution));
      Vars others = vars;
      others.erase(others.begin() + i);
      Factors remaining = factors;
      remaining.erase(remaining.begin() + k);
      // Outside the domain nothing was divided by.
      const bool stays = guard == arena_.One() ||
                         std::all_of(remaining.begin(), remaining.end(), [&](const Factor& f) {
                           return arena_.ReplacesWithoutPremise(f, vars[i].symbol);
                         });
      if (!stays) continue;
      SymbolMap map;
      map.pairs.emplace_back(vars[i].symbol, solution);
      PolyId body = Rewriter(&arena_, std::move(map)).OfFactors(remaining);
      *result = SumProduct(others, arena_.Mul(guard, body));
      return true;
    }
  }
  return false;
}

bool Summation::UseDataDelta(const Vars& vars, const Factors& factors, PolyId* result) {
  for (size_t k = 0; k < factors.size(); ++k) {
    const Atom& a = arena_.atom(factors[k].atom);
    if (a.kind != AtomKind::kDelta) continue;
    const Affine e = a.indices[0];
    for (const auto& [s, c] : e.terms) {
      if (KindOf(s) != SymbolKind::kIntAtom || (c != 1 && c != -1)) continue;
      bool mentions_var = false;
      for (const BoundVariable& v : vars) mentions_var |= e.Coefficient(v.symbol) != 0;
      if (!mentions_var) continue;
      // Only in other factors that mention the same integer atom.
      Factors changed, rest;
      for (const Factor& f : factors) {
        const bool changes = &f != &factors[k] &&
                             std::binary_search(arena_.atom(f.atom).symbols.begin(),
                                                arena_.atom(f.atom).symbols.end(), s) &&
                             arena_.ReplacesWithoutPremise(f, s);
        (changes ? changed : rest).push_back(f);
      }
      if (changed.empty()) continue;
      Affine value = (e - Affine::Of(s, c)).Scaled(-c);
      // The value must not mention the atom again (it does not: coefficients are merged), and the
      // atom's own indices stay inside the delta.
      SymbolMap map;
      map.pairs.emplace_back(s, value);
      const PolyId body = Rewriter(&arena_, std::move(map)).OfFactors(changed);
      *result = SumProduct(vars, arena_.Mul(arena_.ProductOf(std::move(rest), Rational(1)), body));
      return true;
    }
  }
  return false;
}

bool Summation::Clip(const Vars& vars, const Factors& factors, PolyId* result) {
  for (size_t k = 0; k < factors.size(); ++k) {
    const Atom& a = arena_.atom(factors[k].atom);
    if (a.kind != AtomKind::kIndicator || factors[k].exponent.num <= 0) continue;
    const Affine e = a.indices[0];
    const IntRange range = arena_.RangeOf(e);
    if (range.high < 0) {
      *result = kZeroPoly;
      return true;
    }
    if (range.low >= 0) {
      Factors rest = factors;
      rest.erase(rest.begin() + k);
      *result = SumFactors(vars, rest);
      return true;
    }
    for (size_t i = 0; i < vars.size(); ++i) {
      const int64_t c = e.Coefficient(vars[i].symbol);
      if (c == 0) continue;
      // c v + rest >= 0 needs at least: with the most that rest can be.
      const int64_t most = arena_.RangeOf(e - Affine::Of(vars[i].symbol, c)).high;
      if (most >= kAffineLimit) continue;
      Interval d = vars[i].domain;
      if (c > 0) {
        d.lo = std::max(d.lo, CeilDiv(-most, c));
      } else {
        d.hi = std::min(d.hi, FloorDiv(most, -c) + 1);
      }
      if (d == vars[i].domain) continue;
      if (d.length() <= 0) {
        *result = kZeroPoly;
        return true;
      }
      // Another symbol: ranges of symbols never change, what was concluded from them stays true.
      ScratchSymbols scratch(&arena_);
      Vars narrower = vars;
      narrower[i] = {scratch.Take(d), d};
      *result = scratch.Close(
          SubstituteAndSum(narrower, factors, vars[i].symbol, Affine::Of(narrower[i].symbol)));
      return true;
    }
  }
  return false;
}

bool Summation::FuseDigits(const Vars& vars, const Factors& factors, PolyId* result) {
  if (vars.size() < 2) return false;
  Parts parts;
  parts.factors = &factors;
  size_t high, low;
  int64_t stride;
  if (!FindDigits(vars, parts, &high, &low, &stride)) return false;
  const std::optional<Interval> d = FusedDomain(stride, vars[high].domain, vars[low].domain);
  if (!d) return false;
  ScratchSymbols scratch(&arena_);
  const Symbol fused = scratch.Take(*d);
  Vars rest;
  for (size_t i = 0; i < vars.size(); ++i) {
    if (i != high && i != low) rest.push_back(vars[i]);
  }
  rest.push_back({fused, *d});
  *result = scratch.Close(SubstituteAndSum(
      rest, factors, vars[low].symbol, Affine::Of(fused) - Affine::Of(vars[high].symbol, stride)));
  return true;
}

bool Summation::CountConditions(const BoundVariable& v, const Factors& factors, PolyId* result) {
  if (factors.size() != 1) return false;
  const Atom& a = arena_.atom(factors[0].atom);
  if (a.kind != AtomKind::kIndicator) return false;
  const Affine& e = a.indices[0];
  const int64_t c = e.Coefficient(v.symbol);
  if (c != 1 && c != -1) return false;
  Affine rest = e - Affine::Of(v.symbol, c);
  for (const auto& [s, k] : rest.terms) {
    if (KindOf(s) == SymbolKind::kIntAtom) return false;
  }
  // c = -1: lo <= v <= rest; c = 1: -rest <= v < hi.
  Affine count = c < 0 ? rest - Affine(v.domain.lo - 1) : rest + Affine(v.domain.hi);
  IntRange r = arena_.RangeOf(count);
  if (!r.IsBounded() || r.low < 0 || r.high > v.domain.length()) return false;
  *result = arena_.Position(count);
  return true;
}

PolyId Summation::Component(Vars vars, const Factors& factors) {
  PolyId counted;
  if (vars.size() == 1 && CountConditions(vars[0], factors, &counted)) return counted;
  Parts parts;
  parts.factors = &factors;
  SymbolMap map;
  Canonicalise(&vars, parts, &map);
  arena_.open_boxes_.push_back(&vars);
  PolyId body = Rewriter(&arena_, std::move(map)).OfFactors(factors);
  arena_.open_boxes_.pop_back();
  PolyId result = kZeroPoly;
  const Terms& terms = arena_.poly(body).terms;
  for (const Term& t : terms) {
    Atom sum;
    sum.kind = AtomKind::kSum;
    sum.mono = t.mono;
    for (const BoundVariable& v : vars) sum.domain.push_back(v.domain);
    result = arena_.Add(
        result, arena_.Scale(arena_.OfAtom(arena_.InternAtom(std::move(sum))), t.coefficient));
  }
  return result;
}

PolyId Summation::Maximum(Vars vars, PolyId body, PolyId guard) {
  // max(f + c) = max f + c for c free of the variables.
  PolyId outside = kZeroPoly, inside = kZeroPoly;
  const Terms& terms = arena_.poly(body).terms;
  for (const Term& t : terms) {
    PolyId p = arena_.OfMono(t.mono, t.coefficient);
    if (MentionsAny(arena_.mono(t.mono).symbols, vars)) {
      inside = arena_.Add(inside, p);
    } else {
      outside = arena_.Add(outside, p);
    }
  }
  // A maximum of maxima is one maximum over the product box.
  if (inside != kZeroPoly && outside == kZeroPoly) {
    const Polynomial& p = arena_.poly(inside);
    if (p.terms.size() == 1 && p.terms[0].coefficient.IsOne()) {
      const Factors& f = arena_.mono(p.terms[0].mono).factors;
      if (f.size() == 1 && f[0].exponent == Exponent{} &&
          arena_.atom(f[0].atom).kind == AtomKind::kReduceMax) {
        const Atom a = arena_.atom(f[0].atom);
        SymbolMap opening;
        ScratchSymbols scratch(&arena_);
        const Vars opened = Rewriter::Open(&scratch, a, &opening);
        Rewriter open(&arena_, std::move(opening));
        vars.insert(vars.end(), opened.begin(), opened.end());
        PolyId inner_guard = open.Poly(a.polys[1]);
        // Masked if either is.
        PolyId both = arena_.Sub(arena_.Add(guard, inner_guard), arena_.Mul(guard, inner_guard));
        return scratch.Close(Maximum(std::move(vars), open.Poly(a.polys[0]), both));
      }
    }
  }
  vars.erase(std::remove_if(vars.begin(), vars.end(),
                            [&](const BoundVariable& v) {
                              return !arena_.Mentions(inside, v.symbol) &&
                                     !arena_.Mentions(guard, v.symbol);
                            }),
             vars.end());
  if (vars.empty() || inside == kZeroPoly) return arena_.Add(outside, inside);
  Parts parts;
  parts.polys = {inside, guard};
  size_t high, low;
  int64_t stride;
  std::optional<Interval> d;
  if (vars.size() > 1 && FindDigits(vars, parts, &high, &low, &stride)) {
    d = FusedDomain(stride, vars[high].domain, vars[low].domain);
  }
  if (d) {
    ScratchSymbols scratch(&arena_);
    const Symbol fused = scratch.Take(*d);
    SymbolMap map;
    map.pairs.emplace_back(vars[low].symbol,
                           Affine::Of(fused) - Affine::Of(vars[high].symbol, stride));
    Rewriter rewriter(&arena_, std::move(map));
    Vars rest;
    for (size_t i = 0; i < vars.size(); ++i) {
      if (i != high && i != low) rest.push_back(vars[i]);
    }
    rest.push_back({fused, *d});
    return scratch.Close(
        arena_.Add(outside, Maximum(std::move(rest), rewriter.Poly(inside), rewriter.Poly(guard))));
  }
  SymbolMap map;
  Canonicalise(&vars, parts, &map);
  Rewriter rewriter(&arena_, std::move(map));
  Atom a;
  a.kind = AtomKind::kReduceMax;
  arena_.open_boxes_.push_back(&vars);
  a.polys = {rewriter.Poly(inside), rewriter.Poly(guard)};
  arena_.open_boxes_.pop_back();
  for (const BoundVariable& v : vars) a.domain.push_back(v.domain);
  return arena_.Add(outside, arena_.OfAtom(arena_.InternAtom(std::move(a))));
}

PolyId Arena::SumOver(const std::vector<BoundVariable>& box, PolyId body) {
  return Summation(this).SumProduct(box, body);
}

PolyId Arena::ReduceMaxOver(const std::vector<BoundVariable>& box, PolyId body, PolyId guard) {
  return Summation(this).Maximum(box, body, guard);
}

PolyId Arena::Sum(BoundVariable v, PolyId body) { return Summation(this).SumProduct({v}, body); }

PolyId Arena::ReduceMax(BoundVariable v, PolyId body, PolyId guard) {
  return Summation(this).Maximum({v}, body, guard);
}

AtomId Arena::OpaqueRowAtom(uint32_t tag, BoundVariable row, PolyId body,
                            std::vector<Affine> indices, std::vector<PolyId> polys) {
  SymbolMap map;
  map.pairs.emplace_back(row.symbol, Affine::Of(BoundSymbol(0, 0)));
  map.shift_bound = 1;
  Rewriter rewriter(this, std::move(map));
  Atom a;
  a.kind = AtomKind::kOpaqueRow;
  a.tag = tag;
  a.indices = std::move(indices);
  const std::vector<BoundVariable> vars = {row};
  open_boxes_.push_back(&vars);
  a.polys.push_back(rewriter.Poly(body));
  for (PolyId p : polys) a.polys.push_back(rewriter.Poly(p));
  open_boxes_.pop_back();
  a.domain = {row.domain};
  return InternAtom(std::move(a));
}

}  // namespace planproof::solver
