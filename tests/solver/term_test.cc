// The laws of terms, tested by numbers: building never changes a value, and what is shown to be
// zero is zero.
#include "solver/term.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/solver/random_expression.h"
#include "tests/solver/term_numeric.h"

namespace planproof::solver {
namespace {

constexpr int64_t kNodes = 60'000;

std::unique_ptr<Arena> NewArena() {
  auto arena = std::make_unique<Arena>();
  for (uint32_t tag = kPositiveTag; tag < kIntegerTag; ++tag) arena->SetTagPositive(tag);
  arena->ResetExhausted(kNodes);
  return arena;
}

Environment RandomEnvironment(int free_variables, std::mt19937_64* random) {
  Environment e;
  for (int v = 0; v < free_variables; ++v)
    e[v] = kFreeDomain.lo + static_cast<int64_t>((*random)() % kFreeDomain.length());
  return e;
}

struct Counts {
  int compared = 0, exhausted = 0;
};

Counts CheckValues(GeneratorOptions options, uint64_t seeds, uint64_t first) {
  Counts counts;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    Generator generator(seed, options);
    const Expression e = generator.Next();
    auto arena = NewArena();
    Builder plain(arena.get(), options.free_variables, nullptr);
    const PolyId p = plain.Build(e);
    Builder shuffled(arena.get(), options.free_variables, &generator.random());
    const PolyId q = shuffled.Build(e);
    if (arena->exhausted()) {
      ++counts.exhausted;
      continue;
    }
    for (int sample = 0; sample < 3; ++sample) {
      Environment at = RandomEnvironment(options.free_variables, &generator.random());
      const Approximate expected = Evaluate(e, &at);
      for (const auto& [poly, builder] : {std::pair(p, &plain), std::pair(q, &shuffled)}) {
        const Approximate found = Evaluate(*arena, poly, builder->Values(at));
        if (!std::isfinite(expected.value) || expected.scale > 1e10L) continue;
        if (!Comparable(found, expected)) {
          // A premise may exclude the sample on one side only; a leaked symbol gives infinity.
          EXPECT_FALSE(std::isinf(found.value) && std::fabs(expected.value) < 1e6L)
              << "seed " << seed << ": " << arena->ToString(poly);
          continue;
        }
        ++counts.compared;
        EXPECT_TRUE(Agree(found, expected))
            << "seed " << seed << ": " << static_cast<double>(found.value) << ", expected "
            << static_cast<double>(expected.value) << " scale "
            << static_cast<double>(found.scale + expected.scale) << "\n"
            << arena->ToString(poly, 2000);
        if (testing::Test::HasFailure()) return counts;
      }
    }
  }
  return counts;
}

TEST(TermTest, BuildingPreservesValuesOfPolynomials) {
  const Counts c = CheckValues({.polynomial = true, .depth = 5}, 2500, 1);
  EXPECT_GT(c.compared, 9000);
  EXPECT_LT(c.exhausted, 300);
}

TEST(TermTest, BuildingPreservesValuesOfAllFunctions) {
  const Counts c = CheckValues({.polynomial = false, .depth = 4}, 4000, 100'001);
  EXPECT_GT(c.compared, 10'000);
  EXPECT_LT(c.exhausted, 400);
}

TEST(TermTest, BuildingPreservesValuesOfDeepExpressions) {
  const Counts c = CheckValues({.polynomial = false, .depth = 6}, 1500, 200'001);
  EXPECT_GT(c.compared, 2000);
}

// IsZero on the difference of an expression and a slightly different one.
void CheckMutants(GeneratorOptions options, uint64_t seeds, uint64_t first) {
  int different = 0, checked = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    Generator generator(seed, options);
    const Expression e = generator.Next();
    const Expression wrong = generator.Mutated(e);
    auto arena = NewArena();
    Builder builder(arena.get(), options.free_variables, nullptr);
    const PolyId p = builder.Build(e), q = builder.Build(wrong);
    const bool zero = arena->IsZero(arena->Sub(p, q));
    if (arena->exhausted()) {
      EXPECT_FALSE(zero) << "seed " << seed;
      continue;
    }
    ++checked;
    for (int sample = 0; sample < 6; ++sample) {
      Environment at = RandomEnvironment(options.free_variables, &generator.random());
      const Approximate a = Evaluate(e, &at), b = Evaluate(wrong, &at);
      if (!Comparable(a, b) || a.scale > 1e10L || b.scale > 1e10L) continue;
      if (std::fabs(a.value - b.value) <= 1e-7L * (1 + a.scale + b.scale)) continue;
      ++different;
      EXPECT_FALSE(zero) << "seed " << seed << ": " << arena->ToString(p) << " against "
                         << arena->ToString(q);
      break;
    }
  }
  EXPECT_GT(different, checked / 4);
}

TEST(TermTest, DifferentPolynomialsAreNeverZero) {
  CheckMutants({.polynomial = true, .depth = 5}, 2500, 300'001);
}

TEST(TermTest, DifferentExpressionsAreNeverZero) {
  CheckMutants({.polynomial = false, .depth = 5}, 2500, 400'001);
}

TEST(TermTest, MostRearrangedPolynomialsAreRecognised) {
  int same = 0, checked = 0;
  const GeneratorOptions options{.polynomial = true, .depth = 5};
  for (uint64_t seed = 500'001; seed < 501'001; ++seed) {
    Generator generator(seed, options);
    const Expression e = generator.Next();
    auto arena = NewArena();
    Builder builder(arena.get(), options.free_variables, &generator.random());
    const PolyId p = builder.Build(e), q = builder.Build(e);
    const bool zero = arena->IsZero(arena->Sub(p, q));
    if (arena->exhausted()) continue;
    ++checked;
    same += zero;
  }
  EXPECT_GT(checked, 800);
  EXPECT_GT(same, checked * 95 / 100) << same << " of " << checked;
}

}  // namespace
}  // namespace planproof::solver
