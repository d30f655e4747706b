// Rounding against LLVM's APFloat, bit for bit.
#include "runtime_check/rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#ifdef PLANPROOF_HAS_APFLOAT
#include <llvm/ADT/APFloat.h>
#endif

namespace planproof::runtime_check {
namespace {

using sdfg::DType;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

#ifdef PLANPROOF_HAS_APFLOAT

struct Type {
  DType dtype;
  const llvm::fltSemantics& semantics;
  unsigned bits;
};

std::vector<Type> Types() {
  return {{DType::kFloat16, llvm::APFloat::IEEEhalf(), 16},
          {DType::kBFloat16, llvm::APFloat::BFloat(), 16},
          {DType::kFloat8E5M2, llvm::APFloat::Float8E5M2(), 8},
          {DType::kFloat8E4M3, llvm::APFloat::Float8E4M3FN(), 8}};
}

float ByLlvm(const Type& type, float value) {
  bool inexact = false;
  llvm::APFloat number(value);
  number.convert(type.semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
  number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToFloat();
}

// The bits are equal, or both are NaN.
void ExpectAsLlvm(const Type& type, float value) {
  const float expected = ByLlvm(type, value), actual = Round(FormatOf(type.dtype), value);
  if (std::isnan(expected) && std::isnan(actual)) return;
  ASSERT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected))
      << sdfg::DTypeName(type.dtype) << " of " << value << ": " << actual << ", not " << expected;
}

// Every number of the type, infinities and NaN among them.
std::vector<float> AllOf(const Type& type) {
  std::vector<float> all;
  for (uint64_t code = 0; code < uint64_t{1} << type.bits; ++code) {
    bool inexact = false;
    llvm::APFloat number(type.semantics, llvm::APInt(type.bits, code));
    number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    all.push_back(number.convertToFloat());
  }
  return all;
}

TEST(Rounding, EveryNumberOfATypeStays) {
  for (const Type& type : Types()) {
    int numbers = 0;
    for (const float value : AllOf(type)) {
      ExpectAsLlvm(type, value);
      if (HasFatalFailure()) return;
      if (std::isnan(value)) continue;
      ++numbers;
      ASSERT_EQ(Round(FormatOf(type.dtype), value), value);
    }
    EXPECT_GT(numbers, type.bits == 8 ? 240 : 60000);
  }
}

TEST(Rounding, TiesAndTheirNeighboursAreAsInLlvm) {
  for (const Type& type : Types()) {
    for (const float value : AllOf(type)) {
      if (!std::isfinite(value)) continue;
      // Half-way to the next code, whose value is the next number away from zero.
      const int exponent =
          std::max(value == 0 ? -200 : std::ilogb(value), FormatOf(type.dtype).least_exponent);
      const double half = std::ldexp(0.5, exponent - FormatOf(type.dtype).precision + 1);
      const auto middle = static_cast<float>(value + std::copysign(half, value));
      for (const float near :
           {middle, std::nextafter(middle, kInfinity), std::nextafter(middle, -kInfinity)}) {
        ExpectAsLlvm(type, near);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Rounding, RandomBitsAreRoundedAsInLlvm) {
  std::mt19937_64 random(1);
  for (const Type& type : Types()) {
    const int least = FormatOf(type.dtype).least_exponent;
    for (int i = 0; i < 200'000; ++i) {
      const auto bits = static_cast<uint32_t>(random());
      ExpectAsLlvm(type, std::bit_cast<float>(bits));
      // Around the smallest and the largest numbers of the type.
      const float fraction = 1 + static_cast<float>(bits & 0x7fffff) / 0x800000;
      ExpectAsLlvm(type, std::ldexp(fraction, least - 13 + static_cast<int>(random() % 16)));
      ExpectAsLlvm(type, -std::ldexp(fraction, std::ilogb(FormatOf(type.dtype).largest) - 1 +
                                                   static_cast<int>(random() % 3)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Rounding, EpsilonAndLargestAreThoseOfLlvm) {
  for (const Type& type : Types()) {
    bool inexact = false;
    llvm::APFloat largest = llvm::APFloat::getLargest(type.semantics);
    largest.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    EXPECT_EQ(FormatOf(type.dtype).largest, largest.convertToDouble());
    llvm::APFloat next(type.semantics, "1");
    next.next(false);
    next.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    EXPECT_EQ(EpsilonOf(type.dtype), next.convertToDouble() - 1);
  }
}

#else

TEST(Rounding, AgreesWithLlvm) { GTEST_SKIP() << "LLVM 16 or later is not installed"; }

#endif

TEST(Rounding, OverflowIsInfinityOrNan) {
  EXPECT_EQ(Round(FormatOf(DType::kFloat16), 65519.0f), 65504);
  EXPECT_EQ(Round(FormatOf(DType::kFloat16), 65520.0f), kInfinity);
  EXPECT_EQ(Round(FormatOf(DType::kFloat8E5M2), -61440.0f), -kInfinity);
  EXPECT_EQ(Round(FormatOf(DType::kFloat8E4M3), 464.0f), 448);
  EXPECT_TRUE(std::isnan(Round(FormatOf(DType::kFloat8E4M3), 465.0f)));
  EXPECT_TRUE(std::isnan(Round(FormatOf(DType::kFloat8E4M3), kInfinity)));
}

TEST(Rounding, ScaleTakesTheLargestNearTheLimitAndNotBeyond) {
  for (const DType dtype : {DType::kFloat8E4M3, DType::kFloat8E5M2}) {
    const FloatFormat& format = FormatOf(dtype);
    for (const float largest : {1e-30f, 0.9f, 1.0f, 448.0f, 449.0f, 57344.0f, 57345.0f, 3e30f}) {
      const std::vector<float> values = {0, -largest, largest / 3, kInfinity};
      const float scale = ScaleOf(format, values);
      EXPECT_LE(largest * static_cast<double>(scale), format.largest);
      EXPECT_GT(largest * static_cast<double>(scale) * 2, format.largest);
      EXPECT_EQ(std::ldexp(0.5, std::ilogb(scale) + 1), scale) << "a power of two";
    }
    EXPECT_EQ(ScaleOf(format, std::vector<float>{0, 0}), 1);
  }
}

TEST(Rounding, TensorsOfEightBitsKeepSmallNumbersAndInfinities) {
  std::vector<float> values = {1e-6f, 2.1e-6f, -kInfinity, 0};
  RoundTensor(DType::kFloat8E4M3, values);
  EXPECT_NEAR(values[0], 1e-6, 0.07e-6);
  EXPECT_NEAR(values[1], 2.1e-6, 0.14e-6);
  EXPECT_NE(values[1], 2.1e-6f);
  EXPECT_EQ(values[2], -kInfinity);
  EXPECT_EQ(values[3], 0);
  std::vector<float> single = {1.0f / 3};
  RoundTensor(DType::kFloat32, single);
  EXPECT_EQ(single[0], 1.0f / 3);
}

TEST(Rounding, LeastSpacingIsThatOfTheScaledType) {
  Values values = Values::Zeros({2}, DType::kFloat32, DType::kFloat8E4M3);
  values.Set(0, 448);
  EXPECT_EQ(LeastSpacing(DType::kFloat8E4M3, values), 0x1p-9);
  values.Set(0, 7);
  EXPECT_EQ(LeastSpacing(DType::kFloat8E4M3, values), 0x1p-15);
  EXPECT_EQ(LeastSpacing(DType::kFloat16, values), 0x1p-24);
}

}  // namespace
}  // namespace planproof::runtime_check
