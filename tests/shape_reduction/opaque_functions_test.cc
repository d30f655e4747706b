// What samples and witnesses make of a number without its fraction.
#include "shape_reduction/opaque_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "shape_reduction/domain_interval.h"

namespace planproof::shape_reduction {
namespace {

template <typename D>
int64_t Truncate(const typename D::Value& value, bool enclose) {
  int64_t result = 0;
  std::optional<Choice> choice;
  const std::string name = "truncate_to_int32";
  EvaluateOpaque<D>(ParseOpaqueName(name), name, {}, {value}, {}, 0, enclose, &choice, &result);
  return result;
}

TEST(Truncation, IsTowardsZero) {
  EXPECT_EQ(Truncate<DoubleDomain>(2.75, false), 2);
  EXPECT_EQ(Truncate<DoubleDomain>(-2.75, false), -2);
  EXPECT_EQ(Truncate<IntervalDomain>({2.5, 2.75}, false), 2);
  EXPECT_EQ(Truncate<IntervalDomain>({-0.5, 0.5}, false), 0);
}

TEST(Truncation, OfASumWithRoundingErrorsIsTheWholeNumberOnlyWhereTheseAreNotEnclosed) {
  EXPECT_EQ(Truncate<DoubleDomain>(7.9999999999999, false), 8);
  EXPECT_EQ(Truncate<IntervalDomain>({7.9999999999999, 7.99999999999999}, false), 7);
}

TEST(Truncation, IsNotKnownWhereTheEnclosureDoesNotDecide) {
  EXPECT_EQ(Truncate<IntervalDomain>({7.99, 8}, false), kInvalidInt);
  EXPECT_EQ(Truncate<IntervalDomain>({7.99, 8}, true), kUnknownInt);
  EXPECT_EQ(Truncate<IntervalDomain>({0, 1e300}, true), kInvalidInt);
  EXPECT_EQ(Truncate<IntervalDomain>(IntervalDomain::Invalid(), true), kInvalidInt);
}

template <typename D>
typename D::Value Called(const std::string& name, const std::vector<typename D::Value>& reals) {
  int64_t unused = 0;
  std::optional<Choice> choice;
  return EvaluateOpaque<D>(ParseOpaqueName(name), name, {}, reals, {}, 0, false, &choice, &unused);
}

TEST(PythonSteps, AreThoseOfTheirNames) {
  EXPECT_EQ(Called<DoubleDomain>("python_int", {-2.75}), -2);
  EXPECT_EQ(Called<DoubleDomain>("python_floor", {-2.75}), -3);
  EXPECT_EQ(Called<DoubleDomain>("python_ceil", {2.25}), 3);
  EXPECT_EQ(Called<DoubleDomain>("python_round", {2.5}), 2);
  EXPECT_EQ(Called<DoubleDomain>("python_abs", {-2.5}), 2.5);
  EXPECT_EQ(Called<DoubleDomain>("python_floordiv", {-7, 2}), -4);
  EXPECT_EQ(Called<DoubleDomain>("python_mod", {-7, 3}), 2);
}

// Where an enclosure does not decide, the step lies in it.
TEST(PythonSteps, OfAnEnclosureLieBetweenThoseOfItsBounds) {
  const Interval whole = Called<IntervalDomain>("python_round", {{2.4, 2.6}});
  EXPECT_EQ(whole.lo, 2);
  EXPECT_EQ(whole.hi, 3);
  const Interval rest = Called<IntervalDomain>("python_mod", {{2.75, 3.25}, {3, 3}});
  EXPECT_LE(rest.lo, 0);
  EXPECT_GE(rest.hi, 2.75);
  EXPECT_TRUE(IntervalDomain::IsInvalid(Called<IntervalDomain>("python_mod", {{1, 2}, {-1, 1}})));
  EXPECT_TRUE(
      IntervalDomain::IsInvalid(Called<IntervalDomain>("python_int", {IntervalDomain::NegInf()})));
}

// 3 * (1 / 3) is 1 in doubles, and less than 1 over the reals.
TEST(PythonSteps, ANumberThatPythonMayHaveRoundedOverAStepIsOnBothSides) {
  const double third = 1.0 / 3;
  const double below = std::nextafter(1.0, 0.0);
  const Interval whole = Called<IntervalDomain>("python_int", {{below, below}});
  EXPECT_EQ(whole.lo, 0);
  EXPECT_EQ(whole.hi, 1);
  EXPECT_EQ(3 * third, 1);
  const Interval exact = Called<IntervalDomain>("python_int", {{14, 14}});
  EXPECT_EQ(exact.lo, 14);
  EXPECT_EQ(exact.hi, 14);
}

TEST(PythonSteps, LogarithmsAndRootsAreEnclosed) {
  const Interval log = Called<IntervalDomain>("python_log", {{14, 14}});
  EXPECT_LE(log.lo, std::log(14.0));
  EXPECT_GE(log.hi, std::log(14.0));
  EXPECT_TRUE(IntervalDomain::IsInvalid(Called<IntervalDomain>("python_log", {{-1, -1}})));
  EXPECT_EQ(Called<DoubleDomain>("python_numpy.sqrt", {2.25}), 1.5);
}

TEST(PythonSteps, OthersHaveNoMeaningInEnclosures) {
  EXPECT_TRUE(IntervalDomain::IsInvalid(Called<IntervalDomain>("python_mystery", {{1, 1}})));
}

template <typename D>
double BitsOf(const typename D::Value& value) {
  const typename D::Value read = Called<D>("bits(of=bfloat16,as=float16)", {value});
  return D::IsInvalid(read) ? std::nan("") : D::Lower(read);
}

TEST(BitsReadAnew, AreThoseOfANumberOfTheType) {
  EXPECT_EQ(BitsOf<IntervalDomain>({3, 3}), 2.125);
  EXPECT_EQ(BitsOf<DoubleDomain>(3), 2.125);
}

// What lies between two numbers of the type, or is not known, is none of them: rounding there would
// tell a right program from its reference.
TEST(BitsReadAnew, AreNotDefinedElsewhere) {
  EXPECT_TRUE(std::isnan(BitsOf<IntervalDomain>({3.001, 3.001})));
  EXPECT_TRUE(std::isnan(BitsOf<IntervalDomain>({3, 3.0000000001})));
  EXPECT_TRUE(std::isnan(BitsOf<IntervalDomain>(IntervalDomain::Invalid())));
  EXPECT_TRUE(std::isnan(BitsOf<DoubleDomain>(1e300)));
}

}  // namespace
}  // namespace planproof::shape_reduction
