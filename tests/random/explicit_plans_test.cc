// A sample of the random plans that spell ranks out (docs/random-suites.md has the counts of
// 2,000).
#include "tests/random/explicit_plans.h"

#include <gtest/gtest.h>

#include <iostream>

namespace planproof::random_tests {
namespace {

TEST(ExplicitPlansTest, FoldedPlansGiveBackEveryInstanceAndHaveTheSameVerdict) {
  FoldSummary summary;
  int refuted = 0, folded = 0;
  for (int k = 0; k < 60; ++k) {
    const ExplicitPlan plan = MakeExplicitPlan(9000 + k, k % 2 == 1);
    const FoldTrial trial = TryExplicitPlan(plan);
    EXPECT_EQ(trial.difference, "") << "seed " << plan.seed << ": " << plan.steps;
    EXPECT_EQ(trial.with, trial.without)
        << "seed " << plan.seed << ", " << plan.ranks << " ranks: " << plan.steps << "; "
        << plan.deviation << ": " << trial.reason;
    if (plan.deviation.empty()) {
      EXPECT_EQ(trial.with, stages::Verdict::kProved)
          << "seed " << plan.seed << ": " << plan.steps << ": " << trial.reason;
    }
    refuted += trial.with == stages::Verdict::kRefuted ? 1 : 0;
    folded += trial.folded ? 1 : 0;
    summary.Add(plan, trial);
  }
  std::cout << summary.Table();
  // Deviations must show, and folding must happen: otherwise nothing is tested.
  EXPECT_GE(refuted, 15);
  EXPECT_GE(folded, 50);
}

}  // namespace
}  // namespace planproof::random_tests
