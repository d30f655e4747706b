// When a difference between recorded numbers is more than rounding.
#include "anchor/expected_rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace planproof::anchor {
namespace {

using sdfg::DType;

TEST(ExpectedRounding, DifferencesOfTheTypesSpacingAreRounding) {
  RoundingMeasure single(DType::kFloat32), brain(DType::kBFloat16), twice(DType::kFloat64);
  for (int i = 0; i < 100; ++i) {
    single.Add(i, 1 + 0x1p-23, 1, 0);
    brain.Add(i, 1 + 0x1p-7, 1, 0);
    twice.Add(i, 1 + 0x1p-52, 1, 0);
  }
  EXPECT_FALSE(single.differs());
  EXPECT_FALSE(brain.differs());
  EXPECT_FALSE(twice.differs());
}

TEST(ExpectedRounding, ADifferenceThatOneTypeExplainsAnotherDoesNot) {
  RoundingMeasure brain(DType::kBFloat16), single(DType::kFloat32);
  for (int i = 0; i < 100; ++i) {
    brain.Add(i, 1.005, 1, 0);
    single.Add(i, 1.005, 1, 0);
  }
  EXPECT_FALSE(brain.differs());
  EXPECT_TRUE(single.differs());
  EXPECT_NEAR(single.error(), 0.005, 1e-9);
}

TEST(ExpectedRounding, OneWrongElementAmongManyDiffers) {
  RoundingMeasure measure(DType::kFloat32);
  for (int i = 0; i < 10000; ++i) measure.Add(i, i == 77 ? 1.01 : 1, 1, 0);
  EXPECT_TRUE(measure.differs());
  EXPECT_EQ(measure.position(), 77);
  EXPECT_EQ(measure.value(), 1.01);
  EXPECT_EQ(measure.expected(), 1);
}

// The gradient of a key's bias is zero, and an optimizer makes a whole step of its rounding.
TEST(ExpectedRounding, WhatPerturbedRunsChangeIsExpected) {
  RoundingMeasure noise(DType::kFloat32), signal(DType::kFloat32);
  for (int i = 0; i < 16; ++i) {
    noise.Add(i, i % 2 == 0 ? 1e-3 : -1e-3, i % 3 == 0 ? 1e-3 : -1e-3, 1e-6);
    signal.Add(i, i % 2 == 0 ? 1e-3 : -1e-3, i % 3 == 0 ? 1e-3 : -1e-3, 1e-18);
  }
  EXPECT_FALSE(noise.differs());
  EXPECT_TRUE(noise.blind());
  EXPECT_TRUE(signal.differs());
}

TEST(ExpectedRounding, ZerosHaveNoRounding) {
  RoundingMeasure measure(DType::kFloat32);
  measure.Add(0, 1e-12, 0, 0);
  EXPECT_TRUE(measure.differs());
}

TEST(ExpectedRounding, WholeNumbersAreNotRounded) {
  RoundingMeasure measure(DType::kInt64);
  measure.Add(0, 1e12 + 1, 1e12, 0);
  EXPECT_TRUE(measure.differs());
}

TEST(ExpectedRounding, WhatIsNoNumberIsEqualToItselfOnly) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  RoundingMeasure same(DType::kFloat32), other(DType::kFloat32), missing(DType::kFloat32);
  same.Add(0, std::nan(""), std::nan(""), 0);
  same.Add(1, -kInfinity, -kInfinity, 0);
  EXPECT_FALSE(same.differs());
  other.Add(0, kInfinity, -kInfinity, 1e30);
  EXPECT_TRUE(other.differs());
  missing.Add(3, 1, std::nan(""), 1e30);
  EXPECT_TRUE(missing.differs());
  EXPECT_EQ(missing.position(), 3);
}

TEST(ExpectedRounding, NumbersAreWrittenWithAsManyDigitsAsTellThemApart) {
  EXPECT_EQ(NumberText(0.25, 0.5), "0.25");
  EXPECT_EQ(NumberText(1.00000001, 1), "1.00000001");
  EXPECT_NE(NumberText(1 + 0x1p-52, 1), NumberText(1, 1 + 0x1p-52));
}

}  // namespace
}  // namespace planproof::anchor
