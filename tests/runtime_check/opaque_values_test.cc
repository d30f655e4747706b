#include "runtime_check/opaque_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace planproof::runtime_check {
namespace {

double Chosen(const std::string& name, const std::vector<double>& row, double position) {
  return OpaqueValue(OpaqueNamed(name), true, row, {position});
}

TEST(OpaqueValues, TheLargestComeFirstAndTiesGoToTheSmallerIndex) {
  const std::vector<double> row = {1, 5, 3, 5, 4};
  EXPECT_EQ(Chosen("topk_index(k=3)", row, 0), 1);
  EXPECT_EQ(Chosen("topk_index(k=3)", row, 1), 3);
  EXPECT_EQ(Chosen("topk_index(k=3)", row, 2), 4);
  EXPECT_EQ(Chosen("topk_index(k=3)", row, 3), -1) << "there is no fourth";
}

TEST(OpaqueValues, GroupsAreChosenFirst) {
  // Groups {0, 1}, {2, 3}, {4, 5}: by their best the second, by the sum of two the third.
  const std::vector<double> row = {1, 2, 9, 0, 5, 6};
  EXPECT_EQ(Chosen("topk_index(k=2,groups=3,topk_groups=1,group_score=max)", row, 0), 2);
  EXPECT_EQ(Chosen("topk_index(k=2,groups=3,topk_groups=1,group_score=max)", row, 1), 3);
  EXPECT_EQ(Chosen("topk_index(k=2,groups=3,topk_groups=1,group_score=top2_sum)", row, 0), 5);
  EXPECT_EQ(Chosen("topk_index(k=2,groups=3,topk_groups=1,group_score=top2_sum)", row, 1), 4);
}

TEST(OpaqueValues, NotANumberIsNeverBetter) {
  EXPECT_EQ(Chosen("topk_index(k=1)", {std::nan(""), -7, std::nan("")}, 0), 1);
}

TEST(OpaqueValues, APlaceThatIsNoneHasNothing) {
  EXPECT_EQ(Chosen("topk_index(k=-1)", {3, 1}, 0), -1);
  EXPECT_EQ(Chosen("topk_index(k=1)", {3, 1}, -1), -1);
  EXPECT_EQ(Chosen("topk_index(k=1)", {3, 1}, std::nan("")), -1);
}

TEST(OpaqueValues, TruncationAndTheConstantHaveTheirValues) {
  EXPECT_EQ(OpaqueValue(OpaqueNamed("truncate_to_int64"), true, {}, {-2.7}), -2);
  EXPECT_NEAR(OpaqueValue(OpaqueNamed("two_over_sqrt_pi"), false, {}, {}), 2 / std::sqrt(M_PI),
              1e-15);
}

TEST(OpaqueValues, WhatPythonMakesOfNumbersHasItsValue) {
  const auto given = [](const char* name, const std::vector<double>& numbers) {
    return OpaqueValue(OpaqueNamed(name), false, {}, numbers);
  };
  EXPECT_EQ(given("python_int", {-2.7}), -2);
  EXPECT_EQ(given("python_floor", {-2.7}), -3);
  EXPECT_EQ(given("python_ceil", {2.1}), 3);
  EXPECT_EQ(given("python_round", {2.5}), 2);
  EXPECT_EQ(given("python_abs", {-2.5}), 2.5);
  EXPECT_EQ(given("python_floordiv", {-7, 2}), -4);
  EXPECT_EQ(given("python_mod", {-7, 3}), 2);
}

TEST(OpaqueValues, UnknownFunctionsAreSmoothAndTellArgumentsApart) {
  const OpaqueFunction f = OpaqueNamed("mystery(a=1)");
  const double value = OpaqueValue(f, false, {1, 2}, {3});
  EXPECT_EQ(OpaqueValue(f, false, {1, 2}, {3}), value);
  EXPECT_NEAR(OpaqueValue(f, false, {1 + 1e-12, 2}, {3}), value, 1e-11);
  const std::set<double> different = {value, OpaqueValue(f, false, {2, 1}, {3}),
                                      OpaqueValue(f, false, {1, 2}, {4}),
                                      OpaqueValue(OpaqueNamed("mystery(a=2)"), false, {1, 2}, {3})};
  EXPECT_EQ(different.size(), 4u);
  for (const double v : different) EXPECT_TRUE(v > 0 && v < 1);
  const double index = OpaqueValue(f, true, {1, 2, 3}, {});
  EXPECT_TRUE(index == 0 || index == 1 || index == 2);
}

}  // namespace
}  // namespace planproof::runtime_check
