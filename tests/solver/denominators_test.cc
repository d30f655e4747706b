// The zero test and many denominators.
#include <gtest/gtest.h>

#include "solver/term.h"

namespace planproof::solver {
namespace {

// What clearing denominators would blow up is left open, at a cost that leaves room for more.
TEST(DenominatorsTest, ManyAreLeftOpenCheaply) {
  Arena arena;
  const Symbol free = arena.NewFree(0, 5);
  auto element = [&](uint32_t tag, const Affine& i, const Affine& j) {
    return arena.Element(tag, {i, j});
  };
  auto sigmoids = [&](uint32_t tag, int64_t length) {
    const Symbol i = arena.NewFree(0, length - 1);
    const PolyId x = element(tag, Affine::Of(i), Affine::Of(free));
    const PolyId sigmoid = arena.Power(arena.Add(arena.One(), arena.Exp(x)), Exponent{-1, 1});
    const PolyId weighted = arena.Mul(sigmoid, element(3, Affine::Of(i), Affine(0)));
    return arena.Sum({i, {0, length}}, weighted);
  };
  for (int64_t length = 2; length <= 8; ++length) {
    arena.ResetExhausted(400'000);
    const PolyId a = sigmoids(0, length), b = sigmoids(1, length);
    EXPECT_FALSE(arena.IsZero(arena.Sub(a, b))) << length;
    EXPECT_FALSE(arena.exhausted()) << length;
    // Equal sums are one term: nothing to clear.
    EXPECT_TRUE(arena.IsZero(arena.Sub(a, sigmoids(0, length)))) << length;
  }
  // Few denominators are cleared: 1/(1 + e) + e/(1 + e) = 1, and with another sign it is not.
  const PolyId e = arena.Exp(element(0, Affine(0), Affine(0)));
  const PolyId f = arena.Exp(element(1, Affine(0), Affine(0)));
  auto inverse = [&](PolyId u) { return arena.Power(arena.Add(arena.One(), u), Exponent{-1, 1}); };
  const PolyId left = arena.Mul(arena.Add(inverse(e), arena.Mul(e, inverse(e))), inverse(f));
  const PolyId wrong = arena.Mul(arena.Sub(inverse(e), arena.Mul(e, inverse(e))), inverse(f));
  EXPECT_TRUE(arena.IsZero(arena.Sub(left, inverse(f))));
  EXPECT_FALSE(arena.IsZero(arena.Sub(wrong, inverse(f))));
}

}  // namespace
}  // namespace planproof::solver
