// A symbol for a bound variable is taken again only where no term in use mentions it.
#include "solver/scratch_symbols.h"

#include <gtest/gtest.h>

#include "solver/stable_vector.h"

namespace planproof::solver {
namespace {

constexpr Interval kEight{0, 8};

class ScratchSymbolsTest : public testing::Test {
 protected:
  Symbol TakenNext(Interval values = kEight) {
    ScratchSymbols scratch(&arena_);
    return scratch.Take(values);  // and never given back
  }
  PolyId At(Symbol s) { return arena_.Element(0, {Affine::Of(s)}); }

  Arena arena_;
};

TEST_F(ScratchSymbolsTest, WhatNothingMentionsIsTakenAgainForTheSameValues) {
  ScratchSymbols scratch(&arena_);
  const Symbol s = scratch.Take(kEight), t = scratch.Take(kEight);
  EXPECT_NE(s, t);
  scratch.Close(arena_.One());
  EXPECT_EQ(arena_.RangeOf(TakenNext({0, 7})).high, 6);
  EXPECT_EQ(arena_.RangeOf(TakenNext({1, 8})).low, 1);
  EXPECT_EQ(TakenNext(), s);
  EXPECT_EQ(TakenNext(), t);
  const Symbol fresh = TakenNext();
  EXPECT_NE(fresh, s);
  EXPECT_NE(fresh, t);
}

TEST_F(ScratchSymbolsTest, WhatTheResultMentionsIsNotTakenAgain) {
  ScratchSymbols scratch(&arena_);
  const Symbol s = scratch.Take(kEight), t = scratch.Take(kEight);
  scratch.Close(arena_.Exp(At(t)));
  EXPECT_EQ(TakenNext(), s);
  EXPECT_NE(TakenNext(), t);
}

TEST_F(ScratchSymbolsTest, WhatAnIdInTheResultMentionsIsNotTakenAgain) {
  ScratchSymbols scratch(&arena_);
  const Symbol s = scratch.Take(kEight);
  const Symbol id = arena_.IntAtom(arena_.ElementAtom(1, {Affine::Of(s)}), {0, 7});
  scratch.Close(At(id));
  EXPECT_NE(TakenNext(), s);
}

TEST_F(ScratchSymbolsTest, WhatAPremiseMentionsIsNeverTakenAgain) {
  ScratchSymbols scratch(&arena_);
  const Symbol s = scratch.Take(kEight);
  arena_.RecordPremise(PremiseKind::kNonZero, At(s));
  ASSERT_EQ(arena_.premises().size(), 1u);
  scratch.Close(arena_.One());
  EXPECT_NE(TakenNext(), s);
  arena_.ClearPremises();  // trails may hold it still
  EXPECT_NE(TakenNext(), s);
}

TEST_F(ScratchSymbolsTest, WhatIsInUseAroundIsNotTaken) {
  ScratchSymbols around(&arena_);
  const Symbol s = around.Take(kEight);
  ScratchSymbols inside(&arena_);
  const Symbol t = inside.Take(kEight);
  EXPECT_NE(s, t);
  inside.Close(At(s));
  EXPECT_EQ(TakenNext(), t);
  EXPECT_NE(TakenNext(), s);
}

TEST_F(ScratchSymbolsTest, WhatDoesNotCloseOrIsPastALimitIsNotTakenAgain) {
  const Symbol lost = TakenNext();
  EXPECT_NE(TakenNext(), lost);
  ScratchSymbols scratch(&arena_);
  const Symbol s = scratch.Take(kEight);
  arena_.MarkExhausted();
  scratch.Close(kZeroPoly);
  arena_.ResetExhausted(1000);
  EXPECT_NE(TakenNext(), s);
}

// Sums within sums over the same values, taken apart and merged again and again.
TEST_F(ScratchSymbolsTest, SumsOverTheSameValuesAreNotTakenForEachOther) {
  const auto nested = [&](bool transposed, Interval outer) {
    const Symbol i = arena_.NewFree(outer.lo, outer.hi - 1), j = arena_.NewFree(0, 7);
    const Affine x = Affine::Of(i), y = Affine::Of(j);
    const PolyId row = arena_.Sum(
        {j, kEight},
        arena_.Exp(arena_.Element(1, transposed ? std::vector{y, x} : std::vector{x, y})));
    return arena_.Sum({i, outer}, arena_.Mul(At(i), arena_.Power(row, {-1, 1})));
  };
  for (int round = 0; round < 3; ++round) {
    for (const bool transposed : {false, true}) {
      const PolyId whole = nested(transposed, kEight);
      EXPECT_EQ(arena_.Add(nested(transposed, {0, 3}), nested(transposed, {3, 8})), whole);
      EXPECT_FALSE(arena_.IsZero(arena_.Sub(nested(!transposed, kEight), whole)));
      EXPECT_FALSE(arena_.IsZero(
          arena_.Sub(arena_.Add(nested(transposed, {0, 3}), nested(transposed, {4, 8})), whole)));
      const PolyId square = arena_.Mul(whole, whole);
      EXPECT_FALSE(
          arena_.IsZero(arena_.Sub(arena_.Mul(whole, nested(!transposed, kEight)), square)));
    }
  }
}

// What is in the arena is referred to while it grows.
TEST(StableVectorTest, ElementsStayWhereTheyAre) {
  StableVector<int> numbers;
  std::vector<const int*> places;
  for (int i = 0; i < 2000; ++i) {
    numbers.push_back(i);
    places.push_back(&numbers[static_cast<size_t>(i)]);
  }
  ASSERT_EQ(numbers.size(), 2000u);
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(&numbers[i], places[i]);
    EXPECT_EQ(numbers[i], static_cast<int>(i));
  }
}

}  // namespace
}  // namespace planproof::solver
