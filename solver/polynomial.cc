// Sums, products and the folding rules of products.
#include <algorithm>

#include "solver/summation.h"
#include "solver/term.h"

namespace planproof::solver {
namespace {

int32_t FloorOf(Exponent e) { return static_cast<int32_t>(FloorDiv(e.num, e.den)); }

}  // namespace

PolyId Arena::Constant(const Rational& value) { return OfMono(kUnitMono, value); }

PolyId Arena::Add(PolyId a, PolyId b) {
  if (a == kZeroPoly) return b;
  if (b == kZeroPoly) return a;
  const auto& x = polys_[a].terms;
  const auto& y = polys_[b].terms;
  Terms out;
  out.reserve(x.size() + y.size());
  size_t i = 0, j = 0;
  while (i < x.size() || j < y.size()) {
    if (j == y.size() || (i < x.size() && x[i].mono < y[j].mono)) {
      out.push_back(x[i++]);
    } else if (i == x.size() || y[j].mono < x[i].mono) {
      out.push_back(y[j++]);
    } else {
      Rational c = x[i].coefficient + y[j].coefficient;
      if (!c.IsZero()) out.push_back({x[i].mono, c});
      ++i;
      ++j;
    }
  }
  if (!Charge(static_cast<int64_t>(out.size()))) return kZeroPoly;
  return InternPoly(MergeAdjacentSums(std::move(out)));
}

PolyId Arena::Scale(PolyId a, const Rational& factor) {
  if (a == kZeroPoly || factor.IsZero()) return kZeroPoly;
  if (factor.IsOne()) return a;
  Terms out = polys_[a].terms;
  for (Term& t : out) t.coefficient *= factor;
  return InternPoly(std::move(out));
}

PolyId Arena::MulMono(MonoId a, MonoId b, const Rational& coefficient) {
  if (a == kUnitMono) return OfMono(b, coefficient);
  if (b == kUnitMono) return OfMono(a, coefficient);
  Factors f = monos_[a].factors;
  const Factors& g = monos_[b].factors;
  f.insert(f.end(), g.begin(), g.end());
  return ProductOf(std::move(f), coefficient);
}

PolyId Arena::Mul(PolyId a, PolyId b) {
  if (a == kZeroPoly || b == kZeroPoly) return kZeroPoly;
  if (a == one_) return b;
  if (b == one_) return a;
  if (a > b) std::swap(a, b);
  Rational c;
  if (IsConstant(a, &c)) return Scale(b, c);
  if (IsConstant(b, &c)) return Scale(a, c);
  auto it = mul_cache_.find({a, b});
  if (it != mul_cache_.end()) return it->second;
  const size_t n = polys_[a].terms.size(), m = polys_[b].terms.size();
  if (!Charge(static_cast<int64_t>(n * m))) return kZeroPoly;
  Terms flat;
  PolyId rest = kZeroPoly;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < m; ++j) {
      if (exhausted_) return kZeroPoly;
      const Term x = polys_[a].terms[i], y = polys_[b].terms[j];
      PolyId p = MulMono(x.mono, y.mono, x.coefficient * y.coefficient);
      const auto& terms = polys_[p].terms;
      if (terms.size() == 1) {
        flat.push_back(terms[0]);
      } else {
        rest = Add(rest, p);
      }
    }
  }
  std::sort(flat.begin(), flat.end(), [](const Term& s, const Term& t) { return s.mono < t.mono; });
  Terms out;
  for (Term& t : flat) {
    if (!out.empty() && out.back().mono == t.mono) {
      out.back().coefficient += t.coefficient;
      if (out.back().coefficient.IsZero()) out.pop_back();
    } else {
      out.push_back(std::move(t));
    }
  }
  PolyId result = Add(InternPoly(MergeAdjacentSums(std::move(out))), rest);
  if (!exhausted_) mul_cache_[{a, b}] = result;
  return result;
}

