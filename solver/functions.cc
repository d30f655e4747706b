// Powers, exp, log, max and conditions in normal form.
#include <algorithm>
#include <numeric>

#include "solver/term.h"

namespace planproof::solver {
namespace {

constexpr int64_t kTrialDivisionLimit = 4096;

}  // namespace

// --- Sign ----------------------------------------------------------------------------------------

Sign Arena::SignOfAtom(AtomId id, Exponent e) {
  const Atom& a = atoms_[id];
  const bool even = e.IsInteger() && e.num % 2 == 0;
  switch (a.kind) {
    case AtomKind::kNumber:
    case AtomKind::kExp:
      return Sign::kPositive;
    case AtomKind::kElement:
      if (positive_tags_.contains(a.tag)) return Sign::kPositive;
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
    case AtomKind::kAbs:
      return e.num < 0 ? Sign::kPositive : Sign::kNonNegative;
    case AtomKind::kIndicator:
    case AtomKind::kDelta:
    case AtomKind::kRealPositive:
    case AtomKind::kRealZero:
      return Sign::kNonNegative;
    case AtomKind::kSum: {
      Sign body = SignOfMono(a.mono);
      if (body == Sign::kPositive) return Sign::kPositive;  // the box is not empty
      if (body == Sign::kNonNegative) {
        // Positive if one corner of the box satisfies all conditions and the rest is positive.
        bool rest_positive = true;
        std::vector<const Affine*> conditions;
        for (const Factor& f : monos_[a.mono].factors) {
          const Atom& b = atoms_[f.atom];
          if (b.kind == AtomKind::kIndicator) {
            conditions.push_back(&b.indices[0]);
          } else if (SignOfAtom(f.atom, f.exponent) != Sign::kPositive) {
            rest_positive = false;
          }
        }
        for (int corner = 0; rest_positive && corner < 2; ++corner) {
          bool holds = true;
          for (const Affine* c : conditions) {
            Affine at = c->constant;
            for (const auto& [s, k] : c->terms) {
              if (KindOf(s) == SymbolKind::kBound) {
                if (BoundLevel(s) == 0) {
                  const Interval& d = a.domain[BoundPosition(s)];
                  at = at + Affine(k * (corner == 0 ? d.lo : d.hi - 1));
                } else {
                  at = at + Affine::Of(s, k);
                }
              } else {
                at = at + Affine::Of(s, k);
              }
            }
            holds = holds && !at.overflow && RangeOf(at).low >= 0;
          }
          if (holds) return Sign::kPositive;
        }
        return e.num < 0 ? Sign::kPositive : Sign::kNonNegative;
      }
      break;
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

Sign Arena::SignOf(PolyId p) {
  auto it = sign_cache_.find(p);
  if (it != sign_cache_.end()) return it->second;
  Sign sign = p == kZeroPoly ? Sign::kNonNegative : Sign::kNonNegative;
  for (const Term& t : polys_[p].terms) {
    Sign s = t.coefficient.Sign() > 0 ? SignOfMono(t.mono) : Sign::kUnknown;
    if (s == Sign::kUnknown) {
      sign = Sign::kUnknown;
      break;
    }
    if (s == Sign::kPositive) sign = Sign::kPositive;
  }
  sign_cache_[p] = sign;
  return sign;
}

// --- Powers --------------------------------------------------------------------------------------

PolyId Arena::NumberPower(const Rational& value, Exponent e) {
  // value > 0: factor into primes (trial division; a large remainder stays one factor).
  if (e.IsInteger()) return Constant(value.Power(e.num));
  Factors factors;
  Rational coefficient(1);
  auto factor_out = [&](const std::string& digits, int sign) {
    Rational n;
    Rational::Parse(digits, &n);
    int64_t small;
    auto add = [&](const Rational& prime, int64_t count) {
      Exponent x = e * Exponent{static_cast<int32_t>(sign * count), 1};
      Atom a;
      a.kind = AtomKind::kNumber;
      a.number = prime;
      factors.push_back({InternAtom(std::move(a)), x});
    };
    for (int64_t p = 2; p < kTrialDivisionLimit; p += p == 2 ? 1 : 2) {
      int64_t count = 0;
      for (;;) {
        Rational q = n / Rational(p);
        if (!q.IsInteger()) break;
        n = q;
        ++count;
      }
      if (count > 0) add(Rational(p), count);
      if (n.IsOne()) return;
      if (n.ToInt64(&small) && small < p * p) break;
    }
    if (!n.IsOne()) add(n, 1);
  };
  factor_out(value.Numerator(), 1);
  factor_out(value.Denominator(), -1);
  return ProductOf(std::move(factors), coefficient);
}

PolyId Arena::PowerOfTerm(const Term& term, Exponent e) {
  if (e.IsInteger()) {
    Factors out;
    Factors conditions;
    for (const Factor& f : monos_[term.mono].factors) {
      AtomKind k = atoms_[f.atom].kind;
      if (e.num < 0 && (k == AtomKind::kIndicator || k == AtomKind::kDelta ||
                        k == AtomKind::kRealPositive || k == AtomKind::kRealZero)) {
        continue;  // nonzero by premise, hence 1
      }
      out.push_back({f.atom, f.exponent * e});
    }
    return ProductOf(std::move(out), term.coefficient.Power(e.num));
  }
  // Fractional: roots split off factors that are positive; an even power of the rest becomes an
  // absolute value (rule root-of-even-power).
  PolyId result = one_;
  Rational coefficient = term.coefficient;
  PolyId rest = one_;
  for (const Factor& f : monos_[term.mono].factors) {
    Factors one;
    one.push_back(f);
    Exponent scaled = f.exponent * e;
    const Sign sign = SignOfAtom(f.atom, Exponent{});
    if (sign == Sign::kPositive) {
      one[0].exponent = scaled;
      result = Mul(result, ProductOf(std::move(one), Rational(1)));
    } else if (f.exponent.IsInteger() && f.exponent.num % 2 == 0 && f.exponent.num > 0 &&
               (Exponent{1, 1} * scaled).IsInteger()) {
      result = Mul(result, Power(Abs(OfAtom(f.atom)), scaled));
    } else {
      rest = Mul(rest, ProductOf(std::move(one), Rational(1)));
    }
  }
  if (rest == one_ && coefficient.Sign() > 0) return Mul(result, NumberPower(coefficient, e));
  if (coefficient.Sign() > 0) {
    result = Mul(result, NumberPower(coefficient, e));
  } else {
    rest = Scale(rest, coefficient);
  }
  Atom a;
  a.kind = AtomKind::kBase;
  a.polys = {rest};
  Factors f;
  f.push_back({InternAtom(std::move(a)), e});
  return Mul(result, ProductOf(std::move(f), Rational(1)));
}

// Takes the content (what divides every term) out of a sum before it becomes a base.
PolyId Arena::PowerOfSum(PolyId p, Exponent e) {
  PolyId root;
  if (!e.IsInteger() && e.den % 2 == 0 && PerfectSquareRoot(p, &root)) {
    return Power(Abs(root), e * Exponent{2, 1});
  }
  const std::vector<Term> terms = polys_[p].terms;
  // Monomial content: the least exponent of each atom over all terms.
  Factors content;
  absl::flat_hash_map<AtomId, std::pair<Exponent, size_t>> least;
  for (const Term& t : terms) {
    for (const Factor& f : monos_[t.mono].factors) {
      if (atoms_[f.atom].kind == AtomKind::kExp) continue;
      auto [it, inserted] = least.try_emplace(f.atom, f.exponent, 0);
      Exponent diff = f.exponent + Exponent{-it->second.first.num, it->second.first.den};
      if (diff.num < 0) it->second.first = f.exponent;
      ++it->second.second;
    }
  }
  for (const auto& [atom, info] : least) {
    Exponent x = info.first;
    if (info.second < terms.size() && x.num > 0) continue;
    const AtomKind k = atoms_[atom].kind;
    if (k == AtomKind::kIndicator || k == AtomKind::kDelta || k == AtomKind::kRealPositive ||
        k == AtomKind::kRealZero) {
      if (e.IsInteger() && e.num < 0) content.push_back({atom, x});  // 1 by the premise
      continue;
    }
    if (!e.IsInteger() && SignOfAtom(atom, Exponent{}) != Sign::kPositive) continue;
    content.push_back({atom, x});
  }
  // Exponentials: for each exponent monomial the least coefficient.
  absl::flat_hash_map<MonoId, std::pair<Rational, size_t>> exps;
  for (const Term& t : terms) {
    for (const Factor& f : monos_[t.mono].factors) {
      const Atom& a = atoms_[f.atom];
      if (a.kind != AtomKind::kExp) continue;
      auto [it, inserted] = exps.try_emplace(a.mono, a.number, 0);
      if (a.number < it->second.first) it->second.first = a.number;
      ++it->second.second;
    }
  }
  for (const auto& [mono, info] : exps) {
    if (info.second < terms.size() && info.first.Sign() > 0) continue;
    Atom a;
    a.kind = AtomKind::kExp;
    a.mono = mono;
    a.number = info.first;
    content.push_back({InternAtom(std::move(a)), Exponent{}});
  }
  // Rational content: make the coefficient of the first monomial +-1.
  Rational scale = terms[0].coefficient;
  if (!e.IsInteger() && scale.Sign() < 0) scale = -scale;
  PolyId content_poly = ProductOf(content, scale);
  if (polys_[content_poly].terms.size() != 1) {
    exhausted_ = true;  // the content is one monomial as long as the work limit holds
    return kZeroPoly;
  }
  Term content_term = polys_[content_poly].terms[0];
  bool has_condition = false;
  for (Factor& f : content) {
    const AtomKind k = atoms_[f.atom].kind;
    has_condition |= k == AtomKind::kIndicator || k == AtomKind::kDelta ||
                     k == AtomKind::kRealPositive || k == AtomKind::kRealZero;
  }
  PolyId primitive;
  if (has_condition) {
    // Every term carries the condition, which is 1 by the premise: drop it from the terms.
    std::vector<Term> stripped;
    primitive = kZeroPoly;
    for (const Term& t : terms) {
      Factors f = monos_[t.mono].factors;
      for (const Factor& c : content) {
        const AtomKind k = atoms_[c.atom].kind;
        if (k == AtomKind::kIndicator || k == AtomKind::kDelta || k == AtomKind::kRealPositive ||
            k == AtomKind::kRealZero) {
          f.erase(
              std::remove_if(f.begin(), f.end(), [&](const Factor& x) { return x.atom == c.atom; }),
              f.end());
        }
      }
      primitive = Add(primitive, ProductOf(std::move(f), t.coefficient));
    }
    return Power(primitive, e);
  }
  primitive = Mul(p, PowerOfTerm(content_term, Exponent{-1, 1}));
  if (polys_[primitive].terms.size() < 2) {
    exhausted_ = true;  // nor does it lose terms
    return kZeroPoly;
  }
  Atom a;
  a.kind = AtomKind::kBase;
  a.polys = {primitive};
  Factors f;
  f.push_back({InternAtom(std::move(a)), e});
  return Mul(PowerOfTerm(content_term, e), ProductOf(std::move(f), Rational(1)));
}

PolyId Arena::Power(PolyId p, Exponent e) {
  if (e.num == 0) return one_;
  if (e == Exponent{}) return p;
  if (!e.IsInteger()) {
    RecordPremise(e.num < 0 ? PremiseKind::kPositive : PremiseKind::kNonNegative, p);
  } else if (e.num < 0) {
    RecordPremise(PremiseKind::kNonZero, p);
  }
  if (p == kZeroPoly) return kZeroPoly;  // a negative power is excluded by its recorded premise
  if (e.IsInteger() && e.num > 0) return IntegerPower(p, e.num);
  if (polys_[p].terms.size() == 1) return PowerOfTerm(Term(polys_[p].terms[0]), e);
  return PowerOfSum(p, e);
}

PolyId Arena::Divide(PolyId a, PolyId b) {
  PolyId inverse = Power(b, Exponent{-1, 1});
  return Mul(a, inverse);
}

// Peels a square root term by term. Works when p = r^2 with r of few terms: the largest exponents
// under a lexicographic order by atom id give r's leading term.
bool Arena::PerfectSquareRoot(PolyId p, PolyId* root) {
  if (polys_[p].terms.size() > 36) return false;
  // A total order compatible with multiplication: compare exponent vectors lexicographically by a
  // fixed atom order. Exponentials count as one variable per exponent monomial.
  auto exponents = [&](MonoId m) {
    std::vector<std::pair<uint64_t, Rational>> v;
    for (const Factor& f : monos_[m].factors) {
      const Atom& a = atoms_[f.atom];
      if (a.kind == AtomKind::kExp) {
        v.emplace_back((uint64_t{1} << 40) | a.mono, a.number);
      } else {
        v.emplace_back(f.atom, Rational(f.exponent.num, f.exponent.den));
      }
    }
    std::sort(v.begin(), v.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    return v;
  };
  auto less = [&](MonoId a, MonoId b) {
    auto x = exponents(a), y = exponents(b);
    size_t i = 0, j = 0;
    while (i < x.size() || j < y.size()) {
      uint64_t ka = i < x.size() ? x[i].first : UINT64_MAX,
               kb = j < y.size() ? y[j].first : UINT64_MAX;
      uint64_t k = std::min(ka, kb);
      Rational ea = ka == k ? x[i].second : Rational(0), eb = kb == k ? y[j].second : Rational(0);
      if (!(ea == eb)) return ea < eb;
      i += ka == k;
      j += kb == k;
    }
    return false;
  };
  auto leading = [&](PolyId q) {
    const auto& terms = polys_[q].terms;
    size_t best = 0;
    for (size_t i = 1; i < terms.size(); ++i) {
      if (less(terms[best].mono, terms[i].mono)) best = i;
    }
    return terms[best];
  };
  auto half = [&](const Term& t, PolyId* out) {
    if (t.coefficient.Sign() <= 0) return false;
    Factors f;
    for (const Factor& x : monos_[t.mono].factors) {
      if (atoms_[x.atom].kind == AtomKind::kBase) return false;
      Exponent h = x.exponent * Exponent{1, 2};
      if (!h.IsInteger() && SignOfAtom(x.atom, Exponent{}) != Sign::kPositive) return false;
      f.push_back({x.atom, h});
    }
    PolyId number = NumberPower(t.coefficient, Exponent{1, 2});
    Rational c;
    if (!IsConstant(number, &c)) return false;
    *out = ProductOf(std::move(f), c);
    return polys_[*out].terms.size() == 1;
  };
  PolyId r;
  if (!half(leading(p), &r)) return false;
  const Term top = polys_[r].terms[0];
  PolyId twice_inverse =
      PowerOfTerm(Term{top.mono, top.coefficient + top.coefficient}, Exponent{-1, 1});
  for (int i = 0; i < 8; ++i) {
    PolyId difference = Sub(p, Mul(r, r));
    if (difference == kZeroPoly) {
      *root = r;
      return true;
    }
    if (exhausted_) return false;
    Term next = leading(difference);
    PolyId q = Mul(OfMono(next.mono, next.coefficient), twice_inverse);
    if (polys_[q].terms.size() != 1 || Mentions(r, 0xffffffffu)) return false;
    r = Add(r, q);
  }
  return false;
}

// --- Functions -----------------------------------------------------------------------------------

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

PolyId Arena::Exp(PolyId p) {
  // exp(sum c m) = product of exp(c m)
  Factors factors;
  for (const Term& t : polys_[p].terms) {
    Atom a;
    a.kind = AtomKind::kExp;
    a.mono = t.mono;
    a.number = t.coefficient;
    factors.push_back({InternAtom(std::move(a)), Exponent{}});
  }
  return ProductOf(std::move(factors), Rational(1));
}

PolyId Arena::Log(PolyId p) {
  RecordPremise(PremiseKind::kPositive, p);
  PolyId result = kZeroPoly;
  PolyId rest = p;
  if (polys_[p].terms.size() == 1) {
    const Term term = polys_[p].terms[0];
    Factors left;
    for (const Factor& f : monos_[term.mono].factors) {
      const Atom& a = atoms_[f.atom];
      if (a.kind == AtomKind::kExp) {
        result = Add(result, OfMono(a.mono, a.number));
      } else if (SignOfAtom(f.atom, Exponent{}) == Sign::kPositive) {
        Atom l;
        l.kind = AtomKind::kLog;
        l.polys = {a.kind == AtomKind::kBase ? a.polys[0] : OfAtom(f.atom)};
        result = Add(result, Scale(OfAtom(InternAtom(std::move(l))),
                                   Rational(f.exponent.num, f.exponent.den)));
      } else {
        left.push_back(f);
      }
    }
    Rational c = term.coefficient;
    if (c.Sign() > 0 && !c.IsOne()) {
      for (int side = 0; side < 2; ++side) {
        Rational n;
        Rational::Parse(side == 0 ? c.Numerator() : c.Denominator(), &n);
        auto add = [&](const Rational& prime, int64_t count) {
          Atom l;
          l.kind = AtomKind::kLog;
          l.polys = {Constant(prime)};
          result = Add(result, Scale(OfAtom(InternAtom(std::move(l))),
                                     Rational(side == 0 ? count : -count)));
        };
        for (int64_t q = 2; q < kTrialDivisionLimit && !n.IsOne(); ++q) {
          int64_t count = 0;
          for (Rational d = n / Rational(q); d.IsInteger(); d = n / Rational(q)) {
            n = d;
            ++count;
          }
          if (count > 0) add(Rational(q), count);
        }
        if (!n.IsOne()) add(n, 1);
      }
      c = Rational(1);
    }
    rest = ProductOf(std::move(left), c);
    if (rest == one_) return result;
  }
  Atom a;
  a.kind = AtomKind::kLog;
  a.polys = {rest};
  return Add(result, OfAtom(InternAtom(std::move(a))));
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

PolyId Arena::Max(PolyId a, PolyId b) {
  if (a == b) return a;
  std::vector<PolyId> set;
  for (PolyId p : {a, b}) {
    const auto& terms = polys_[p].terms;
    if (terms.size() == 1 && terms[0].coefficient.IsOne()) {
      const Factors& f = monos_[terms[0].mono].factors;
      if (f.size() == 1 && f[0].exponent == Exponent{} &&
          atoms_[f[0].atom].kind == AtomKind::kMax) {
        const auto& inner = atoms_[f[0].atom].polys;
        set.insert(set.end(), inner.begin(), inner.end());
        continue;
      }
    }
    set.push_back(p);
  }
  // Maxima over adjacent intervals of one body are one maximum.
  auto reduce_of = [&](PolyId p) -> const Atom* {
    const auto& terms = polys_[p].terms;
    if (terms.size() != 1 || !terms[0].coefficient.IsOne()) return nullptr;
    const Factors& f = monos_[terms[0].mono].factors;
    if (f.size() != 1 || !(f[0].exponent == Exponent{})) return nullptr;
    const Atom& atom = atoms_[f[0].atom];
    return atom.kind == AtomKind::kReduceMax ? &atom : nullptr;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < set.size() && !changed; ++i) {
      for (size_t j = i + 1; j < set.size() && !changed; ++j) {
        const Atom *x = reduce_of(set[i]), *y = reduce_of(set[j]);
        if (x == nullptr || y == nullptr || x->polys != y->polys) continue;
        int differing = -1;
        bool ok = x->domain.size() == y->domain.size();
        for (size_t d = 0; ok && d < x->domain.size(); ++d) {
          if (x->domain[d] == y->domain[d]) continue;
          ok = differing < 0 && x->domain[d].lo <= y->domain[d].hi &&
               y->domain[d].lo <= x->domain[d].hi;
          differing = static_cast<int>(d);
        }
        if (!ok) continue;
        Atom merged = *x;
        if (differing >= 0) {
          merged.domain[differing].lo = std::min(x->domain[differing].lo, y->domain[differing].lo);
          merged.domain[differing].hi = std::max(x->domain[differing].hi, y->domain[differing].hi);
        }
        set[i] = OfAtom(InternAtom(std::move(merged)));
        set.erase(set.begin() + j);
        changed = true;
      }
    }
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
  Atom m;
  m.kind = AtomKind::kMax;
  m.polys = std::move(rest);
  return OfAtom(InternAtom(std::move(m)));
}

PolyId Arena::Position(const Affine& e) {
  PolyId result = Constant(Rational(e.constant));
  if (e.overflow) exhausted_ = true;
  for (const auto& [s, c] : e.terms) {
    Atom a;
    a.kind = AtomKind::kPosition;
    a.indices = {Affine::Of(s)};
    result = Add(result, Scale(OfAtom(InternAtom(std::move(a))), Rational(c)));
  }
  return result;
}

PolyId Arena::Indicator(const Affine& e) {
  if (e.overflow) {
    exhausted_ = true;
    return kZeroPoly;
  }
  IntRange r = RangeOf(e);
  if (r.low >= 0) return one_;
  if (r.high < 0) return kZeroPoly;
  int64_t g = 0;
  for (const auto& [s, c] : e.terms) g = std::gcd(g, c);
  Affine reduced = e;
  if (g > 1) {
    reduced.constant = FloorDiv(e.constant, g);
    for (auto& [s, c] : reduced.terms) c /= g;
  }
  Atom a;
  a.kind = AtomKind::kIndicator;
  a.indices = {reduced};
  return OfAtom(InternAtom(std::move(a)));
}

PolyId Arena::Delta(const Affine& e) {
  if (e.overflow) {
    exhausted_ = true;
    return kZeroPoly;
  }
  IntRange r = RangeOf(e);
  if (r.low > 0 || r.high < 0) return kZeroPoly;
  if (r.low == 0 && r.high == 0) return one_;
  if (e.IsConstant()) return e.constant == 0 ? one_ : kZeroPoly;
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

PolyId Arena::RealPositive(PolyId p) {
  Rational c;
  if (IsConstant(p, &c)) return c.Sign() > 0 ? one_ : kZeroPoly;
  if (SignOf(p) == Sign::kPositive) return one_;
  if (SignOf(Scale(p, Rational(-1))) != Sign::kUnknown) return kZeroPoly;
  Rational lead = polys_[p].terms[0].coefficient;
  Atom a;
  a.kind = AtomKind::kRealPositive;
  a.polys = {Scale(p, (lead.Sign() < 0 ? -lead : lead).Inverse())};
  return OfAtom(InternAtom(std::move(a)));
}

PolyId Arena::RealZero(PolyId p) {
  Rational c;
  if (IsConstant(p, &c)) return c.IsZero() ? one_ : kZeroPoly;
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
