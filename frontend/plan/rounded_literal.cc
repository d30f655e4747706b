#include "frontend/plan/rounded_literal.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/plan/operator_call.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

using solver::Rational;

constexpr int kMantissaBits = 24;
constexpr int kLeastExponent = -149;  // of the smallest denormal
constexpr int kOverflow = 128;        // 2^128 is no float32
// Nobody prints a float32 with more digits, but for its exact value.
constexpr int kMaxDigits = 17;
constexpr int kLeastDecimal = -45 - kMaxDigits;
constexpr int kMaxDecimal = 38;

Rational PowerOfTwo(int exponent) { return Rational(2).Power(exponent); }

Rational Magnitude(const Rational& value) { return value.Sign() < 0 ? -value : value; }

// The largest exponent with 2^exponent <= value, within [kLeastExponent, kOverflow].
int BinaryExponent(const Rational& value) {
  int low = kLeastExponent;
  int high = kOverflow;
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    (value < PowerOfTwo(middle) ? high = middle - 1 : low = middle);
  }
  return low;
}

// The last decimal place of the value: the largest k for which it is a multiple of 10^k. Nothing if
// it has digits further down than a float32 is printed with.
std::optional<int> LastPlace(const Rational& value) {
  for (int place = kMaxDecimal; place >= kLeastDecimal; --place) {
    if ((value / Rational(10).Power(place)).IsInteger()) return place;
  }
  return std::nullopt;
}

bool IsPrintOf(const Rational& decimal, const Rational& single) {
  if (decimal == single) return true;
  const std::optional<int> place = LastPlace(decimal);
  if (!place.has_value()) return false;
  const Rational half = Rational(10).Power(*place) / Rational(2);
  const std::optional<Rational> back = NearestFloat32(decimal);
  return !(half < Magnitude(decimal - single)) && back.has_value() && *back == single &&
         !(Magnitude(decimal) < Rational(10).Power(*place)) &&
         Magnitude(decimal) < Rational(10).Power(*place + kMaxDigits);
}

}  // namespace

std::optional<Rational> NearestFloat32(const Rational& value) {
  const Rational magnitude = Magnitude(value);
  if (magnitude.IsZero()) return value;
  const int exponent = BinaryExponent(magnitude);
  if (exponent >= kOverflow) return std::nullopt;
  const Rational unit = PowerOfTwo(std::max(exponent - kMantissaBits + 1, kLeastExponent));
  const Rational units = magnitude / unit;  // below 2^24
  int64_t whole = 0;
  for (int bit = kMantissaBits - 1; bit >= 0; --bit) {
    const int64_t next = whole + (int64_t{1} << bit);
    if (!(units < Rational(next))) whole = next;
  }
  const Rational rest = units - Rational(whole);
  const Rational half(1, 2);
  if (half < rest || (rest == half && whole % 2 == 1)) ++whole;
  const Rational rounded = Rational(whole) * unit;
  if (!(rounded < PowerOfTwo(kOverflow))) return std::nullopt;
  return value.Sign() < 0 ? -rounded : rounded;
}

bool IsDecimal(const std::string& text) {
  return text.find('/') == std::string::npos && text.find_first_of(".eE") != std::string::npos;
}

absl::StatusOr<std::pair<Rational, Rational>> ReadRoundedLiteral(const std::string& literal,
                                                                 const std::string& exact) {
  PLAN_ASSIGN_OR_RETURN(const Rational decimal, ParseLiteral(literal, {}));
  PLAN_ASSIGN_OR_RETURN(const Rational value, ParseLiteral(exact, {}));
  if (!IsDecimal(literal)) {
    return absl::InvalidArgumentError(
        absl::StrCat(literal,
                     " stands for itself, as integers and fractions do; only a decimal "
                     "such as 16777216.0 can be a rounding"));
  }
  const std::optional<Rational> single = NearestFloat32(value);
  if (!single.has_value() || (single->IsZero() && !value.IsZero())) {
    return absl::InvalidArgumentError(
        absl::StrCat(exact, single.has_value() ? " is so small that float32 has 0 for it"
                                               : " is beyond the largest float32"));
  }
  if (!IsPrintOf(decimal, *single)) {
    return absl::InvalidArgumentError(
        absl::StrCat(literal, " is not the float32 rounding of ", exact,
                     " as a program prints it, with enough digits to read it back"));
  }
  return std::pair(decimal, value);
}

}  // namespace planproof::plan
