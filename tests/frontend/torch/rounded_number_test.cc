#include "frontend/torch/rounded_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace planproof::frontend::torch {
namespace {

using solver::Rational;

TEST(RoundedNumber, OnlyTheNearestDoubleStandsForARoot) {
  for (const int64_t n : {2, 3, 8, 64 * 3, 1'000'003}) {
    const double root = std::sqrt(static_cast<double>(n));
    EXPECT_EQ(RadicandOf(Rational::FromDouble(root)), n);
    EXPECT_EQ(RadicandOf(Rational::FromDouble(std::nextafter(root, 0.0))), std::nullopt) << n;
    EXPECT_EQ(RadicandOf(Rational::FromDouble(std::nextafter(root, 2000.0))), std::nullopt) << n;
  }
}

TEST(RoundedNumber, OtherNumbersStandForThemselves) {
  for (const double value : {0.0, -std::sqrt(2.0), 1.0, 2.0, 16.0, 1.5, 1.4142135, 0.1, 1e300}) {
    EXPECT_EQ(RadicandOf(Rational::FromDouble(value)), std::nullopt) << value;
  }
  // The root of 2 in single precision, and what is no double at all.
  EXPECT_EQ(RadicandOf(Rational::FromDouble(std::sqrt(2.0F))), std::nullopt);
  EXPECT_EQ(RadicandOf(Rational::FromDouble(std::sqrt(2.0)) + Rational(1, int64_t{1} << 60)),
            std::nullopt);
}

TEST(RoundedNumber, OnlyTheNearestDoubleStandsForAQuotient) {
  for (const auto& [p, q] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 3}, {1, 6}, {2, 7}, {-8, 7}, {1, 96}, {1024, 1'048'575}, {1, 1'000'003}}) {
    const double quotient = static_cast<double>(p) / static_cast<double>(q);
    const double below = std::nextafter(quotient, -2.0), above = std::nextafter(quotient, 2.0);
    EXPECT_EQ(QuotientOf(Rational::FromDouble(quotient)), Rational(p, q));
    EXPECT_EQ(QuotientOf(Rational::FromDouble(below)), std::nullopt) << p << " / " << q;
    EXPECT_EQ(QuotientOf(Rational::FromDouble(above)), std::nullopt) << p << " / " << q;
  }
}

// 1 / 1000 is a learning rate, too; a third in single precision is no third.
TEST(RoundedNumber, OtherNumbersAreNoQuotients) {
  for (const double value : {0.0, 1.0, 3.0, -0.5, 0.125, 0.1, 0.001, 1e-30, 1e30, 1025.0 / 7,
                             1.0 / 1'048'577, std::sqrt(2.0), 1e-5 / 3}) {
    EXPECT_EQ(QuotientOf(Rational::FromDouble(value)), std::nullopt) << value;
  }
  EXPECT_EQ(QuotientOf(Rational::FromDouble(1.0F / 3.0F)), std::nullopt);
  EXPECT_EQ(QuotientOf(Rational(1, 3)), std::nullopt);
}

// The limits keep quotients rare among doubles: none of these, which mean nothing, is one.
TEST(RoundedNumber, ANumberIsNoQuotientByChance) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-14, 10);
  for (int k = 0; k < 20'000; ++k) {
    const double number = std::exp2(exponent(random));
    EXPECT_EQ(QuotientOf(Rational::FromDouble(number)), std::nullopt) << number;
  }
}

TEST(RoundedNumber, OnlyTheNearestDoubleStandsForADecimal) {
  EXPECT_EQ(DecimalOf(Rational::FromDouble(-0.8)), Rational(-4, 5));
  EXPECT_EQ(DecimalOf(Rational::FromDouble(0.999999)), Rational(999'999, 1'000'000));
  for (const double value : {std::nextafter(-0.8, 0.0), 0.9999999, 0.5, -2.0, 0.0, 1.0 / 3}) {
    EXPECT_EQ(DecimalOf(Rational::FromDouble(value)), std::nullopt) << value;
  }
  EXPECT_EQ(DecimalOf(Rational(1, 10)), std::nullopt);
}

TEST(RoundedNumber, ADecimalLessOneStandsForItself) {
  EXPECT_EQ(DecimalOf(Rational::FromDouble(0.7 - 1)), std::nullopt);
  EXPECT_EQ(DecimalLessOneOf(Rational::FromDouble(0.7 - 1)), Rational(-3, 10));
  EXPECT_EQ(DecimalLessOneOf(Rational::FromDouble(1.3 - 1)), Rational(3, 10));
  for (const double value : {std::nextafter(0.7 - 1, 0.0), std::nextafter(0.7 - 1, -1.0), 0.5 - 1,
                             0.0, 0.1234567 - 1, 1e300}) {
    EXPECT_EQ(DecimalLessOneOf(Rational::FromDouble(value)), std::nullopt) << value;
  }
  EXPECT_EQ(DecimalLessOneOf(Rational(-3, 10)), std::nullopt);
}

TEST(RoundedNumber, SinglePrecisionStandsForTheDecimalThatItRounds) {
  for (const double decimal : {0.1, -0.3, 1e-8, 0.999, 123.457, 3.4e38}) {
    const Rational single = Rational::FromDouble(static_cast<float>(decimal));
    EXPECT_EQ(DecimalOfFloat32(single), decimal);
    const float next = std::nextafter(static_cast<float>(decimal), 0.0F);
    EXPECT_EQ(DecimalOfFloat32(Rational::FromDouble(next)), std::nullopt) << decimal;
  }
}

TEST(RoundedNumber, NumbersThatSinglePrecisionHasStandForThemselves) {
  for (const double value : {0.0, 1.0, 0.5, -2.0, 16777216.0, 0.1, 1e-40, 1e300}) {
    EXPECT_EQ(DecimalOfFloat32(Rational::FromDouble(value)), std::nullopt) << value;
  }
  EXPECT_EQ(DecimalOfFloat32(Rational::FromDouble(1.23456789F)), std::nullopt);
  EXPECT_EQ(DecimalOfFloat32(Rational(1, 10)), std::nullopt);
}

}  // namespace
}  // namespace planproof::frontend::torch
