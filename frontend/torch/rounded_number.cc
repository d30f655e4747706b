#include "frontend/torch/rounded_number.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace planproof::frontend::torch {
using solver::Rational;

namespace {

constexpr double kLargestRoot = 1024;
constexpr int64_t kLargestNumerator = 1 << 10;
constexpr int64_t kLargestDenominator = 1 << 20;
constexpr int kDigits = 6;  // so many decimal digits survive single precision

// The first convergent of a positive number's continued fraction that is nearest to it as a double:
// numerator and denominator.
std::optional<std::pair<int64_t, int64_t>> Convergent(double number) {
  int64_t p = 1, q = 0, before_p = 0, before_q = 1;
  for (double rest = number;; rest = 1 / (rest - std::floor(rest))) {
    const double digit = std::floor(rest);
    if (!(digit <= static_cast<double>(kLargestDenominator))) return std::nullopt;
    const auto whole = static_cast<int64_t>(digit);
    before_p = std::exchange(p, whole * p + before_p);
    before_q = std::exchange(q, whole * q + before_q);
    if (p > kLargestNumerator || q > kLargestDenominator) return std::nullopt;
    // IEEE 754: the quotient of two doubles is the double that is nearest to it.
    if (static_cast<double>(p) / static_cast<double>(q) == number) return std::pair(p, q);
  }
}

}  // namespace

std::optional<int64_t> RadicandOf(const Rational& literal) {
  const double root = literal.ToDouble();
  if (!(root > 1 && root < kLargestRoot) || root == std::floor(root) ||
      !(Rational::FromDouble(root) == literal)) {
    return std::nullopt;
  }
  const int64_t radicand = std::llround(root * root);
  // IEEE 754: the root of a double is the double that is nearest to it.
  if (std::sqrt(static_cast<double>(radicand)) != root) return std::nullopt;
  return radicand;
}

std::optional<Rational> QuotientOf(const Rational& literal) {
  const double number = literal.ToDouble();
  if (!std::isfinite(number) || !(Rational::FromDouble(number) == literal)) return std::nullopt;
  const auto quotient = Convergent(std::fabs(number));
  if (!quotient) return std::nullopt;
  const auto [p, q] = *quotient;
  int64_t others = q;
  for (const int64_t prime : {2, 5}) {
    while (others % prime == 0) others /= prime;
  }
  if (others == 1) return std::nullopt;
  return Rational(std::signbit(number) ? -p : p, q);
}

std::optional<Rational> DecimalOf(const Rational& literal) {
  const double number = literal.ToDouble();
  if (!std::isnormal(number) || !(Rational::FromDouble(number) == literal)) return std::nullopt;
  const std::string decimal = absl::StrFormat("%.*g", kDigits, number);
  double read = 0;
  Rational exact;
  if (!absl::SimpleAtod(decimal, &read) || !Rational::Parse(decimal, &exact)) return std::nullopt;
  if (read != number || exact == literal) return std::nullopt;
  return exact;
}

std::optional<Rational> DecimalLessOneOf(const Rational& literal) {
  const double number = literal.ToDouble();
  if (!std::isnormal(number) || !(Rational::FromDouble(number) == literal)) return std::nullopt;
  const std::string decimal = absl::StrFormat("%.*g", kDigits, number + 1);
  double read = 0;
  Rational exact;
  if (!absl::SimpleAtod(decimal, &read) || !Rational::Parse(decimal, &exact)) return std::nullopt;
  if (read - 1 != number || read == number || exact - 1 == literal) return std::nullopt;
  return exact - 1;
}

std::optional<double> DecimalOfFloat32(const Rational& value) {
  const auto single = static_cast<float>(value.ToDouble());
  if (!std::isnormal(single) || !(Rational::FromDouble(single) == value)) {
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
