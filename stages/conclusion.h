// Draws the conclusion: what a plan is, given everything that was found out about it.
//
// PROVED is what is left when nothing is missing. Evidence says nothing until each of its parts has
// been established, so a step of the verification that is left out, or that was interrupted, costs
// a proof and never makes one.
#ifndef PLANPROOF_STAGES_CONCLUSION_H_
#define PLANPROOF_STAGES_CONCLUSION_H_

#include <functional>
#include <optional>
#include <vector>

#include "stages/claim_outcomes.h"
#include "stages/plan_conditions.h"
#include "stages/premises.h"
#include "stages/verdict.h"

namespace planproof::stages {

struct Evidence {
  // CheckProblem, CheckResidence and CheckSchedule were asked and object to nothing.
  bool well_formed = false;
  // ProofSearch::RequiredProved.
  bool required_proved = false;
  // ConditionsOfPlan, if they were all looked at.
  std::optional<std::vector<OpenCondition>> conditions;
  bool restrictions_accepted = false;  // VerifyOptions::accept_restrictions
  // CollectImplied, if it was asked.
  std::optional<ImpliedPremises> implied;
  // The result lists what is assumed (Result::assumed). Asked only of a problem under assumptions.
  bool assumptions_listed = false;
  // Inputs are known for which the outputs differ.
  bool refuted = false;

  // Whether the plan may have no value where its conditions do not hold. False if they were not all
  // looked at.
  bool ConditionsAcceptable() const;
};

// Whether the declared premises can be met together, seen from their form: each restricts one
// input, and those on one input have a common value. False means "not seen".
bool DeclaredHoldTogether(const lineage::Problem& problem);

// kRefuted, kProved or kUnknown. The outcomes are those of the claims whose proofs are evidence.
// `has_sample` says whether inputs are known for which all premises
// hold; it is asked only if everything else is established and the premises might contradict each
// other.
Verdict Conclude(const lineage::Problem& problem, const ClaimOutcomes& outcomes,
                 const Evidence& evidence, const std::function<bool()>& has_sample);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_CONCLUSION_H_
