// A sample of the random small plans (docs/random-suites.md has the counts of 500).
#include "tests/random/random_plans.h"

#include <gtest/gtest.h>

namespace planproof::random_tests {
namespace {

TEST(RandomPlansTest, VerdictsAgreeWithFullEvaluation) {
  PlanSummary summary;
  for (int k = 0; k < 60; ++k) {
    const RandomPlan plan = MakeRandomPlan(5000 + k, k % 2 == 1);
    EXPECT_GE(plan.longest_interval, 9);
    const PlanTrial trial = TryRandomPlan(plan, 20);
    ASSERT_TRUE(trial.evaluated) << plan.seed << " " << trial.difference;
    EXPECT_FALSE(trial.FalseProof())
        << "seed " << plan.seed << ": " << plan.steps << "; " << plan.fault << trial.difference;
    EXPECT_FALSE(trial.FalseRefutation())
        << "seed " << plan.seed << ": " << plan.steps << "; " << plan.fault << trial.reason;
    if (plan.fault.empty()) {
      EXPECT_EQ(trial.verdict, stages::Verdict::kProved)
          << "seed " << plan.seed << ": " << plan.steps << ": " << trial.reason;
    }
    summary.Add(plan, trial);
  }
  std::cout << summary.Table();
  // The faults must show: a generator of harmless ones tests nothing.
  int different = 0;
  for (const auto& [name, number] : summary.counts) {
    different += name.rfind("different", 0) == 0 ? number : 0;
  }
  EXPECT_GE(different, 20) << summary.Table();
}

TEST(RandomPlansTest, TheSameSeedMakesTheSamePlan) {
  const RandomPlan a = MakeRandomPlan(77, true), b = MakeRandomPlan(77, true);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.fault, b.fault);
  ASSERT_EQ(a.problem.parallel.operators.size(), b.problem.parallel.operators.size());
  for (size_t o = 0; o < a.problem.parallel.operators.size(); ++o) {
    EXPECT_EQ(a.problem.parallel.operators[o].function->Serialize(),
              b.problem.parallel.operators[o].function->Serialize());
  }
}

}  // namespace
}  // namespace planproof::random_tests
