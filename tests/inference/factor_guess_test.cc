// Which factors are tried, and in which order.
#include "inference/factor_guess.h"

#include <gtest/gtest.h>

#include <vector>

namespace planproof::inference {
namespace {

using solver::Rational;

solver::Terms TermsOf(const std::vector<int>& coefficients) {
  solver::Terms terms;
  solver::MonoId mono = 0;
  for (const int c : coefficients) terms.push_back({.mono = mono++, .coefficient = Rational(c)});
  return terms;
}

TEST(FactorGuess, TermsWrittenAlikeAreComparedFromTheFirstOne) {
  const auto guesses = FactorGuesses(TermsOf({6, 3}), TermsOf({2, 1}));
  EXPECT_EQ(guesses, (std::vector<Rational>{3, 1}));
}

TEST(FactorGuess, OfTermsWrittenOtherwiseTheLeastCoefficientsCorrespond) {
  const auto guesses = FactorGuesses(TermsOf({8, -4, 12}), TermsOf({-2, 6}));
  EXPECT_EQ(guesses, (std::vector<Rational>{2, -4, 1}));
}

TEST(FactorGuess, NothingButOneIsGuessedOfZero) {
  EXPECT_EQ(FactorGuesses(TermsOf({}), TermsOf({2})), std::vector<Rational>{1});
  EXPECT_EQ(FactorGuesses(TermsOf({2}), TermsOf({})), std::vector<Rational>{1});
}

}  // namespace
}  // namespace planproof::inference
