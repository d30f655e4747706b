// The rule extend-maximum, and what it must not take for a slice.
#include <gtest/gtest.h>

#include "solver/term.h"
#include "tests/solver/rules.h"

namespace planproof::solver {
namespace {

using ExtendedMaximum = Rule;

TEST_F(Rule, ExtendMaximum) {
  const auto x = [&](const Affine& v) { return X(v); };
  const auto at = [&](int64_t v) { return X(Affine(v)); };
  EXPECT_EQ(arena_.Max(Largest(0, 3, x), at(3)), Largest(0, 4, x));
  EXPECT_EQ(arena_.Max(at(1), Largest(2, 5, x)), Largest(1, 5, x));
  EXPECT_EQ(arena_.Max(Plus(Y(), Largest(0, 3, x)), Plus(Y(), at(3))), Plus(Y(), Largest(0, 4, x)));
  EXPECT_NE(arena_.Max(Largest(0, 3, x), at(4)), Largest(0, 5, x));  // 3 is missing
  EXPECT_NE(arena_.Max(Plus(Y(), Largest(0, 3, x)), at(3)), Plus(Y(), Largest(0, 4, x)));
  // Rows of a matrix.
  const auto rows = [&](int64_t begin, int64_t end) {
    const BoundVariable v{arena_.NewFree(begin, end - 1), {begin, end}};
    const BoundVariable k{arena_.NewFree(0, 2), {0, 3}};
    return arena_.ReduceMaxOver(
        {v, k}, arena_.Element(1, {Affine::Of(v.symbol), Affine::Of(k.symbol)}), kZeroPoly);
  };
  EXPECT_EQ(arena_.Max(rows(0, 2), rows(2, 3)), rows(0, 3));
  EXPECT_NE(arena_.Max(rows(0, 2), rows(3, 4)), rows(0, 4));
  EXPECT_EQ(arena_.Max(arena_.Max(rows(2, 3), rows(0, 2)), rows(3, 5)), rows(0, 5));
}

// A masked entry is none, however it is written where nothing is masked.
TEST_F(ExtendedMaximum, LeavesMaskedEntriesOut) {
  const BoundVariable v{arena_.NewFree(0, 2), {0, 3}};
  const Affine end = Free(1, 9);
  // Of entries below `end`; entry 3 is one where `end` is beyond it.
  const PolyId masked =
      arena_.ReduceMax(v, X(Affine::Of(v.symbol)), arena_.Indicator(Affine::Of(v.symbol) - end));
  const PolyId extended = arena_.Max(masked, X(Affine(3)));
  const BoundVariable w{arena_.NewFree(0, 3), {0, 4}};
  EXPECT_NE(extended, arena_.ReduceMax(w, X(Affine::Of(w.symbol)),
                                       arena_.Indicator(Affine::Of(w.symbol) - end)));
}

// What is compared on the way meets no premise.
TEST_F(ExtendedMaximum, MeetsNoPremise) {
  const auto inverse = [&](const Affine& v) { return arena_.Power(X(v), Exponent{-1, 1}); };
  const PolyId largest = Largest(0, 3, inverse);
  const size_t met = arena_.premises().size();
  arena_.Max(largest, Y());
  EXPECT_EQ(arena_.premises().size(), met);
}

}  // namespace
}  // namespace planproof::solver
