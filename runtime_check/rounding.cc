#include "runtime_check/rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace planproof::runtime_check {
namespace {

using sdfg::DType;

constexpr FloatFormat kDouble = {53, -1022, std::numeric_limits<double>::max()};
constexpr FloatFormat kSingle = {24, -126, std::numeric_limits<float>::max()};
constexpr FloatFormat kHalf = {11, -14, 65504};
constexpr FloatFormat kBrain = {8, -126, 0x1.fep127};
constexpr FloatFormat kE5M2 = {3, -14, 57344};
constexpr FloatFormat kE4M3 = {4, -6, 448, false};

// 2^exponent, -126 <= exponent <= 127.
float PowerOfTwo(int exponent) {
  return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
}

// The upper half of the bits, plus one if the lower half says so: all of bfloat16's exponents are
// those of a single.
float RoundToBrain(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
}

}  // namespace

const FloatFormat& FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return kSingle;
    case DType::kFloat16:
      return kHalf;
    case DType::kBFloat16:
      return kBrain;
    case DType::kFloat8E4M3:
      return kE4M3;
    case DType::kFloat8E5M2:
      return kE5M2;
    default:
      return kDouble;
  }
}

double EpsilonOf(DType dtype) { return std::ldexp(1.0, 1 - FormatOf(dtype).precision); }

bool IsScaledFloat(DType dtype) {
  return dtype == DType::kFloat8E4M3 || dtype == DType::kFloat8E5M2;
}

bool IsNarrowFloat(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || IsScaledFloat(dtype);
}

float Round(const FloatFormat& format, float value) {
  if (std::isnan(value)) return value;
  if (std::isinf(value)) {
    return format.has_infinity ? value : std::numeric_limits<float>::quiet_NaN();
  }
  if (format.least_exponent == kBrain.least_exponent) return RoundToBrain(value);
  const int exponent = static_cast<int>(std::bit_cast<uint32_t>(value) >> 23 & 0xff) - 127;
  const int last = std::max(exponent, format.least_exponent) - format.precision + 1;
  float rounded = value;
  if (exponent < 32) {
    // Beside 1.5 * 2^23 units of the last place a single has no bits for less than one unit.
    const float shift = 1.5f * PowerOfTwo(23 + last);
    const float shifted = value + shift;
    rounded = std::copysign(shifted - shift, value);
  }
  if (std::fabs(rounded) <= static_cast<float>(format.largest)) return rounded;
  return std::copysign(format.has_infinity ? std::numeric_limits<float>::infinity()
                                           : std::numeric_limits<float>::quiet_NaN(),
                       value);
}

float ScaleOf(const FloatFormat& format, std::span<const float> values) {
  float largest = 0;
  for (const float value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  if (largest == 0) return 1;
  int exponent = std::ilogb(format.largest) - std::ilogb(largest);
  if (std::scalbn(static_cast<double>(largest), exponent) > format.largest) --exponent;
  return PowerOfTwo(std::clamp(exponent, -126, 127));
}

double LeastSpacing(DType dtype, const Values& values) {
  const FloatFormat& format = FormatOf(dtype);
  double spacing = std::ldexp(1.0, format.least_exponent - format.precision + 1);
  if (IsScaledFloat(dtype) && values.storage == Values::Storage::kFloat)
    spacing /= static_cast<double>(ScaleOf(format, values.floats));
  return spacing;
}

void RoundTensor(DType dtype, std::span<float> values) {
  if (!IsNarrowFloat(dtype)) return;
  const FloatFormat& format = FormatOf(dtype);
  const float scale = IsScaledFloat(dtype) ? ScaleOf(format, values) : 1;
  for (float& value : values) {
    if (std::isfinite(value)) value = Round(format, value * scale) / scale;
  }
}

}  // namespace planproof::runtime_check
