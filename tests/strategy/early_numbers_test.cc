// Numbers before long attempts: they tell a wrong plan from a right one, and never decide.
#include "strategy/early_numbers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "stages/cone.h"
#include "strategy/decision.h"
#include "strategy/refutation.h"
#include "strategy/relation_attempts.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::strategy {
namespace {

// y = x + x; the plan adds x and whatever `other` is.
class EarlyNumbersTest : public testing::Test {
 protected:
  void Make(bool wrong) {
    lineage::Problem& problem = small_.problem;
    const sdfg::IndexFunction add = shape_reduction::Instantiate("add", {{4}, {4}});
    const sdfg::TensorId x = small_.Logical("x", {4}), z = small_.Logical("z", {4});
    const sdfg::TensorId y = small_.Apply(&problem.logical, add, {x, x});
    const sdfg::TensorId plan_x = small_.Slice(x, {0}, {4}), plan_z = small_.Slice(z, {0}, {4});
    const sdfg::TensorId plan_y =
        small_.Apply(&problem.parallel, add, {plan_x, wrong ? plan_z : plan_x}, 0);
    small_.Require(plan_y, y, {0});
    small_.Check();
  }
  bool Differs(bool wrong) {
    Make(wrong);
    return NumbersDiffer(small_.problem, options_, &result_);
  }
  // Where all claims are said to have failed.
  bool RefutedThere(bool wrong) {
    Make(wrong);
    const stages::ClaimTable table(small_.problem, stages::ConeOfRequired(small_.problem));
    std::vector<stages::ClaimOutcome> outcomes(table.claims().size());
    for (stages::ClaimOutcome& outcome : outcomes) outcome.status = stages::ClaimStatus::kFailed;
    bool undefined_seen = false;
    return Refute(small_.problem, options_, table, outcomes,
                  std::vector<bool>(outcomes.size(), false), Thoroughness::kQuick, &result_,
                  &undefined_seen);
  }
  stages::Result Decided(bool wrong, Method method) {
    Make(wrong);
    return DecidedWith(method);
  }
  stages::Result DecidedWith(Method method) {
    const stages::OperatorCounts operators;
    const RunContext context{.options = options_,
                             .operators = operators,
                             .start = std::chrono::steady_clock::now(),
                             .well_formed = true};
    return TryRelations(small_.problem, context, method, result_);
  }

