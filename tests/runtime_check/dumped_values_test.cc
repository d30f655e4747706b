// Bytes of dumped tensors as numbers.
#include "runtime_check/dumped_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "runtime_check/rounding.h"

namespace planproof::runtime_check {
namespace {

using sdfg::DType;

template <typename Stored>
std::string Bytes(const std::vector<Stored>& elements) {
  return std::string(reinterpret_cast<const char*>(elements.data()),
                     elements.size() * sizeof(Stored));
}

double First(DType dtype, const std::string& bytes) {
  return DecodedValues({dtype, {1}}, bytes).At(0);
}

TEST(DumpedValues, NumbersOfAllTypesAreRead) {
  EXPECT_EQ(First(DType::kFloat64, Bytes<double>({0.1})), 0.1);
  EXPECT_EQ(First(DType::kFloat32, Bytes<float>({0.1f})), 0.1f);
  EXPECT_EQ(First(DType::kInt64, Bytes<int64_t>({-5})), -5);
  EXPECT_EQ(First(DType::kInt32, Bytes<int32_t>({-5})), -5);
  EXPECT_EQ(First(DType::kInt16, Bytes<int16_t>({-5})), -5);
  EXPECT_EQ(First(DType::kInt8, Bytes<int8_t>({-5})), -5);
  EXPECT_EQ(First(DType::kUInt8, Bytes<uint8_t>({200})), 200);
  EXPECT_EQ(First(DType::kBool, Bytes<uint8_t>({1})), 1);
  EXPECT_EQ(DecodedValues({DType::kInt64, {1}}, Bytes<int64_t>({1})).storage,
            Values::Storage::kInteger);
  EXPECT_EQ(First(DType::kBFloat16, Bytes<uint16_t>({0xbfc0})), -1.5);
  EXPECT_TRUE(std::isnan(First(DType::kBFloat16, Bytes<uint16_t>({0x7fc0}))));
}

// Every number of a narrow type is one that rounding to the type leaves as it is, and both
// infinities and NaN are where the format has them.
TEST(DumpedValues, NarrowNumbersAreThoseOfTheirType) {
  EXPECT_EQ(First(DType::kFloat16, Bytes<uint16_t>({0x0001})), 0x1p-24);
  EXPECT_EQ(First(DType::kFloat16, Bytes<uint16_t>({0x7bff})), 65504);
  EXPECT_EQ(First(DType::kFloat16, Bytes<uint16_t>({0xfc00})), -INFINITY);
  EXPECT_TRUE(std::isnan(First(DType::kFloat16, Bytes<uint16_t>({0x7c01}))));
  EXPECT_EQ(First(DType::kFloat8E4M3, Bytes<uint8_t>({0x7e})), 448);
  EXPECT_EQ(First(DType::kFloat8E4M3, Bytes<uint8_t>({0x01})), 0x1p-9);
  EXPECT_TRUE(std::isnan(First(DType::kFloat8E4M3, Bytes<uint8_t>({0xff}))));
  EXPECT_EQ(First(DType::kFloat8E5M2, Bytes<uint8_t>({0x7b})), 57344);
  EXPECT_EQ(First(DType::kFloat8E5M2, Bytes<uint8_t>({0xfc})), -INFINITY);
  int numbers = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double value = First(DType::kFloat16, Bytes<uint16_t>({static_cast<uint16_t>(bits)}));
    if (!std::isfinite(value)) continue;
    ++numbers;
    ASSERT_EQ(Round(FormatOf(DType::kFloat16), static_cast<float>(value)), value) << bits;
  }
  EXPECT_EQ(numbers, 2 * 31 * 1024);
}

TEST(DumpedValues, WrittenValuesAreReadAgain) {
  for (const DType dtype : {DType::kInt64, DType::kFloat64, DType::kFloat32}) {
    Values values = Values::Zeros({2, 2}, dtype, dtype);
    for (int i = 0; i < 4; ++i) values.Set(i, i * 3 - 4);
    const dumps::TensorBytes bytes = EncodedValues(values);
    EXPECT_EQ(bytes.type.dtype, dtype);
    const Values again = DecodedValues(bytes.type, bytes.bytes);
    EXPECT_EQ(again.shape, values.shape);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(again.At(i), i * 3 - 4);
  }
}

}  // namespace
}  // namespace planproof::runtime_check
