// Rules that random expressions seldom reach, by numbers: unions of boxes, counts, masked maxima
// over boxes, fractions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "solver/term.h"
#include "tests/solver/term_numeric.h"

namespace planproof::solver {
namespace {

class TermRulesTest : public testing::Test {
 protected:
  TermRulesTest() { Reset(); }
  void Reset() {
    arena_ = std::make_unique<Arena>();
    for (uint32_t tag = kPositiveTag; tag < kIntegerTag; ++tag) arena_->SetTagPositive(tag);
    free_ = arena_->NewFree(0, 5);
    values_.clear();
  }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  Interval SomeInterval(int64_t most) {
    const int64_t lo = Between(0, most - 1);
    return {lo, Between(lo + 1, most)};
  }
  PolyId Element(uint32_t tag, const Affine& i, const Affine& j) {
    return arena_->Element(tag, {i, j});
  }
  Approximate At(PolyId p, int64_t free) {
    values_[free_] = free;
    return Evaluate(*arena_, p, values_);
  }

  std::mt19937_64 random_{20240611};
  std::unique_ptr<Arena> arena_;
  Symbol free_ = 0;
  FreeValues values_;
};

TEST_F(TermRulesTest, UnionsOfBoxesKeepTheirSum) {
  for (int round = 0; round < 3000; ++round) {
    Reset();
    PolyId total = kZeroPoly;
    Approximate expected;
    const int64_t q = Between(0, 5);
    const uint32_t tag = static_cast<uint32_t>(Between(0, 1));
    for (int64_t boxes = Between(2, 5); boxes > 0; --boxes) {
      const Interval a = SomeInterval(4), b = SomeInterval(4);
      const int64_t coefficient = Between(0, 4) == 0 ? -1 : 1;
      const Symbol i = arena_->NewFree(a.lo, a.hi - 1), j = arena_->NewFree(b.lo, b.hi - 1);
      PolyId body = Element(tag, Affine::Of(i), Affine::Of(j));
      body = arena_->Mul(body, Element(2, Affine::Of(i) + Affine::Of(j), Affine::Of(free_)));
      total = arena_->Add(
          total, arena_->Scale(arena_->SumOver({{i, a}, {j, b}}, body), Rational(coefficient)));
      for (int64_t x = a.lo; x < a.hi; ++x) {
        for (int64_t y = b.lo; y < b.hi; ++y) {
          expected = expected + Of(static_cast<long double>(coefficient)) *
                                    Of(ElementValue(tag, {x, y})) * Of(ElementValue(2, {x + y, q}));
        }
      }
    }
    ASSERT_TRUE(Agree(At(total, q), expected)) << round << ": " << arena_->ToString(total);
    ASSERT_TRUE(!arena_->IsZero(total) || IsZeroValue(expected)) << round;
  }
}

TEST_F(TermRulesTest, MaximaOverUnionsOfMaskedBoxesKeepTheirValue) {
  int compared = 0;
  for (int round = 0; round < 3000; ++round) {
    Reset();
    const int64_t q = Between(0, 5);
    int64_t offset = Between(-3, 1);
    const bool round_masked = Between(0, 1) == 1, nested = Between(0, 1) == 1;
    PolyId best = kZeroPoly;
    long double expected = -1e9L;
    bool every_box_has_entries = true;
    const int64_t boxes = Between(1, 4);
    for (int64_t box = 0; box < boxes; ++box) {
      if (Between(0, 2) == 0) offset = Between(-3, 1);  // boxes are masked alike or not
      const bool masked = round_masked && Between(0, 2) != 0;
      const Interval a = SomeInterval(4), b = SomeInterval(4);
      const Symbol i = arena_->NewFree(a.lo, a.hi - 1), j = arena_->NewFree(b.lo, b.hi - 1);
      const PolyId body = Element(0, Affine::Of(i), Affine::Of(j) - Affine::Of(free_));
      // Masked where j - i + offset > q, and where i > 2.
      const PolyId inner_guard = masked ? arena_->Indicator(Affine::Of(j) - Affine::Of(i) +
                                                            Affine(offset - 1) - Affine::Of(free_))
                                        : kZeroPoly;
      const PolyId outer_guard =
          masked && nested ? arena_->Indicator(Affine::Of(i) - Affine(3)) : kZeroPoly;
      PolyId m;
      if (nested) {
        m = arena_->ReduceMax({i, a}, arena_->ReduceMax({j, b}, body, inner_guard), outer_guard);
      } else {
        m = arena_->ReduceMaxOver({{i, a}, {j, b}}, body, inner_guard);
      }
      best = box == 0 ? m : arena_->Max(best, m);
      bool any = false;
      for (int64_t x = a.lo; x < a.hi; ++x) {
        if (masked && nested && x >= 3) continue;
        bool row = false;
        for (int64_t y = b.lo; y < b.hi; ++y) {
          if (masked && y - x + offset - 1 - q >= 0) continue;
          row = any = true;
          expected = std::max(expected, ElementValue(0, {x, y - q}));
        }
        if (!row && nested) every_box_has_entries = false;  // excluded by the inner premise
      }
      every_box_has_entries = every_box_has_entries && any;
    }
    if (!every_box_has_entries) continue;
    ++compared;
    ASSERT_TRUE(Agree(At(best, q), Of(expected))) << round << ": " << arena_->ToString(best);
  }
  EXPECT_GT(compared, 1500);
}

TEST_F(TermRulesTest, CountsOfConditionsAreExact) {
  for (int round = 0; round < 4000; ++round) {
    Reset();
    const Interval d{Between(-3, 3), Between(4, 9)};
    const int64_t sign = Between(0, 1) == 0 ? -1 : 1, free_coefficient = Between(-2, 2),
                  constant = Between(-7, 7), scale = Between(1, 6) == 1 ? 2 : 1;
    const Symbol v = arena_->NewFree(d.lo, d.hi - 1);
    const Affine e =
        Affine::Of(v, sign * scale) + Affine::Of(free_, free_coefficient) + Affine(constant);
    const bool equality = Between(0, 3) == 0;
    const PolyId sum = arena_->Sum({v, d}, equality ? arena_->Delta(e) : arena_->Indicator(e));
    for (int64_t q = 0; q <= 5; ++q) {
      int64_t expected = 0;
      for (int64_t k = d.lo; k < d.hi; ++k) {
        const int64_t at = sign * scale * k + free_coefficient * q + constant;
        expected += equality ? at == 0 : at >= 0;
      }
      ASSERT_TRUE(Agree(At(sum, q), Of(static_cast<long double>(expected))))
          << round << ": " << arena_->ToString(sum) << " at " << q;
    }
  }
}

// sum over v of [v = id + ...], where the id's index, its offset and the bounds vary, also v
// itself.
TEST_F(TermRulesTest, SumsOverTheValuesOfAnIdAreOneOnlyWhereTheyContainIt) {
  int recognised = 0;
  for (int round = 0; round < 4000; ++round) {
    Reset();
    const Interval d{Between(-4, 1), Between(2, 8)};
    const Symbol v = arena_->NewFree(d.lo, d.hi - 1);
    const int64_t sign = Between(0, 1) == 0 ? -1 : 1, offset = Between(-2, 2);
    const bool own_index = Between(0, 3) == 0, weighted = Between(0, 3) == 0;
    const AtomId atom = arena_->ElementAtom(
        kIntegerTag, {own_index ? Affine::Of(v) : Affine::Of(free_), Affine(1)});
    const Affine id = Affine::Of(arena_->IntAtom(atom, {0, kIntegerTagMax}), sign);
    PolyId body = arena_->Delta(Affine::Of(v) - id - Affine(offset));
    if (weighted) body = arena_->Mul(body, Element(3, Affine::Of(v), Affine(0)));
    // In one piece or as two that are merged.
    const int64_t cut = Between(d.lo, d.hi);
    const Symbol low = arena_->NewFree(d.lo, cut - 1), high = arena_->NewFree(cut, d.hi - 1);
    const bool whole = cut == d.lo || cut == d.hi || Between(0, 1) == 0;
    const PolyId sum =
        whole ? arena_->Sum({v, d}, body)
              : arena_->Add(arena_->Sum({low, {d.lo, cut}},
                                        arena_->Substitute(body, {{v, Affine::Of(low)}})),
                            arena_->Sum({high, {cut, d.hi}},
                                        arena_->Substitute(body, {{v, Affine::Of(high)}})));
    if (sum == arena_->One()) ++recognised;
    for (int64_t q = 0; q <= 5; ++q) {
      Approximate expected;
      for (int64_t k = d.lo; k < d.hi; ++k) {
        if (k != sign * IntegerValue(kIntegerTag, {own_index ? k : q, 1}) + offset) continue;
        expected = expected + Of(weighted ? ElementValue(3, {k, 0}) : 1);
      }
      ASSERT_TRUE(Agree(At(sum, q), expected))
          << round << ": " << arena_->ToString(sum) << " at " << q;
    }
  }
  EXPECT_GT(recognised, 300);
}

// Fractions of small polynomials, put on one denominator, against a sum with one detail changed.
TEST_F(TermRulesTest, FractionsAreEqualOnlyIfTheyAre) {
  int recognised = 0, rounds = 1500;
  for (int round = 0; round < rounds; ++round) {
    Reset();
    std::vector<PolyId> atoms;
    for (uint32_t t = 0; t < 3; ++t) atoms.push_back(Element(t % 3, Affine(t), Affine::Of(free_)));
    auto polynomial = [&] {
      PolyId p = arena_->Constant(Rational(Between(1, 3)));
      for (int64_t n = Between(1, 2); n > 0; --n) {
        PolyId m = arena_->Scale(atoms[Between(0, 2)], Rational(Between(1, 2)));
        if (Between(0, 2) == 0) m = arena_->Mul(m, atoms[Between(0, 2)]);
        p = arena_->Add(p, m);
      }
      return p;
    };
    const PolyId a = polynomial(), b = polynomial(), c = polynomial(), d = polynomial();
    const PolyId sum = arena_->Add(arena_->Divide(a, b), arena_->Divide(c, d));
    auto over = [&](PolyId extra) {
      return arena_->Divide(arena_->Add(arena_->Add(arena_->Mul(a, d), arena_->Mul(c, b)), extra),
                            arena_->Mul(b, d));
    };
    recognised += arena_->IsZero(arena_->Sub(sum, over(kZeroPoly)));
    const PolyId extra = Between(0, 1) == 0 ? arena_->One() : atoms[0];
    ASSERT_FALSE(arena_->IsZero(arena_->Sub(sum, over(extra)))) << round;
    ASSERT_FALSE(
        arena_->IsZero(arena_->Sub(arena_->Divide(a, b), arena_->Divide(a, arena_->Add(b, extra)))))
        << round;
    const Approximate x = At(sum, 2), y = At(over(kZeroPoly), 2);
    if (Comparable(x, y)) {
      ASSERT_TRUE(Agree(x, y)) << round;
    }
  }
  EXPECT_GT(recognised, rounds * 9 / 10);
}

TEST_F(TermRulesTest, NothingIsZeroPastTheWorkLimit) {
  PolyId p = arena_->One();
  for (uint32_t t = 0; t < 3; ++t) p = arena_->Add(p, Element(t, Affine(0), Affine(0)));
  arena_->ResetExhausted(50);
  PolyId q = p;
  for (int i = 0; i < 6; ++i) q = arena_->Mul(q, p);
  ASSERT_TRUE(arena_->exhausted());
  EXPECT_FALSE(arena_->IsZero(q));
  EXPECT_FALSE(arena_->IsZero(kZeroPoly));
  // What was computed then is not remembered.
  arena_->ResetExhausted(1'000'000);
  q = p;
  for (int i = 0; i < 6; ++i) q = arena_->Mul(q, p);
  EXPECT_TRUE(Agree(At(q, 0), PowerOf(At(p, 0), 7)));
}

// As of the gradient norm of a model with thousands of parameters, summed over ranks.
TEST_F(TermRulesTest, SumsOfManyTermsCostLittleMoreThanTheirTerms) {
  constexpr uint32_t kTerms = 4000;
  std::vector<PolyId> terms;
  const Symbol i = arena_->NewFree(0, 7);
  for (uint32_t t = 0; t < kTerms; ++t) terms.push_back(Element(t, Affine::Of(i), Affine(0)));
  for (size_t step = 1; step < kTerms; step *= 2) {
    for (size_t k = 0; k + step < kTerms; k += 2 * step) {
      terms[k] = arena_->Add(terms[k], terms[k + step]);
    }
  }
  arena_->ResetExhausted(400'000);
  const PolyId sum = arena_->SumOver({{i, {0, 8}}}, terms[0]);
  EXPECT_FALSE(arena_->exhausted());
  EXPECT_EQ(arena_->poly(sum).terms.size(), kTerms);
}

TEST_F(TermRulesTest, ExponentsOutOfBoundsExhaust) {
  arena_->ResetExhausted(1'000'000);
  const PolyId x = Element(kPositiveTag, Affine(0), Affine(0));
  PolyId a = arena_->Power(arena_->Power(x, Exponent{1, 997}), Exponent{1, 991});
  PolyId b = arena_->Power(arena_->Power(x, Exponent{1, 983}), Exponent{1, 977});
  EXPECT_FALSE(arena_->exhausted());
  arena_->Mul(a, b);  // the common denominator has 40 bits
  EXPECT_TRUE(arena_->exhausted());
}

TEST_F(TermRulesTest, ConstantsOutOfBoundsOverflow) {
  const int64_t big = int64_t{1} << 62;
  EXPECT_TRUE(Affine(big).overflow);
  EXPECT_TRUE((Affine(INT64_MAX) + Affine(INT64_MAX)).overflow);
  EXPECT_TRUE(Affine::Of(free_).Scaled(big).overflow);
}

TEST_F(TermRulesTest, DivisionByWhatIsIdenticallyZeroIsAPremiseThatNeverHolds) {
  const PolyId x = Element(0, Affine(0), Affine(0));
  arena_->ClearPremises();
  EXPECT_EQ(arena_->Divide(x, arena_->Sub(x, x)), kZeroPoly);
  ASSERT_EQ(arena_->premises().size(), 1u);
  EXPECT_EQ(arena_->premises()[0].poly, kZeroPoly);
  EXPECT_EQ(arena_->premises()[0].kind, PremiseKind::kNonZero);
  // Cleared premises are recorded again.
  arena_->ClearPremises();
  arena_->Divide(x, arena_->Sub(x, x));
  EXPECT_EQ(arena_->premises().size(), 1u);
}

TEST_F(TermRulesTest, APremiseSurvivesCancellation) {
  const PolyId x = Element(0, Affine(0), Affine(0)), y = Element(1, Affine(0), Affine(0));
  arena_->ClearPremises();
  EXPECT_EQ(arena_->Divide(arena_->Mul(x, y), y), x);
  EXPECT_EQ(arena_->Mul(kZeroPoly, arena_->Power(y, Exponent{-1, 1})), kZeroPoly);
  ASSERT_EQ(arena_->premises().size(), 1u);
  EXPECT_EQ(arena_->premises()[0].poly, y);
}

// A2, A3, A7 of the soundness cases.
TEST_F(TermRulesTest, RootsAndLogarithms) {
  const PolyId x = Element(0, Affine(0), Affine(0)), y = Element(1, Affine(0), Affine(0));
  const PolyId root = arena_->Power(arena_->Mul(x, x), Exponent{1, 2});
  EXPECT_FALSE(arena_->IsZero(arena_->Sub(root, x)));
  EXPECT_TRUE(arena_->IsZero(arena_->Sub(root, arena_->Abs(x))));
  const PolyId u = arena_->Add(arena_->Exp(x), arena_->One());
  EXPECT_TRUE(arena_->IsZero(arena_->Sub(arena_->Power(arena_->Mul(u, u), Exponent{1, 2}), u)));
  EXPECT_TRUE(arena_->IsZero(
      arena_->Sub(arena_->Power(arena_->Exp(arena_->Scale(x, Rational(1, 8))), Exponent{8, 1}),
                  arena_->Exp(x))));
  const PolyId p = Element(kPositiveTag, Affine(0), Affine(0)),
               q = Element(kPositiveTag + 1, Affine(0), Affine(0));
  EXPECT_TRUE(arena_->IsZero(
      arena_->Sub(arena_->Log(arena_->Mul(p, q)), arena_->Add(arena_->Log(p), arena_->Log(q)))));
  // Not without the signs.
  EXPECT_FALSE(arena_->IsZero(
      arena_->Sub(arena_->Log(arena_->Mul(x, y)), arena_->Add(arena_->Log(x), arena_->Log(y)))));
}

// The derivative of relu computed from its result is that computed from its operand.
TEST_F(TermRulesTest, AMaximumWithANumberThatIsNotPositiveIsPositiveWhereTheOtherIs) {
  const PolyId u = Element(0, Affine(0), Affine(0));
  const PolyId v = Element(1, Affine(0), Affine(0));
  const auto max = [this](const Rational& c, PolyId p) {
    return arena_->Max(arena_->Constant(c), p);
  };
  const PolyId positive = arena_->RealPositive(u);
  EXPECT_EQ(arena_->RealPositive(max(0, u)), positive);
  EXPECT_EQ(arena_->RealPositive(arena_->Scale(max(Rational(-1, 2), u), 3)), positive);
  EXPECT_EQ(arena_->RealPositive(arena_->Scale(max(0, u), -1)), kZeroPoly);
  EXPECT_EQ(arena_->RealPositive(max(Rational(1, 2), u)), arena_->Constant(1));
  EXPECT_NE(arena_->RealPositive(arena_->Max(u, v)), positive);
  EXPECT_NE(arena_->RealPositive(arena_->Add(max(0, u), v)), positive);
  EXPECT_NE(arena_->RealPositive(arena_->Add(max(0, u), arena_->Constant(-1))), positive);
}

}  // namespace
}  // namespace planproof::solver
