// Products with equalities, against what their factors are at every index.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "solver/term.h"
#include "tests/solver/term_numeric.h"

namespace planproof::solver {
namespace {

class RandomFactors {
 public:
  RandomFactors(Arena* arena, uint32_t seed) : arena_(*arena), random_(seed) {
    for (int k = 0; k < 2; ++k) free_.push_back(arena_.NewFree(0, kMost));
  }

  const std::vector<Symbol>& free() const { return free_; }
  static constexpr int64_t kMost = 4;

  PolyId Next() {
    switch (Draw(0, 4)) {
      case 0:
      case 1:
        return arena_.Delta(Index() - Index());
      case 2:
        return arena_.Indicator(Index().Scaled(Draw(1, 2)) - Index() + Affine(Draw(-2, 2)));
      case 3:
        return arena_.Element(1, {Index()});
      default:
        return Sum();
    }
  }

 private:
  int64_t Draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  Affine Id(const Affine& at) {
    const AtomId atom = arena_.ElementAtom(kIntegerTag, {at});
    return Affine::Of(arena_.IntAtom(atom, {0, kIntegerTagMax}));
  }
  // A variable, an id read there, an id read at an id, or a number.
  Affine Index() {
    const Affine variable = Affine::Of(free_[Draw(0, 1)]);
    switch (Draw(0, 5)) {
      case 0:
        return variable;
      case 1:
        return Affine(Draw(0, 3));
      case 2:
        return Id(Id(variable));
      default:
        return Id(variable) + Affine(Draw(-1, 1));
    }
  }
  PolyId Sum() {
    const BoundVariable v = {arena_.NewFree(0, 3), {0, 4}};
    const Affine k = Affine::Of(v.symbol);
    const PolyId chosen = arena_.Delta(k - Index()), entry = arena_.Element(2, {k, Index()});
    return arena_.SumOver({v}, arena_.Mul(chosen, entry));
  }

  Arena& arena_;
  std::mt19937 random_;
  std::vector<Symbol> free_;
};

TEST(Equality, ProductsAreWhatTheirFactorsAre) {
  int equalities = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    Arena arena;
    arena.ResetExhausted(1'000'000);
    RandomFactors factors(&arena, seed);
    std::vector<PolyId> each;
    PolyId product = arena.One();
    for (int k = 0; k < 4; ++k) {
      each.push_back(factors.Next());
      product = arena.Mul(product, each.back());
    }
    ASSERT_FALSE(arena.exhausted());
    equalities += static_cast<int>(product != kZeroPoly);
    for (int64_t a = 0; a <= RandomFactors::kMost; ++a) {
      for (int64_t b = 0; b <= RandomFactors::kMost; ++b) {
        const FreeValues values = {{factors.free()[0], a}, {factors.free()[1], b}};
        Approximate expected = Of(1);
        for (const PolyId factor : each) expected = expected * Evaluate(arena, factor, values);
        const Approximate actual = Evaluate(arena, product, values);
        ASSERT_TRUE(Agree(expected, actual))
            << "seed " << seed << " at " << a << ", " << b << ": " << arena.ToString(product);
      }
    }
  }
  EXPECT_GT(equalities, 500);
}

}  // namespace
}  // namespace planproof::solver
