#include "frontend/torch/rounded_root.h"

#include <gtest/gtest.h>

#include <cmath>

namespace planproof::frontend::torch {
namespace {

using solver::Rational;

TEST(RoundedRoot, OnlyTheNearestDoubleStandsForARoot) {
  for (const int64_t n : {2, 3, 8, 64 * 3, 1'000'003}) {
    const double root = std::sqrt(static_cast<double>(n));
    EXPECT_EQ(RadicandOf(Rational::FromDouble(root)), n);
    EXPECT_EQ(RadicandOf(Rational::FromDouble(std::nextafter(root, 0.0))), std::nullopt) << n;
    EXPECT_EQ(RadicandOf(Rational::FromDouble(std::nextafter(root, 2000.0))), std::nullopt) << n;
  }
}

TEST(RoundedRoot, OtherNumbersStandForThemselves) {
  for (const double value : {0.0, -std::sqrt(2.0), 1.0, 2.0, 16.0, 1.5, 1.4142135, 0.1, 1e300}) {
    EXPECT_EQ(RadicandOf(Rational::FromDouble(value)), std::nullopt) << value;
  }
  // The root of 2 in single precision, and what is no double at all.
  EXPECT_EQ(RadicandOf(Rational::FromDouble(std::sqrt(2.0F))), std::nullopt);
  EXPECT_EQ(RadicandOf(Rational::FromDouble(std::sqrt(2.0)) + Rational(1, int64_t{1} << 60)),
            std::nullopt);
}

}  // namespace
}  // namespace planproof::frontend::torch
