// Premises by cases of the conditions that stand in a polynomial.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>

#include "solver/term.h"
#include "tests/solver/term_numeric.h"

namespace planproof::solver {
namespace {

class ConditionCases : public testing::Test {
 protected:
  ConditionCases() { Reset(); }
  void Reset() {
    arena_ = std::make_unique<Arena>();
    arena_->ResetExhausted(1'000'000);
    index_ = arena_->NewFree(0, 99);
    x_ = arena_->Element(0, {Affine::Of(index_)});
    y_ = arena_->Element(1, {Affine::Of(index_)});
    n_ = Affine::Of(arena_->IntAtom(arena_->ElementAtom(kIntegerTag, {Affine::Of(index_)}),
                                    {0, kIntegerTagMax}));
    one_ = arena_->One();
  }
  PolyId Number(int64_t value) { return arena_->Constant(Rational(value)); }
  PolyId Not(PolyId condition) { return arena_->Sub(one_, condition); }
  // The operand of an operation in a branch: p where c holds, else 1.
  PolyId Where(PolyId c, PolyId p) {
    return arena_->Add(one_, arena_->Mul(c, arena_->Sub(p, one_)));
  }
  bool Positive(PolyId p) { return arena_->AlwaysHolds(PremiseKind::kPositive, p); }
  bool NonNegative(PolyId p) { return arena_->AlwaysHolds(PremiseKind::kNonNegative, p); }
  bool NonZero(PolyId p) { return arena_->AlwaysHolds(PremiseKind::kNonZero, p); }

