#include "inference/factor_guess.h"

#include <algorithm>

namespace planproof::inference {

namespace {

// In magnitude.
solver::Rational LeastCoefficient(const solver::Terms& terms) {
  const auto magnitude = [](const solver::Term& term) {
    return term.coefficient.Sign() < 0 ? -term.coefficient : term.coefficient;
  };
  solver::Rational least = magnitude(terms[0]);
  for (const solver::Term& term : terms) least = std::min(least, magnitude(term));
  return least;
}

}  // namespace

std::vector<solver::Rational> FactorGuesses(const solver::Terms& terms,
                                            const solver::Terms& defined) {
  std::vector<solver::Rational> factors;
  const auto add = [&](const solver::Rational& factor) {
    if (std::find(factors.begin(), factors.end(), factor) == factors.end())
      factors.push_back(factor);
  };
  if (!terms.empty() && !defined.empty()) {
    const solver::Rational first = terms[0].coefficient / defined[0].coefficient;
    const bool alike = terms.size() == defined.size();
    if (alike) add(first);
    add(LeastCoefficient(terms) / LeastCoefficient(defined));
    if (!alike) add(first);
  }
  add(1);
  return factors;
}

}  // namespace planproof::inference
