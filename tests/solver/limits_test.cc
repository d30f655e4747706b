// Indices of any length: where 64 bits or the limits of affine arithmetic end, nothing is
// concluded.
#include <gtest/gtest.h>

#include "solver/term.h"

namespace planproof::solver {
namespace {

constexpr int64_t kLong = int64_t{1} << 45;

// exp(x sin(c i + j)) summed over i in [0, m) and j in [0, n): positive, and neither factor comes
// apart.
PolyId PositiveSum(Arena* arena, int64_t c, int64_t m, int64_t n) {
  const Symbol i = arena->NewFree(0, m - 1), j = arena->NewFree(0, n - 1);
  const PolyId angle = arena->Position(Affine::Of(i, c) + Affine::Of(j));
  const PolyId body =
      arena->Exp(arena->Mul(arena->Element(0, {Affine(0)}), arena->Unary(AtomKind::kSin, angle)));
  return arena->SumOver({{i, {0, m}}, {j, {0, n}}}, body);
}

TEST(Limits, ASumOverABoxWhoseVolumeExceeds64BitsIsNotZero) {
  for (const int64_t length : {kLong / 4, kLong / 2, kLong}) {
    for (const int64_t other : {8, 1 << 10, 1 << 19, 1 << 20, 1 << 30}) {
      for (const bool swapped : {false, true}) {
        Arena arena;
        const PolyId sum =
            swapped ? PositiveSum(&arena, 3, other, length) : PositiveSum(&arena, 3, length, other);
        EXPECT_FALSE(arena.IsZero(sum)) << length << " " << other;
        EXPECT_FALSE(arena.exhausted()) << length << " " << other;
      }
    }
  }
}

TEST(Limits, DigitsWhoseNumberIsTooLongStayApart) {
  for (const int64_t digit : {2, 8, 1 << 19, 1 << 20, 1 << 30}) {
    Arena arena;
    const PolyId sum = PositiveSum(&arena, digit, kLong, digit);
    EXPECT_NE(sum, kZeroPoly) << digit;
    EXPECT_FALSE(arena.IsZero(sum)) << digit;
    // A maximum fuses digits in the same way.
    const Symbol i = arena.NewFree(0, kLong - 1), j = arena.NewFree(0, digit - 1);
    const PolyId body = arena.Element(1, {Affine::Of(i, digit) + Affine::Of(j)});
    const PolyId most = arena.ReduceMaxOver({{i, {0, kLong}}, {j, {0, digit}}}, body, kZeroPoly);
    EXPECT_NE(most, kZeroPoly) << digit;
    EXPECT_FALSE(arena.IsZero(most)) << digit;
  }
}

TEST(Limits, AVariableBeyondTheLimitExhausts) {
  for (const int64_t length : {kAffineLimit + 1, int64_t{1} << 50, int64_t{1} << 60}) {
    Arena arena;
    const PolyId sum = PositiveSum(&arena, 16, length, 16);
    EXPECT_TRUE(arena.exhausted()) << length;
    EXPECT_TRUE(arena.overflown()) << length;
    EXPECT_FALSE(arena.IsZero(sum)) << length;
    EXPECT_FALSE(arena.IsZero(kZeroPoly)) << length;
  }
  Arena arena;
  PositiveSum(&arena, 3, kLong, 8);
  EXPECT_FALSE(arena.overflown());
}

// sum over v of [v = id] is 1 only where every value of the id is one of v's.
TEST(Limits, AnIdWithoutBoundsIsNotCountedInALongRange) {
  Arena arena;
  const int64_t length = kAffineLimit + 5;
  const Symbol v = arena.NewFree(0, length - 1);
  const Symbol id = arena.IntAtom(arena.ElementAtom(0, {Affine(0)}), {0, int64_t{1} << 55});
  const PolyId count = arena.Sum({v, {0, length}}, arena.Delta(Affine::Of(v) - Affine::Of(id)));
  EXPECT_FALSE(arena.IsZero(arena.Sub(count, arena.One())));
}

}  // namespace
}  // namespace planproof::solver
