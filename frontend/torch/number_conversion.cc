#include "frontend/torch/number_conversion.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "sdfg/element_type.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::DType;
using solver::Rational;

// The largest number that is not rounded to infinity, or a little less.
double LargestOf(DType type) {
  switch (type) {
    case DType::kFloat64:
      return std::numeric_limits<double>::max();
    case DType::kFloat32:
      return 3.4028235e38;
    case DType::kFloat16:
      return 65519;
    case DType::kBFloat16:
      return 3.3961e38;
    case DType::kFloat8E4M3:
      return 448;
    default:
      return 57344;
  }
}

bool IsWithin(DType type, int64_t number) {
  if (type == DType::kUInt8) return number >= 0 && number <= 255;
  const int bits = sdfg::IntegerBits(type);
  if (bits == 0 || bits == 64) return bits == 64;
  const int64_t limit = int64_t{1} << (bits - 1);
  return number >= -limit && number < limit;
}

int64_t WrappedAround(DType type, int64_t number) {
  switch (type) {
    case DType::kInt32:
      return static_cast<int32_t>(number);
    case DType::kInt16:
      return static_cast<int16_t>(number);
    case DType::kInt8:
      return static_cast<int8_t>(number);
    case DType::kUInt8:
      return static_cast<uint8_t>(number);
    default:
      return number;
  }
}

// The number without its fraction; nothing beyond 2^53.
std::optional<int64_t> WithoutFraction(const Rational& number) {
  int64_t whole = 0;
  if (number.ToInt64(&whole)) return whole;
  const double nearest = number.ToDouble();
  if (!(std::abs(nearest) < 9e15)) return std::nullopt;
  whole = static_cast<int64_t>(nearest);
  // The double may lie on the other side of a whole number.
  if (number.Sign() < 0) {
    if (Rational(whole) < number) --whole;
    while (Rational(whole) < number) ++whole;
  } else {
    if (number < Rational(whole)) --whole;
    while (!(number < Rational(whole + 1))) ++whole;
  }
  return whole;
}

bool IsReal(const KnownNumber& number) {
  return sdfg::IsFloating(number.type) || !number.value.IsInteger();
}

// The smallest number that has all bits of its significand.
double SmallestOf(DType type) {
  switch (type) {
    case DType::kFloat64:
      return std::numeric_limits<double>::min();
    case DType::kFloat16:
    case DType::kFloat8E5M2:
      return std::ldexp(1, -14);
    case DType::kFloat8E4M3:
      return std::ldexp(1, -6);
    default:
      return std::numeric_limits<float>::min();
  }
}

// The error that storing the number in a floating type adds.
double Rounding(DType type, const Rational& number) {
  if (HoldsExactly(type, number)) return 0;
  return std::ldexp(std::abs(number.ToDouble()) + SmallestOf(type),
                    1 - sdfg::SignificandBits(type));
}

std::optional<KnownNumber> AsInteger(const KnownNumber& number, DType to) {
  if (!IsReal(number)) {
    int64_t whole = 0;
    if (!number.value.ToInt64(&whole)) return std::nullopt;
    if (number.type == DType::kUnknown && !IsWithin(to, whole)) return std::nullopt;
    return KnownNumber{WrappedAround(to, whole), to, 0};
  }
  std::optional<int64_t> whole = WithoutFraction(number.value);
  if (number.error > 0 && whole) {
    if (!std::isfinite(number.error)) return std::nullopt;
    const Rational error = Rational::FromDouble(number.error);
    const std::optional<int64_t> below = WithoutFraction(number.value - error);
    const std::optional<int64_t> above = WithoutFraction(number.value + error);
    if (below != whole || above != whole) return std::nullopt;
  }
  if (!whole || !IsWithin(to, *whole)) return std::nullopt;
  return KnownNumber{*whole, to, 0};
}

}  // namespace

bool HoldsExactly(DType type, const Rational& number) {
  if (type == DType::kBool) return number.IsZero() || number.IsOne();
  int64_t whole = 0;
  if (sdfg::IsInteger(type)) return number.ToInt64(&whole) && IsWithin(type, whole);
  if (!sdfg::IsFloating(type)) return false;
  const double nearest = number.ToDouble();
  if (!std::isfinite(nearest) || std::abs(nearest) > LargestOf(type)) return false;
  if (!(Rational::FromDouble(nearest) == number)) return false;
  if (nearest != 0 && std::abs(nearest) < SmallestOf(type)) return false;
  int exponent = 0;
  const double significand =
      std::ldexp(std::frexp(nearest, &exponent), sdfg::SignificandBits(type));
  return significand == std::floor(significand);
}

std::optional<KnownNumber> InType(const KnownNumber& number, DType to) {
  if (to == DType::kBool) {
    if (number.error > 0 && !(std::abs(number.value.ToDouble()) > number.error)) {
      return std::nullopt;
    }
    return KnownNumber{number.value.IsZero() ? 0 : 1, to, 0};
  }
  if (sdfg::IsInteger(to)) return AsInteger(number, to);
  if (!sdfg::IsFloating(to)) return std::nullopt;
  if (std::abs(number.value.ToDouble()) > LargestOf(to)) return std::nullopt;
  return KnownNumber{number.value, to, number.error + Rounding(to, number.value)};
}

std::optional<Rational> InType(const Rational& number, DType from, DType to) {
  const std::optional<KnownNumber> converted = InType(KnownNumber{number, from, 0}, to);
  return converted ? std::make_optional(converted->value) : std::nullopt;
}

std::optional<KnownNumber> Computed(Arithmetic op, const KnownNumber& x, const KnownNumber& y,
                                    DType result) {
  const bool real = sdfg::IsFloating(result);
  const double left = std::abs(x.value.ToDouble()), right = std::abs(y.value.ToDouble());
  // Numbers of Python are rounded to the type in which is computed.
  const double of_left = x.error + (real ? Rounding(result, x.value) : 0);
  const double of_right = y.error + (real ? Rounding(result, y.value) : 0);
  KnownNumber computed;
  double error = 0;
  switch (op) {
    case Arithmetic::kAdd:
      computed.value = x.value + y.value;
      error = of_left + of_right;
      break;
    case Arithmetic::kSubtract:
      computed.value = x.value - y.value;
      error = of_left + of_right;
      break;
    case Arithmetic::kMultiply:
      computed.value = x.value * y.value;
      error = left * of_right + right * of_left + of_left * of_right;
      break;
    case Arithmetic::kDivide:
      if (y.value.IsZero() || !(right > of_right)) return std::nullopt;
      computed.value = x.value / y.value;
      error = (of_left + left / right * of_right) / (right - of_right);
      break;
  }
  computed.type = real || IsReal(x) || IsReal(y) || op == Arithmetic::kDivide ? DType::kFloat64
                  : x.type == DType::kUnknown || y.type == DType::kUnknown    ? DType::kUnknown
                                                                              : DType::kInt64;
  if (real) {
    error += Rounding(result, computed.value);
    if (error > 0) error = error * 1.001 + std::ldexp(error, 1 - sdfg::SignificandBits(result));
  }
  computed.error = error;
  return computed;
}

}  // namespace planproof::frontend::torch
