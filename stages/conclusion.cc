#include "stages/conclusion.h"

#include <algorithm>
#include <utility>

namespace planproof::stages {
namespace {

// Premises might contradict each other: then everything would follow from them.
bool NeedsSample(const lineage::Problem& problem, const ClaimOutcomes& outcomes,
                 const Evidence& evidence) {
  if (!evidence.conditions->empty() || !DeclaredHoldTogether(problem)) return true;
  // What could not be listed might clash with the rest.
  if (evidence.implied->need_sample || !evidence.implied->complete) return true;
  for (size_t c = 0; c < outcomes.size(); ++c) {
    const ClaimOutcome& o = outcomes[c];
    if (o.status == ClaimStatus::kProved && !o.premises.empty()) return true;
  }
  return false;
}

}  // namespace

std::vector<OpenCondition> ConditionsOfPlan(const lineage::Problem& problem, bool discharge,
                                            ProofSearch* search, Relations* relations) {
  std::vector<OpenCondition> open;
  if (const std::vector<int> restricted = search->Restricted(); !restricted.empty()) {
    if (discharge) search->Discharge(restricted);
    for (const int c : search->Restricted()) {
      for (const Condition& condition : search->outcomes()[c].restrictions)
        open.push_back({.claim = c, .condition = condition});
    }
  }
  for (OpenCondition& condition : OpenConditions(problem, search->Limits(), relations))
    open.push_back(std::move(condition));
  return open;
}

bool Acceptable(const std::vector<OpenCondition>& conditions, bool restrictions_accepted) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const OpenCondition& open) {
    return restrictions_accepted && !open.condition.never;
  });
}

Verdict Conclude(const lineage::Problem& problem, const ClaimOutcomes& outcomes,
                 const Evidence& evidence, const std::function<bool()>& has_sample) {
  if (evidence.refuted) return Verdict::kRefuted;
  if (!evidence.well_formed || problem.required.empty()) return Verdict::kUnknown;
  if (!evidence.required_proved) return Verdict::kUnknown;
  if (!evidence.conditions.has_value() ||
      !Acceptable(*evidence.conditions, evidence.restrictions_accepted)) {
    return Verdict::kUnknown;
  }
  if (!evidence.implied.has_value() || evidence.implied->unsatisfiable) return Verdict::kUnknown;
  if (NeedsSample(problem, outcomes, evidence) && !has_sample()) return Verdict::kUnknown;
  return Verdict::kProved;
}

}  // namespace planproof::stages
