// The laws of terms on random expressions. PLANPROOF_EXPRESSIONS=N in the environment checks N
// expressions per test instead of a sample.
#include "tests/solver/term_laws.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/solver/block_expression.h"

namespace planproof::solver {
namespace {

int64_t Expressions(int64_t sample) {
  const char* wanted = std::getenv("PLANPROOF_EXPRESSIONS");
  return wanted == nullptr ? sample : std::strtoll(wanted, nullptr, 10);
}

void Print(const LawCounts& c) {
  std::cout << c.expressions << " expressions, " << c.exhausted << " past the work limit, "
            << c.compared << " values compared, " << c.recognised << " of " << c.equal
            << " equal ones recognised, " << c.different << " different pairs, " << c.undefined
            << " samples outside the domain, " << c.signs << " signs\n";
}

TEST(TermLawsTest, MaskedRowsInBlocks) {
  LawCounts counts;
  const auto count = static_cast<uint64_t>(Expressions(1500));
  for (uint64_t seed = 1'000'000; seed < 1'000'000 + count; ++seed) {
    BlockGenerator generator(seed);
    const Expression e = generator.Render(), same = generator.Render(),
                     other = generator.Render(/*careless=*/true);
    std::mt19937_64 random(seed);
    const std::string wrong = CheckLaws(e, same, other, &random, &counts);
    ASSERT_EQ(wrong, "") << "seed " << seed;
  }
  Print(counts);
  EXPECT_GT(counts.compared, counts.expressions);
  EXPECT_GT(counts.different, counts.expressions / 4);
  EXPECT_GT(counts.recognised, counts.equal / 2);
  EXPECT_GT(counts.undefined, 0);
  EXPECT_GT(counts.signs, 0);
}

TEST(TermLawsTest, ExpressionsOfAllKinds) {
  LawCounts counts;
  const auto count = static_cast<uint64_t>(Expressions(2500));
  for (uint64_t seed = 2'000'000; seed < 2'000'000 + count; ++seed) {
    Generator generator(seed, {.polynomial = false, .depth = 4, .integer_tags = 12});
    const Expression e = generator.Next();
    const Expression other = generator.Mutated(e);
    const std::string wrong = CheckLaws(e, e, other, &generator.random(), &counts);
    ASSERT_EQ(wrong, "") << "seed " << seed;
  }
  Print(counts);
  EXPECT_GT(counts.compared, counts.expressions);
  EXPECT_GT(counts.different, counts.expressions / 4);
  EXPECT_GT(counts.undefined, counts.expressions / 20);
  EXPECT_GT(counts.signs, 0);
}

}  // namespace
}  // namespace planproof::solver
