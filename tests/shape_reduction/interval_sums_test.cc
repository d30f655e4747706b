// Sums that are rounded upward enclose the exact sums, as tightly as step by step.
#include "shape_reduction/interval_sums.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "solver/rational.h"

namespace planproof::shape_reduction {
namespace {

using solver::Rational;

std::vector<Interval> SumsOf(int64_t count, int64_t n, int64_t sum_step,
                             const std::vector<Interval>& x, int64_t x_step,
                             const std::vector<Interval>& y, int64_t y_step, bool* bounded) {
  std::vector<OutwardSum> sums(count);
  {
    const UpwardRounding upward;
    AddProducts(n, sums.data(), sum_step, x.data(), x_step, y.data(), y_step);
  }
  std::vector<Interval> intervals;
  *bounded = ToIntervals(sums, &intervals);
  return intervals;
}

// Of few bits, so that exact sums fit rationals: a third of them points.
Interval Random(std::mt19937_64* random) {
  const auto number = [&] {
    const int64_t mantissa = static_cast<int64_t>((*random)() >> 1 & ((int64_t{1} << 40) - 1));
    return std::ldexp(static_cast<double>(mantissa - (int64_t{1} << 39)),
                      -39 - static_cast<int>((*random)() % 12));
  };
  const double a = number(), b = (*random)() % 3 == 0 ? a : number();
  return {std::fmin(a, b), std::fmax(a, b)};
}

TEST(IntervalSums, EncloseTheExactSumsAndAreNoWiderThanStepByStep) {
  std::mt19937_64 random(20261125);
  for (int round = 0; round < 300; ++round) {
    const int64_t n = 1 + static_cast<int64_t>(random() % 9);
    const int64_t x_step = 1 + static_cast<int64_t>(random() % 2);
    const int64_t y_step = static_cast<int64_t>(random() % 3);
    std::vector<Interval> x, y;
    for (int64_t k = 0; k < 2 * n; ++k) {
      x.push_back(Random(&random));
      y.push_back(Random(&random));
    }
    bool bounded = false;
    const Interval sum = SumsOf(1, n, 0, x, x_step, y, y_step, &bounded)[0];
    ASSERT_TRUE(bounded);
    const std::vector<Interval> each = SumsOf(n, n, 1, x, x_step, y, y_step, &bounded);
    Interval stepwise = {0, 0};
    Rational low, high;
    for (int64_t k = 0; k < n; ++k) {
      const Interval a = x[k * x_step], b = y[k * y_step];
      stepwise = IntervalDomain::Add(stepwise, IntervalDomain::Mul(a, b));
      Rational least, most;
      bool first = true;
      for (const double s : {a.lo, a.hi}) {
        for (const double t : {b.lo, b.hi}) {
          const Rational product = Rational::FromDouble(s) * Rational::FromDouble(t);
          least = first || product < least ? product : least;
          most = first || most < product ? product : most;
          first = false;
        }
      }
      EXPECT_FALSE(least < Rational::FromDouble(each[k].lo));
      EXPECT_FALSE(Rational::FromDouble(each[k].hi) < most);
      low = low + least;
      high = high + most;
    }
    EXPECT_FALSE(low < Rational::FromDouble(sum.lo));
    EXPECT_FALSE(Rational::FromDouble(sum.hi) < high);
    EXPECT_GE(sum.lo, stepwise.lo);
    EXPECT_LE(sum.hi, stepwise.hi);
  }
}

// Where nothing is rounded, the interval is a point; 1/3 of it is not.
TEST(IntervalSums, AreExactWhereNothingIsRounded) {
  const std::vector<Interval> x = {{0.5, 0.5}, {-3, -3}, {0, 0}}, y = {{4, 4}, {2, 2}, {7, 7}};
  bool bounded = false;
  const Interval exact = SumsOf(1, 3, 0, x, 1, y, 1, &bounded)[0];
  EXPECT_EQ(exact.lo, -4);
  EXPECT_EQ(exact.hi, -4);
  const std::vector<Interval> third = {{1.0 / 3, 1.0 / 3}};
  const Interval rounded = SumsOf(1, 1, 0, third, 1, third, 1, &bounded)[0];
  EXPECT_EQ(std::nextafter(rounded.lo, 1), rounded.hi);
  const Interval zero = SumsOf(1, 1, 0, {{0, 0}}, 1, {{-1, -1}}, 1, &bounded)[0];
  EXPECT_FALSE(std::signbit(zero.lo) || std::signbit(zero.hi));
}

TEST(IntervalSums, LeaveTheRoundingAsItWas) {
  const int before = std::fegetround();
  bool bounded = false;
  SumsOf(1, 1, 0, {{1, 1}}, 1, {{1, 1}}, 1, &bounded);
  EXPECT_EQ(std::fegetround(), before);
}

TEST(IntervalSums, SayThatASumIsOutOfRange) {
  constexpr double kMost = std::numeric_limits<double>::max();
  bool bounded = true;
  SumsOf(1, 1, 0, {{-kMost, -kMost}}, 1, {{2, 2}}, 1, &bounded);
  EXPECT_FALSE(bounded);
  EXPECT_FALSE(AllBounded({{0, 1}, {0, std::numeric_limits<double>::infinity()}}));
  EXPECT_FALSE(AllBounded({IntervalDomain::Invalid()}));
}

}  // namespace
}  // namespace planproof::shape_reduction
