// PROVED needs everything: whatever is missing makes it UNKNOWN.
#include "stages/conclusion.h"

#include <gtest/gtest.h>

#include "tests/shape_reduction/small_problem.h"

namespace planproof::stages {
namespace {

// Everything that a proof takes, for a plan that hands its input on.
class ConclusionTest : public testing::Test {
 protected:
  ConclusionTest() : outcomes_(1) {
    const sdfg::TensorId x = small_.Logical("x", {4});
    const sdfg::TensorId plan_x = small_.Slice(x, {0}, {4});
    small_.Require(plan_x, x, {0});
    outcomes_.Set({0}, Proved());
    evidence_.well_formed = true;
    evidence_.required_proved = true;
    evidence_.conditions.emplace();
    evidence_.implied.emplace();
  }

  static ClaimOutcome Proved() {
    ClaimOutcome outcome;
    outcome.status = ClaimStatus::kProved;
    return outcome;
  }

  Verdict Answer(bool sample = false) {
    asked_ = false;
    return Conclude(small_.problem, outcomes_, evidence_, [&] {
      asked_ = true;
      return sample;
    });
  }

  void ExpectNeedsSample() {
    EXPECT_EQ(Answer(false), Verdict::kUnknown);
    EXPECT_TRUE(asked_);
    EXPECT_EQ(Answer(true), Verdict::kProved);
  }

  shape_reduction::SmallProblem small_;
  ClaimOutcomes outcomes_;
  Evidence evidence_;
  bool asked_ = false;
};

TEST_F(ConclusionTest, AllOfItIsAProof) {
  EXPECT_EQ(Answer(), Verdict::kProved);
  EXPECT_FALSE(asked_) << "there are no premises that could contradict each other";
}

TEST_F(ConclusionTest, NothingIsNoProof) {
  evidence_ = Evidence();
  EXPECT_EQ(Answer(true), Verdict::kUnknown);
}

TEST_F(ConclusionTest, APlanThatWasNotCheckedIsNotProved) {
  evidence_.well_formed = false;
  EXPECT_EQ(Answer(true), Verdict::kUnknown);
}

TEST_F(ConclusionTest, WhatIsAssumedIsListedOrNothingIsProved) {
  small_.problem.lineage[0].provenance = lineage::Provenance::kAssumed;
  EXPECT_EQ(Answer(true), Verdict::kUnknown);
  evidence_.assumptions_listed = true;
  EXPECT_EQ(Answer(true), Verdict::kProved);
}

TEST_F(ConclusionTest, WhereNothingIsRequiredNothingIsProved) {
  small_.problem.required.clear();
  EXPECT_EQ(Answer(true), Verdict::kUnknown);
}

TEST_F(ConclusionTest, ARequiredOutputThatIsNotProvedIsNoProof) {
  evidence_.required_proved = false;
  EXPECT_EQ(Answer(true), Verdict::kUnknown);
}

TEST_F(ConclusionTest, ConditionsThatWereNotLookedAtAreNoProof) {
  evidence_.conditions.reset();
  evidence_.restrictions_accepted = true;
  EXPECT_EQ(Answer(true), Verdict::kUnknown);
}

TEST_F(ConclusionTest, AnOpenConditionIsAProofOnlyIfRestrictionsAreAccepted) {
  evidence_.conditions->emplace_back();
  EXPECT_EQ(Answer(true), Verdict::kUnknown);
  evidence_.restrictions_accepted = true;
  ExpectNeedsSample();
  evidence_.conditions->emplace_back().condition.never = true;
  EXPECT_EQ(Answer(true), Verdict::kUnknown) << "a plan that never has a value";
}

TEST_F(ConclusionTest, PremisesThatWereNotCollectedOrNeverHoldAreNoProof) {
  evidence_.implied.reset();
  EXPECT_EQ(Answer(true), Verdict::kUnknown);
  evidence_.implied.emplace();
  evidence_.implied->unsatisfiable = true;
  EXPECT_EQ(Answer(true), Verdict::kUnknown);
}

TEST_F(ConclusionTest, PremisesOfAProofNeedASample) {
  ClaimOutcome outcome = Proved();
  outcome.premises.emplace_back();
  outcomes_.Set({0}, outcome);
  ExpectNeedsSample();
}

TEST_F(ConclusionTest, PremisesOfClaimsThatAreNotProvedArePremisesOfNothing) {
  ClaimOutcome outcome;
  outcome.status = ClaimStatus::kFailed;
  outcome.premises.emplace_back();
  outcomes_.Set({0}, outcome);
  EXPECT_EQ(Answer(), Verdict::kProved) << "whether what is required rests on it is said elsewhere";
}

TEST_F(ConclusionTest, ImpliedPremisesThatMayClashNeedASample) {
  evidence_.implied->need_sample = true;
  ExpectNeedsSample();
  evidence_.implied->need_sample = false;
  evidence_.implied->complete = false;
  ExpectNeedsSample();
}

TEST_F(ConclusionTest, DeclaredPremisesThatMayClashNeedASample) {
  small_.problem.premises = {
      {.tensor = 0, .kind = lineage::Problem::InputPremise::Kind::kRowUnmasked}};
  ExpectNeedsSample();
}

TEST_F(ConclusionTest, WhatIsRefutedIsNotProved) {
  evidence_.refuted = true;
  EXPECT_EQ(Answer(true), Verdict::kRefuted);
}

}  // namespace
}  // namespace planproof::stages
