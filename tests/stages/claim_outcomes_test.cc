#include "stages/claim_outcomes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace planproof::stages {
namespace {

ClaimOutcome Outcome(ClaimStatus status, const std::string& reason) {
  ClaimOutcome outcome;
  outcome.status = status;
  outcome.reason = reason;
  return outcome;
}

TEST(ClaimOutcomes, AreUndecidedAtFirstAndAfterAReset) {
  ClaimOutcomes outcomes(2);
  EXPECT_EQ(outcomes[1].status, ClaimStatus::kUndecided);
  outcomes.Set({0, 1}, Outcome(ClaimStatus::kProved, ""));
  outcomes.Reset(1);
  EXPECT_EQ(outcomes[0].status, ClaimStatus::kProved);
  EXPECT_EQ(outcomes[1].status, ClaimStatus::kUndecided);
}

TEST(ClaimOutcomes, OneClaimsNewOutcomeLeavesTheOthersOfItsClass) {
  ClaimOutcomes outcomes(4);
  outcomes.Set({0, 2, 3}, Outcome(ClaimStatus::kFailed, "class"));
  const ClaimOutcome& before = outcomes[0];
  outcomes.Set({2}, Outcome(ClaimStatus::kProved, "unfolded"));
  EXPECT_EQ(outcomes[0].reason, "class");
  EXPECT_EQ(outcomes[2].reason, "unfolded");
  EXPECT_EQ(&before, &outcomes[3]);  // one outcome between them, at its place
  const std::vector<ClaimOutcome> each = outcomes.Each();
  ASSERT_EQ(each.size(), 4u);
  EXPECT_EQ(each[1].status, ClaimStatus::kUndecided);
  EXPECT_EQ(each[2].status, ClaimStatus::kProved);
  EXPECT_EQ(each[3].status, ClaimStatus::kFailed);
}

}  // namespace
}  // namespace planproof::stages