// Rule names as in docs/soundness.md: fold-exp, fold-number, expand-base, idempotent-condition,
// square-of-abs, contradictory-conditions.
PolyId Arena::ProductOf(Factors factors, const Rational& coefficient) {
  if (coefficient.IsZero()) return kZeroPoly;
  std::sort(factors.begin(), factors.end(),
            [](const Factor& a, const Factor& b) { return a.atom < b.atom; });
  Rational c = coefficient;
  Factors kept;
  std::vector<PolyId> multiply;
  absl::InlinedVector<std::pair<MonoId, Rational>, 2> exps;
  for (size_t i = 0; i < factors.size();) {
    AtomId id = factors[i].atom;
    Exponent e = factors[i].exponent;
    for (++i; i < factors.size() && factors[i].atom == id; ++i) e = e + factors[i].exponent;
    if (e.num == 0) continue;
    const Atom& a = atoms_[id];
    if (a.kind == AtomKind::kExp) {
      Rational power = a.number * Rational(e.num, e.den);
      bool found = false;
      for (auto& [m, sum] : exps) {
        if (m == a.mono) {
          sum += power;
          found = true;
        }
      }
      if (!found) exps.emplace_back(a.mono, power);
    } else if (a.kind == AtomKind::kNumber) {
      int32_t whole = FloorOf(e);
      if (whole != 0) c *= a.number.Power(whole);
      Exponent rest = e + Exponent{-whole, 1};
      if (rest.num != 0) kept.push_back({id, rest});
    } else if (IsCondition(a.kind) && e.num > 0) {
      kept.push_back({id, Exponent{}});
    } else if (a.kind == AtomKind::kBase && FloorOf(e) >= 1) {
      int32_t whole = FloorOf(e);
      Exponent rest = e + Exponent{-whole, 1};
      if (rest.num != 0) kept.push_back({id, rest});
      multiply.push_back(IntegerPower(a.polys[0], whole));
    } else if (a.kind == AtomKind::kAbs && e.IsInteger() && e.num >= 2) {
      multiply.push_back(IntegerPower(a.polys[0], e.num - e.num % 2));
      if (e.num % 2 != 0) kept.push_back({id, Exponent{}});
    } else {
      kept.push_back({id, e});
    }
  }
  for (auto& [m, power] : exps) {
    if (power.IsZero()) continue;
    Atom a;
    a.kind = AtomKind::kExp;
    a.mono = m;
    a.number = power;
    kept.push_back({InternAtom(std::move(a)), Exponent{}});
  }
  if (!SimplifyConditions(&kept)) return kZeroPoly;
  PolyId result;
  if (const auto simpler = UseEquality(kept, c)) {
    result = *simpler;
  } else {
    result = OfMono(InternMono(std::move(kept)), c);
  }
  for (PolyId p : multiply) result = Mul(result, p);
  return result;
}

// [e + a >= 0][e + b >= 0] = [e + min(a, b) >= 0]; [e == a][e == b] = 0 for a != b; an equality
// decides an inequality over the same linear part; [e >= 0][-e - 1 >= 0] = 0.
bool Arena::SimplifyConditions(Factors* factors) {
  size_t conditions = 0;
  for (const Factor& f : *factors) {
    AtomKind k = atoms_[f.atom].kind;
    conditions += (k == AtomKind::kIndicator || k == AtomKind::kDelta) && f.exponent.num > 0;
  }
  if (conditions < 2) return true;
  for (size_t i = 0; i < factors->size(); ++i) {
    for (size_t j = i + 1; j < factors->size(); ++j) {
      const Atom& a = atoms_[(*factors)[i].atom];
      const Atom& b = atoms_[(*factors)[j].atom];
      const bool a_ind = a.kind == AtomKind::kIndicator, b_ind = b.kind == AtomKind::kIndicator;
      const bool a_del = a.kind == AtomKind::kDelta, b_del = b.kind == AtomKind::kDelta;
      if (!(a_ind || a_del) || !(b_ind || b_del)) continue;
      const Affine &x = a.indices[0], &y = b.indices[0];
      const bool same = x.terms == y.terms;
      const bool opposite = !same && x.terms == (-y).terms;
      if (!same && !opposite) continue;
      auto erase = [&](size_t k) { factors->erase(factors->begin() + k); };
      if (a_ind && b_ind) {
        if (same) {
          erase(x.constant <= y.constant ? j : i);  // the stronger one stays
        } else if (x.constant + y.constant < 0) {
          return false;  // t >= -cx and t <= cy with cy < -cx
        } else {
          continue;
        }
      } else if (a_del && b_del) {
        // t = -cx, and t = -cy (same) or t = cy (opposite).
        if (same ? x.constant != y.constant : x.constant + y.constant != 0) return false;
        erase(j);
      } else {
        const Affine& eq = a_del ? x : y;
        const Affine& ge = a_del ? y : x;
        // On the equality, the linear part of eq is -eq.constant.
        int64_t value = ge.constant + (same ? -eq.constant : eq.constant);
        if (value < 0) return false;
        erase(a_del ? j : i);
      }
      i = static_cast<size_t>(-1);  // start over; the list is short
      break;
    }
  }
  return true;
}