  shape_reduction::SmallProblem small_;
  stages::VerifyOptions options_;
  stages::Result result_;
};

TEST_F(EarlyNumbersTest, AWrongPlanDiffers) { EXPECT_TRUE(Differs(true)); }

TEST_F(EarlyNumbersTest, ARightPlanDoesNot) { EXPECT_FALSE(Differs(false)); }

TEST_F(EarlyNumbersTest, WhatTheyTellIsNoVerdict) {
  const stages::Verdict before = result_.verdict;
  EXPECT_TRUE(Differs(true));
  EXPECT_EQ(result_.verdict, before);
  EXPECT_TRUE(result_.violations.empty());
  EXPECT_EQ(result_.witness, nullptr);
}

TEST_F(EarlyNumbersTest, AWrongPlanIsRefutedWhereClaimsFailed) {
  EXPECT_TRUE(RefutedThere(true));
  EXPECT_FALSE(result_.violations.empty());
}

// A claim may fail for want of a better proof.
TEST_F(EarlyNumbersTest, ARightPlanIsNotRefutedThere) {
  EXPECT_FALSE(RefutedThere(false));
  EXPECT_TRUE(result_.violations.empty());
}

TEST_F(EarlyNumbersTest, ClaimsAloneRefuteNothing) {
  const stages::Result result = Decided(true, Method::kClaims);
  EXPECT_EQ(result.verdict, stages::Verdict::kUnknown);
  EXPECT_LT(result.stages.proved, result.stages.total);
  EXPECT_EQ(result.witness, nullptr);
}

TEST_F(EarlyNumbersTest, ClaimsAloneProve) {
  EXPECT_EQ(Decided(false, Method::kClaims).verdict, stages::Verdict::kProved);
}

// (x + x) z / z is x + x wherever it has a value, and where z is zero only the model has one.
TEST_F(EarlyNumbersTest, ClaimsAloneDoNotProveAPlanWithoutAValueSomewhere) {
  for (const Method method : {Method::kClaims, Method::kGlance}) {
    small_ = {};
    lineage::Problem& problem = small_.problem;
    const auto apply = [&](sdfg::Graph* graph, const char* name, sdfg::TensorId a, sdfg::TensorId b,
                           sdfg::Device device) {
      return small_.Apply(graph, shape_reduction::Instantiate(name, {{4}, {4}}), {a, b}, device);
    };
    const sdfg::TensorId x = small_.Logical("x", {4}), z = small_.Logical("z", {4});
    const sdfg::TensorId y = apply(&problem.logical, "add", x, x, -1);
    const sdfg::TensorId plan_x = small_.Slice(x, {0}, {4}), plan_z = small_.Slice(z, {0}, {4});
    const sdfg::TensorId sum = apply(&problem.parallel, "add", plan_x, plan_x, 0);
    const sdfg::TensorId product = apply(&problem.parallel, "mul", sum, plan_z, 0);
    const sdfg::TensorId plan_y = apply(&problem.parallel, "div", product, plan_z, 0);
    small_.Require(plan_y, y, {0});
    small_.Check();
    options_.accept_restrictions = false;
    EXPECT_EQ(DecidedWith(method).verdict, stages::Verdict::kUnknown);
    options_.accept_restrictions = true;  // the values are equal
    EXPECT_EQ(DecidedWith(method).verdict, stages::Verdict::kProved);
  }
}

TEST_F(EarlyNumbersTest, AQuickLookRefutes) {
  EXPECT_EQ(Decided(true, Method::kGlance).verdict, stages::Verdict::kRefuted);
}

TEST_F(EarlyNumbersTest, AQuickLookLeavesARightPlanProved) {
  EXPECT_EQ(Decided(false, Method::kGlance).verdict, stages::Verdict::kProved);
}

// x is claimed to be z, and what is computed from it what the model computes from z: each claim but
// the first holds if the one before does. The output is zero of either, unless it is wrong.
lineage::Problem WithFalseLineage(int length, bool wrong = false) {
  shape_reduction::SmallProblem small;
  lineage::Problem& problem = small.problem;
  const sdfg::IndexFunction add = shape_reduction::Instantiate("add", {{4}, {4}});
  const sdfg::IndexFunction sub = shape_reduction::Instantiate("sub", {{4}, {4}});
  const sdfg::IndexFunction neg = shape_reduction::Instantiate("neg", {{4}});
  const sdfg::TensorId x = small.Logical("x", {4}), z = small.Logical("z", {4});
  sdfg::TensorId model = small.Apply(&problem.logical, neg, {z});
  sdfg::TensorId plan = small.Apply(&problem.parallel, neg, {small.Slice(x, {0}, {4})}, 0);
  small.Claim(plan, model, {0});
  for (int k = 0; k < length; ++k) {
    model = small.Apply(&problem.logical, add, {model, model});
    plan = small.Apply(&problem.parallel, add, {plan, plan}, 0);
    small.Claim(plan, model, {0});
  }
  model = small.Apply(&problem.logical, sub, {model, model});
  plan = small.Apply(&problem.parallel, wrong ? add : sub, {plan, plan}, 0);
  small.Require(plan, model, {0});
  small.Check();
  return problem;
}

// With it, a proof takes more steps than are made before numbers.
TEST(FurtherAttempts, WhereFirstNumbersDoNotDifferAProofComesFirst) {
  const lineage::Problem problem = WithFalseLineage(3);
  const stages::VerifyOptions options;
  const stages::OperatorCounts operators;
  for (const bool looked : {false, true}) {
    for (const Method method : {Method::kRefute, Method::kAll}) {
      const RunContext context{.options = options,
                               .operators = operators,
                               .start = std::chrono::steady_clock::now(),
                               .well_formed = true,
                               .looked = looked};
      const bool proved = looked || method == Method::kAll;
      EXPECT_EQ(Decide(problem, context, method, {}).verdict,
                proved ? stages::Verdict::kProved : stages::Verdict::kUnknown);
      EXPECT_EQ(Decide(WithFalseLineage(3, /*wrong=*/true), context, method, {}).verdict,
                stages::Verdict::kRefuted);
    }
  }
}

// The second search is left out, and what the first one said of it remains.
TEST_F(EarlyNumbersTest, ASearchThatFoundNothingIsNotMadeAgain) {
  Make(true);
  const stages::OperatorCounts operators;
  SearchMade search{.made = true, .warnings = {"of the search"}};
  const RunContext context{.options = options_,
                           .operators = operators,
                           .start = std::chrono::steady_clock::now(),
                           .well_formed = true,
                           .search = &search};
  const stages::Result without = Decide(small_.problem, context, Method::kAll, {});
  EXPECT_EQ(without.verdict, stages::Verdict::kUnknown);
  EXPECT_EQ(without.warnings, search.warnings);
  search = {};
  EXPECT_EQ(Decide(small_.problem, context, Method::kAll, {}).verdict, stages::Verdict::kRefuted);
  EXPECT_FALSE(search.made);
}

TEST(FurtherAttempts, ASearchThatFindsNothingIsRemembered) {
  const lineage::Problem problem = WithFalseLineage(3);
  const stages::VerifyOptions options;
  const stages::OperatorCounts operators;
  SearchMade search;
  const RunContext context{.options = options,
                           .operators = operators,
                           .start = std::chrono::steady_clock::now(),
                           .well_formed = true,
                           .search = &search};
  EXPECT_EQ(Decide(problem, context, Method::kRefute, {}).verdict, stages::Verdict::kUnknown);
  EXPECT_TRUE(search.made);
  EXPECT_EQ(Decide(problem, context, Method::kAll, {}).verdict, stages::Verdict::kProved);
}

}  // namespace
}  // namespace planproof::strategy