  std::unique_ptr<Arena> arena_;
  Symbol index_ = 0;
  PolyId x_ = 0, y_ = 0, one_ = 0;
  Affine n_;
};

TEST_F(ConditionCases, AConditionSaysWhatItMeans) {
  const PolyId positive = arena_->RealPositive(x_);
  EXPECT_TRUE(Positive(Where(positive, x_)));
  EXPECT_TRUE(NonZero(Where(positive, x_)));
  EXPECT_TRUE(Positive(Where(positive, arena_->Scale(x_, Rational(3, 2)))));
  EXPECT_TRUE(Positive(Where(positive, arena_->Add(x_, one_))));
  EXPECT_TRUE(NonZero(Where(positive, arena_->Scale(x_, Rational(-1)))));
  EXPECT_TRUE(NonNegative(Where(Not(positive), arena_->Scale(x_, Rational(-1)))));
  EXPECT_TRUE(Positive(Where(Not(positive), arena_->Sub(one_, x_))));
  EXPECT_TRUE(NonZero(Where(Not(arena_->RealZero(x_)), x_)));
  EXPECT_TRUE(NonZero(Where(Not(arena_->RealZero(x_)), arena_->Power(x_, {3, 1}))));
  const PolyId above_one = arena_->RealPositive(arena_->Sub(x_, one_));
  EXPECT_TRUE(Positive(Where(above_one, x_)));
  const PolyId both = arena_->Mul(positive, arena_->RealPositive(y_));
  EXPECT_TRUE(Positive(Where(both, arena_->Scale(arena_->Mul(x_, y_), Rational(2)))));
  EXPECT_TRUE(Positive(Where(arena_->Indicator(n_ - Affine(1)), arena_->Position(n_))));
  EXPECT_TRUE(NonZero(Where(Not(arena_->Delta(n_)), arena_->Position(n_))));
}

TEST_F(ConditionCases, AndNothingElse) {
  const PolyId positive = arena_->RealPositive(x_);
  EXPECT_FALSE(Positive(Where(positive, y_)));
  EXPECT_FALSE(Positive(Where(Not(positive), x_)));
  EXPECT_FALSE(Positive(Where(Not(positive), arena_->Scale(x_, Rational(-1)))));
  EXPECT_FALSE(Positive(Where(positive, arena_->Sub(x_, one_))));
  EXPECT_FALSE(Positive(Where(positive, arena_->Scale(x_, Rational(-1)))));
  EXPECT_FALSE(Positive(Where(Not(arena_->RealZero(x_)), x_)));
  EXPECT_FALSE(NonZero(Where(arena_->RealZero(x_), x_)));
  EXPECT_FALSE(NonZero(Where(Not(arena_->RealZero(x_)), arena_->Add(x_, one_))));
  EXPECT_FALSE(Positive(Where(positive, arena_->Mul(x_, y_))));
  const PolyId either = Not(arena_->Mul(Not(positive), Not(arena_->RealPositive(y_))));
  EXPECT_FALSE(Positive(Where(either, x_)));
  EXPECT_FALSE(NonZero(Where(Not(arena_->Delta(n_ - Affine(1))), arena_->Position(n_))));
  // [x > 0] x is 0 where x is not positive.
  EXPECT_FALSE(Positive(arena_->Mul(positive, x_)));
  EXPECT_TRUE(NonNegative(arena_->Mul(positive, x_)));
}

TEST_F(ConditionCases, TruthValuesAreTheirOwnConditions) {
  const PolyId c = arena_->RealPositive(x_), d = arena_->RealPositive(y_);
  const PolyId either = arena_->Sub(arena_->Add(c, d), arena_->Mul(c, d));
  for (const PolyId p : {c, arena_->Mul(c, d), either, Not(c)}) {
    EXPECT_EQ(arena_->RealZero(p), Not(p));
    EXPECT_EQ(arena_->RealPositive(p), p);
  }
  // A number of conditions is none.
  EXPECT_NE(arena_->RealPositive(arena_->Add(c, d)), arena_->Add(c, d));
  EXPECT_NE(arena_->RealZero(arena_->Add(c, d)), Not(arena_->Add(c, d)));
}

// Random polynomials with conditions: what is said to hold always, holds at every sample.
TEST_F(ConditionCases, WhatHoldsAlwaysHoldsAtEverySample) {
  std::mt19937_64 random(5);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto linear = [&]() {
    const PolyId position = arena_->Position(n_);
    PolyId p = Number(pick(3) - 1);
    if (pick(2) == 0) p = arena_->Add(p, arena_->Scale(x_, Rational(pick(5) - 2, 1 + pick(2))));
    if (pick(3) == 0) p = arena_->Add(p, arena_->Scale(y_, Rational(pick(3) - 1)));
    if (pick(4) == 0) p = arena_->Add(p, arena_->Scale(position, Rational(pick(3) - 1)));
    return p;
  };
  const auto condition = [&]() {
    PolyId c = kZeroPoly;
    switch (pick(4)) {
      case 0:
        c = arena_->RealZero(linear());
        break;
      case 1:
        c = arena_->Indicator(n_ - Affine(pick(4)));
        break;
      case 2:
        c = arena_->Delta(n_ - Affine(pick(4)));
        break;
      default:
        c = arena_->RealPositive(linear());
    }
    return pick(2) == 0 ? c : Not(c);
  };
  int recognised = 0, samples = 0;
  for (int round = 0; round < 20000; ++round) {
    if (round % 100 == 0) Reset();
    PolyId c = condition();
    if (pick(3) == 0) c = arena_->Mul(c, condition());
    PolyId p = pick(4) == 0 ? arena_->Mul(linear(), linear()) : linear();
    PolyId whole = Where(c, p);
    if (pick(4) == 0) whole = arena_->Add(whole, arena_->Mul(condition(), linear()));
    for (const PremiseKind kind :
         {PremiseKind::kPositive, PremiseKind::kNonNegative, PremiseKind::kNonZero}) {
      if (!arena_->AlwaysHolds(kind, whole)) continue;
      Rational constant;
      recognised += !arena_->IsConstant(whole, &constant);
      for (int64_t at = 0; at < 100; at += 1 + pick(5)) {
        const Approximate value = Evaluate(*arena_, whole, {{index_, at}});
        const bool zero = IsZeroValue(value);
        ++samples;
        const bool holds = kind == PremiseKind::kPositive  ? !zero && value.value > 0
                           : kind == PremiseKind::kNonZero ? !zero
                                                           : zero || value.value > 0;
        ASSERT_TRUE(holds) << arena_->ToString(whole) << " at " << at << " is "
                           << static_cast<double>(value.value);
      }
    }
  }
  EXPECT_GT(recognised, 2000);
  EXPECT_GT(samples, 100000);
}

}  // namespace
}  // namespace planproof::solver