PolyId Arena::IntegerPower(PolyId a, int32_t n) {
  PolyId result = one_;
  PolyId square = a;
  for (; n > 0 && !exhausted_; n >>= 1) {
    if (n & 1) result = Mul(result, square);
    if (n > 1) square = Mul(square, square);
  }
  return result;
}

PolyId Arena::Renormalised(Atom sum) {
  // In one dimension only the rule count-one looks at the bounds.
  const Factors& factors = monos_[sum.mono].factors;
  const bool counts = factors.size() == 1 && atoms_[factors[0].atom].kind == AtomKind::kDelta;
  if (sum.domain.size() < 2 && !counts) return OfAtom(InternAtom(std::move(sum)));
  return SumAgain(sum);
}

// Rule merge-adjacent: c R sum_{[a,b)} f + c R sum_{[b,d)} f = c R sum_{[a,d)} f, in any one
// dimension of a box.
Terms Arena::MergeAdjacentSums(Terms terms) {
  auto has_sum = [&](const Term& t) {
    for (const Factor& f : monos_[t.mono].factors) {
      if (atoms_[f.atom].kind == AtomKind::kSum && f.exponent == Exponent{}) return true;
    }
    return false;
  };
  if (terms.size() < 2) return terms;
  size_t with_sum = 0;
  for (const Term& t : terms) with_sum += has_sum(t);
  if (with_sum < 2) return terms;
  struct Entry {
    size_t term;
    AtomId sum;
    MonoId rest;
  };
  for (bool changed = true; changed && !exhausted_;) {
    changed = false;
    absl::flat_hash_map<std::pair<MonoId, std::pair<MonoId, uint64_t>>,
                        absl::InlinedVector<Entry, 2>>
        groups;
    for (size_t t = 0; t < terms.size() && !changed; ++t) {
      const Factors factors = monos_[terms[t].mono].factors;
      for (size_t k = 0; k < factors.size() && !changed; ++k) {
        const Atom& s = atoms_[factors[k].atom];
        if (s.kind != AtomKind::kSum || !(factors[k].exponent == Exponent{})) continue;
        Factors rest = factors;
        rest.erase(rest.begin() + k);
        MonoId rest_mono = InternMono(std::move(rest));
        auto& group = groups[{rest_mono, {s.mono, terms[t].coefficient.HashBits()}}];
        for (const Entry& e : group) {
          if (!(terms[e.term].coefficient == terms[t].coefficient)) continue;
          const Atom& other = atoms_[e.sum];
          if (other.domain.size() != s.domain.size()) continue;
          int differing = -1;
          bool mergeable = true;
          for (size_t d = 0; d < s.domain.size() && mergeable; ++d) {
            if (s.domain[d] == other.domain[d]) continue;
            mergeable = differing < 0 && (s.domain[d].lo == other.domain[d].hi ||
                                          other.domain[d].lo == s.domain[d].hi);
            differing = static_cast<int>(d);
          }
          if (!mergeable || differing < 0) continue;
          Atom merged = s;
          merged.domain[differing].lo =
              std::min(s.domain[differing].lo, other.domain[differing].lo);
          merged.domain[differing].hi =
              std::max(s.domain[differing].hi, other.domain[differing].hi);
          // A longer interval may have become a full digit of another variable.
          PolyId product = ProductOf(Factors(monos_[rest_mono].factors), terms[t].coefficient);
          product = Mul(product, Renormalised(std::move(merged)));
          size_t first = std::min(e.term, t), second = std::max(e.term, t);
          terms.erase(terms.begin() + second);
          terms.erase(terms.begin() + first);
          Terms next;
          const auto& extra = polys_[product].terms;
          for (const Term& x : extra) {
            auto at = std::lower_bound(terms.begin(), terms.end(), x.mono,
                                       [](const Term& y, MonoId m) { return y.mono < m; });
            if (at != terms.end() && at->mono == x.mono) {
              at->coefficient += x.coefficient;
              if (at->coefficient.IsZero()) terms.erase(at);
            } else {
              terms.insert(at, x);
            }
          }
          changed = true;
          break;
        }
        if (!changed) group.push_back({t, factors[k].atom, rest_mono});
      }
    }
  }
  return terms;
}

}  // namespace planproof::solver
