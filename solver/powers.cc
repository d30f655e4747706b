// Integer and fractional powers, and logarithms, in normal form.
#include <algorithm>

#include "solver/term.h"

namespace planproof::solver {

// --- Powers --------------------------------------------------------------------------------------

PolyId Arena::NumberPower(const Rational& value, Exponent e) {
  // value > 0: factor into primes, as far as they are small.
  if (e.IsInteger()) return Constant(value.Power(e.num));
  Factors factors;
  auto factor_out = [&](const std::string& digits, int sign) {
    Rational n;
    Rational::Parse(digits, &n);
    for (const auto& [prime, count] : TrialDivision(n)) {
      Atom a;
      a.kind = AtomKind::kNumber;
      a.number = prime;
      factors.push_back(
          {InternAtom(std::move(a)), e * Exponent{static_cast<int32_t>(sign * count), 1}});
    }
  };
  factor_out(value.Numerator(), 1);
  factor_out(value.Denominator(), -1);
  return ProductOf(std::move(factors), Rational(1));
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

namespace {

// The least exponent of each atom over all terms, where that divides every term and the root or
// inverse may be taken by itself: of a condition an inverse, which is 1 by the premise; of a
// fractional exponent only of what `is_positive`.
template <typename IsPositive>
Factors MonomialContent(const Arena& arena, const Terms& terms, Exponent e,
                        const IsPositive& is_positive) {
  absl::flat_hash_map<AtomId, std::pair<Exponent, size_t>> least;
  for (const Term& t : terms) {
    for (const Factor& f : arena.mono(t.mono).factors) {
      if (arena.atom(f.atom).kind == AtomKind::kExp) continue;
      auto [it, inserted] = least.try_emplace(f.atom, f.exponent, 0);
      Exponent diff = f.exponent + Exponent{-it->second.first.num, it->second.first.den};
      if (diff.num < 0) it->second.first = f.exponent;
      ++it->second.second;
    }
  }
  Factors content;
  for (const auto& [atom, info] : least) {
    const auto& [exponent, occurrences] = info;
    if (occurrences < terms.size() && exponent.num > 0) continue;
    if (IsCondition(arena.atom(atom).kind)) {
      if (e.IsInteger() && e.num < 0) content.push_back({atom, exponent});
      continue;
    }
    if (!e.IsInteger() && !is_positive(atom)) continue;
    content.push_back({atom, exponent});
  }
  return content;
}

// The same of exponentials: for each exponent monomial the least coefficient.
std::vector<Atom> ExponentialContent(const Arena& arena, const Terms& terms) {
  absl::flat_hash_map<MonoId, std::pair<Rational, size_t>> least;
  for (const Term& t : terms) {
    for (const Factor& f : arena.mono(t.mono).factors) {
      const Atom& a = arena.atom(f.atom);
      if (a.kind != AtomKind::kExp) continue;
      auto [it, inserted] = least.try_emplace(a.mono, a.number, 0);
      if (a.number < it->second.first) it->second.first = a.number;
      ++it->second.second;
    }
  }
  std::vector<Atom> content;
  for (const auto& [mono, info] : least) {
    if (info.second < terms.size() && info.first.Sign() > 0) continue;
    content.emplace_back();
    content.back().kind = AtomKind::kExp;
    content.back().mono = mono;
    content.back().number = info.first;
  }
  return content;
}

// The factors without the conditions of the content.
Factors WithoutConditions(const Arena& arena, Factors factors, const Factors& content) {
  for (const Factor& c : content) {
    if (!IsCondition(arena.atom(c.atom).kind)) continue;
    factors.erase(std::remove_if(factors.begin(), factors.end(),
                                 [&](const Factor& f) { return f.atom == c.atom; }),
                  factors.end());
  }
  return factors;
}

}  // namespace

// Rules perfect-square, content and condition-content: takes what divides every term out of a sum
// before it becomes a base.
PolyId Arena::PowerOfSum(PolyId p, Exponent e) {
  PolyId root;
  if (!e.IsInteger() && e.den % 2 == 0 && PerfectSquareRoot(p, &root)) {
    return Power(Abs(root), e * Exponent{2, 1});
  }
  if (e.IsInteger() && polys_[p].terms.size() > 2 && PerfectSquareRoot(p, &root)) {
    return Power(root, e * Exponent{2, 1});
  }
  const Terms terms = polys_[p].terms;
  Factors content = MonomialContent(*this, terms, e, [this](AtomId atom) {
    return SignOfAtom(atom, Exponent{}) == Sign::kPositive;
  });
  for (Atom& a : ExponentialContent(*this, terms))
    content.push_back({InternAtom(std::move(a)), Exponent{}});
  // Rational content: make the coefficient of the first monomial +-1.
  Rational scale = terms[0].coefficient;
  if (!e.IsInteger() && scale.Sign() < 0) scale = -scale;
  const PolyId content_poly = ProductOf(content, scale);
  if (polys_[content_poly].terms.size() != 1) {
    exhausted_ = true;  // the content is one monomial as long as the work limit holds
    return kZeroPoly;
  }
  const Term content_term = polys_[content_poly].terms[0];
  const bool has_condition = std::any_of(content.begin(), content.end(), [this](const Factor& f) {
    return IsCondition(atoms_[f.atom].kind);
  });
  if (has_condition) {
    // Every term carries the condition, which is 1 by the premise: drop it from the terms.
    PolyId stripped = kZeroPoly;
    for (const Term& t : terms) {
      stripped = Add(stripped, ProductOf(WithoutConditions(*this, monos_[t.mono].factors, content),
                                         t.coefficient));
    }
    return Power(stripped, e);
  }
  const PolyId primitive = MergeClipped(Mul(p, PowerOfTerm(content_term, Exponent{-1, 1})));
  if (polys_[primitive].terms.empty()) {
    exhausted_ = true;  // nor does it vanish
    return kZeroPoly;
  }
  // Parts of a sum may meet: what is left can be one term.
  if (polys_[primitive].terms.size() == 1) {
    return Mul(PowerOfTerm(content_term, e), PowerOfTerm(Term(polys_[primitive].terms[0]), e));
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
  p = MergeClipped(p);
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

// --- Logarithms ----------------------------------------------------------------------------------

// Rules log-of-product and log-of-content.
PolyId Arena::Log(PolyId p) {
  RecordPremise(PremiseKind::kPositive, p);
  const auto atom = [this](PolyId operand) {
    Atom a;
    a.kind = AtomKind::kLog;
    a.polys = {operand};
    return OfAtom(InternAtom(std::move(a)));
  };
  // Of a monomial: exponentials and what is positive by its form stand apart.
  const auto of_term = [&](const Term& term) {
    PolyId result = kZeroPoly;
    Factors left;
    for (const Factor& f : Factors(monos_[term.mono].factors)) {
      const Atom a = atoms_[f.atom];
      if (a.kind == AtomKind::kExp) {
        result = Add(result, OfMono(a.mono, a.number));
      } else if (SignOfAtom(f.atom, Exponent{}) == Sign::kPositive) {
        const PolyId base = a.kind == AtomKind::kBase ? a.polys[0] : OfAtom(f.atom);
        result = Add(result, Scale(atom(base), Rational(f.exponent.num, f.exponent.den)));
      } else {
        left.push_back(f);
      }
    }
    Rational c = term.coefficient;
    if (c.Sign() > 0 && !c.IsOne()) {
      for (int side = 0; side < 2; ++side) {
        Rational n;
        Rational::Parse(side == 0 ? c.Numerator() : c.Denominator(), &n);
        for (const auto& [prime, count] : TrialDivision(n)) {
          result = Add(result, Scale(atom(Constant(prime)), Rational(side == 0 ? count : -count)));
        }
      }
      c = Rational(1);
    }
    const PolyId rest = ProductOf(std::move(left), c);
    return rest == one_ ? result : Add(result, atom(rest));
  };
  PolyId result = kZeroPoly, rest = MergeClipped(p);
  // Of a longer sum each denominator would multiply all other terms: its parts taken one by one,
  // and all at once, would come out in forms that do not meet.
  constexpr size_t kMostTerms = 4;
  while (polys_[rest].terms.size() > 1 && polys_[rest].terms.size() <= kMostTerms) {
    const Terms terms = polys_[rest].terms;
    Factors content = MonomialContent(*this, terms, Exponent{1, 2}, [this](AtomId factor) {
      return SignOfAtom(factor, Exponent{}) == Sign::kPositive;
    });
    for (Atom& a : ExponentialContent(*this, terms))
      content.push_back({InternAtom(std::move(a)), Exponent{}});
    if (content.empty()) break;  // a number alone is left where it is
    Rational scale = terms[0].coefficient;
    if (scale.Sign() < 0) scale = -scale;
    const PolyId content_poly = ProductOf(content, scale);
    if (content_poly == one_) break;
    if (polys_[content_poly].terms.size() != 1 || !Charge(static_cast<int64_t>(terms.size()))) {
      exhausted_ = true;  // the content is one monomial as long as the work limit holds
      return kZeroPoly;
    }
    result = Add(result, of_term(Term(polys_[content_poly].terms[0])));
    // Term by term, so that a base meets its inverse. Parts of a sum may meet: what is left can be
    // one term.
    PolyId quotient = kZeroPoly;
    for (const Term& term : terms) {
      Factors factors = monos_[term.mono].factors;
      for (const Factor& f : content) {
        factors.push_back({f.atom, Exponent{-f.exponent.num, f.exponent.den}});
      }
      quotient = Add(quotient, ProductOf(std::move(factors), term.coefficient / scale));
    }
    rest = MergeClipped(quotient);
  }
  const bool monomial = polys_[rest].terms.size() == 1;
  return Add(result, monomial ? of_term(Term(polys_[rest].terms[0])) : atom(rest));
}

}  // namespace planproof::solver
