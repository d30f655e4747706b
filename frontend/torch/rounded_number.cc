#include "frontend/torch/rounded_number.h"

#include <cmath>

namespace planproof::frontend::torch {
namespace {

constexpr double kLargestRoot = 1024;
constexpr double kLargestDenominator = 1 << 20;

}  // namespace

std::optional<int64_t> RadicandOf(const solver::Rational& literal) {
  const double root = literal.ToDouble();
  if (!(root > 1 && root < kLargestRoot) || root == std::floor(root) ||
      !(solver::Rational::FromDouble(root) == literal)) {
    return std::nullopt;
  }
  const int64_t radicand = std::llround(root * root);
  // IEEE 754: the root of a double is the double that is nearest to it.
  if (std::sqrt(static_cast<double>(radicand)) != root) return std::nullopt;
  return radicand;
}

std::optional<int64_t> DenominatorOf(const solver::Rational& literal) {
  const double inverse = literal.ToDouble();
  if (!(inverse > 1 / kLargestDenominator && inverse < 1) ||
      !(solver::Rational::FromDouble(inverse) == literal)) {
    return std::nullopt;
  }
  const int64_t denominator = std::llround(1 / inverse);
  // IEEE 754: the quotient of two doubles is the double that is nearest to it.
  if (1 / static_cast<double>(denominator) != inverse) return std::nullopt;
  int64_t others = denominator;
  for (const int64_t prime : {2, 5}) {
    while (others % prime == 0) others /= prime;
  }
  if (others == 1) return std::nullopt;
  return denominator;
}

}  // namespace planproof::frontend::torch
