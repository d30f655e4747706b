// The laws of terms on random expressions. PLANPROOF_EXPRESSIONS=N in the environment checks N
// expressions per test instead of a sample, PLANPROOF_FIRST=N those from the Nth on.
#include "tests/solver/term_laws.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/solver/block_expression.h"
#include "tests/solver/term_numeric.h"

namespace planproof::solver {
namespace {

uint64_t Number(const char* variable, uint64_t otherwise) {
  const char* wanted = std::getenv(variable);
  return wanted == nullptr ? otherwise : std::strtoull(wanted, nullptr, 10);
}
uint64_t Expressions(uint64_t sample) { return Number("PLANPROOF_EXPRESSIONS", sample); }
uint64_t First() { return Number("PLANPROOF_FIRST", 0); }

void Print(const LawCounts& c) {
  std::cout << c.expressions << " expressions, " << c.exhausted << " past the work limit, "
            << c.compared << " values compared, " << c.recognised << " of " << c.equal
            << " equal ones recognised, " << c.different << " different pairs, " << c.undefined
            << " samples outside the domain, " << c.signs << " signs\n";
}

TEST(TermLawsTest, MaskedRowsInBlocks) {
  LawCounts counts;
  const uint64_t count = Expressions(1500);
  const uint64_t first = 1'000'000 + First();
  for (uint64_t seed = first; seed < first + count; ++seed) {
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
  const uint64_t count = Expressions(2500);
  const uint64_t first = 2'000'000 + First();
  for (uint64_t seed = first; seed < first + count; ++seed) {
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

// The judge's numbers: ((1 - 0.89)^3)^2 is small beside what it is made of, but no rounding, also
// where it is written out; 1 - 1 + 1e-17 is.
TEST(TermLawsTest, PowersOfPowersAreNotTakenForRounding) {
  const Approximate base = Of(1) + Of(-0.889L);
  const Approximate nested = PowerOf(PowerOf(base, 3), 2), direct = PowerOf(base, 6);
  EXPECT_FALSE(IsZeroValue(nested));
  EXPECT_TRUE(Agree(nested, direct));
  EXPECT_LT(nested.scale, 10 * direct.scale);
  EXPECT_TRUE(IsZeroValue(Of(1) + Of(-1) + Of(1e-17L)));
}

}  // namespace
}  // namespace planproof::solver
