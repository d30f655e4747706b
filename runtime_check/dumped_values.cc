#include "runtime_check/dumped_values.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace planproof::runtime_check {
namespace {

using sdfg::DType;

template <typename Stored>
Stored ElementAt(std::string_view bytes, int64_t i) {
  Stored value;
  std::memcpy(&value, bytes.data() + i * static_cast<int64_t>(sizeof(Stored)), sizeof(Stored));
  return value;
}

// A number of a sign, `exponent` and `mantissa` bits, with subnormals. The largest exponent is that
// of infinity and NaN; in FP8 E4M3 it is an ordinary one, and all bits set are NaN.
float NarrowNumber(uint32_t bits, int exponent, int mantissa, bool has_infinity) {
  const uint32_t fraction = bits & ((1u << mantissa) - 1);
  const int power = static_cast<int>((bits >> mantissa) & ((1u << exponent) - 1));
  const int largest = (1 << exponent) - 1, bias = (1 << (exponent - 1)) - 1;
  const float sign = (bits >> (exponent + mantissa)) != 0 ? -1.0f : 1.0f;
  const bool all = fraction == (1u << mantissa) - 1;
  if (power == largest && (has_infinity ? fraction != 0 : all))
    return std::numeric_limits<float>::quiet_NaN();
  if (power == largest && has_infinity) return sign * std::numeric_limits<float>::infinity();
  const auto significand = static_cast<float>(power == 0 ? fraction : fraction + (1u << mantissa));
  return sign * std::ldexp(significand, (power == 0 ? 1 : power) - bias - mantissa);
}

float FloatAt(DType dtype, std::string_view bytes, int64_t i) {
  switch (dtype) {
    case DType::kFloat16:
      return NarrowNumber(ElementAt<uint16_t>(bytes, i), 5, 10, true);
    case DType::kBFloat16:
      return std::bit_cast<float>(static_cast<uint32_t>(ElementAt<uint16_t>(bytes, i)) << 16);
    case DType::kFloat8E4M3:
      return NarrowNumber(ElementAt<uint8_t>(bytes, i), 4, 3, false);
    case DType::kFloat8E5M2:
      return NarrowNumber(ElementAt<uint8_t>(bytes, i), 5, 2, true);
    default:
      return ElementAt<float>(bytes, i);
  }
}

int64_t IntegerAt(DType dtype, std::string_view bytes, int64_t i) {
  switch (dtype) {
    case DType::kInt64:
      return ElementAt<int64_t>(bytes, i);
    case DType::kInt32:
      return ElementAt<int32_t>(bytes, i);
    case DType::kInt16:
      return ElementAt<int16_t>(bytes, i);
    case DType::kInt8:
      return ElementAt<int8_t>(bytes, i);
    default:  // uint8, bool
      return ElementAt<uint8_t>(bytes, i);
  }
}

}  // namespace

Values DecodedValues(const dumps::TensorType& type, std::string_view bytes) {
  const DType stored = type.dtype == DType::kBool ? DType::kUInt8 : type.dtype;
  Values values = Values::Zeros(type.shape, stored,
                                stored == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32);
  for (int64_t i = 0; i < values.size(); ++i) {
    switch (values.storage) {
      case Values::Storage::kInteger:
        values.integers[i] = IntegerAt(type.dtype, bytes, i);
        break;
      case Values::Storage::kDouble:
        values.doubles[i] = ElementAt<double>(bytes, i);
        break;
      default:
        values.floats[i] = FloatAt(type.dtype, bytes, i);
    }
  }
  return values;
}

dumps::TensorBytes EncodedValues(const Values& values) {
  dumps::TensorBytes out;
  out.type.shape = values.shape;
  const auto take = [&out](const auto& elements, DType dtype) {
    out.type.dtype = dtype;
    const size_t bytes = elements.size() * sizeof(elements[0]);
    out.bytes.assign(reinterpret_cast<const char*>(elements.data()), bytes);
  };
  if (values.storage == Values::Storage::kInteger) {
    take(values.integers, DType::kInt64);
  } else if (values.storage == Values::Storage::kDouble) {
    take(values.doubles, DType::kFloat64);
  } else {
    take(values.floats, DType::kFloat32);
  }
  return out;
}

}  // namespace planproof::runtime_check
