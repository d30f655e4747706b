// Numbers before long attempts: they tell a wrong plan from a right one, and never decide.
#include "stages/early_numbers.h"

#include <gtest/gtest.h>

#include "tests/shape_reduction/small_problem.h"

namespace planproof::stages {
namespace {

// y = x + x; the plan adds x and whatever `other` is.
class EarlyNumbersTest : public testing::Test {
 protected:
  bool Differs(bool wrong) {
    lineage::Problem& problem = small_.problem;
    const sdfg::IndexFunction add = shape_reduction::Instantiate("add", {{4}, {4}});
    const sdfg::TensorId x = small_.Logical("x", {4}), z = small_.Logical("z", {4});
    const sdfg::TensorId y = small_.Apply(&problem.logical, add, {x, x});
    const sdfg::TensorId plan_x = small_.Slice(x, {0}, {4}), plan_z = small_.Slice(z, {0}, {4});
    const sdfg::TensorId plan_y =
        small_.Apply(&problem.parallel, add, {plan_x, wrong ? plan_z : plan_x}, 0);
    small_.Require(plan_y, y, {0});
    small_.Check();
    return NumbersDiffer(problem, options_, &result_);
  }

  shape_reduction::SmallProblem small_;
  VerifyOptions options_;
  Result result_;
};

TEST_F(EarlyNumbersTest, AWrongPlanDiffers) { EXPECT_TRUE(Differs(true)); }

TEST_F(EarlyNumbersTest, ARightPlanDoesNot) { EXPECT_FALSE(Differs(false)); }

TEST_F(EarlyNumbersTest, WhatTheyTellIsNoVerdict) {
  const Verdict before = result_.verdict;
  EXPECT_TRUE(Differs(true));
  EXPECT_EQ(result_.verdict, before);
  EXPECT_TRUE(result_.violations.empty());
  EXPECT_EQ(result_.witness, nullptr);
}

}  // namespace
}  // namespace planproof::stages
