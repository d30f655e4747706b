#include "frontend/torch/rounded_number.h"

#include <cmath>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

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

std::optional<double> DecimalOfFloat32(const solver::Rational& value) {
  constexpr int kDigits = 6;  // so many decimal digits survive single precision
  const auto single = static_cast<float>(value.ToDouble());
  if (!std::isnormal(single) || !(solver::Rational::FromDouble(single) == value)) {
    return std::nullopt;
  }
  const std::string decimal = absl::StrFormat("%.*g", kDigits, single);
  double read = 0;
  float nearest = 0;
  if (!absl::SimpleAtod(decimal, &read) || !absl::SimpleAtof(decimal, &nearest))
    return std::nullopt;
  if (nearest != single || read == static_cast<double>(single)) return std::nullopt;
  return read;
}

}  // namespace planproof::frontend::torch
