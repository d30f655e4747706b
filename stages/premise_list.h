// Words the premises and conditions under which a verdict holds.
#ifndef PLANPROOF_STAGES_PREMISE_LIST_H_
#define PLANPROOF_STAGES_PREMISE_LIST_H_

#include <optional>
#include <vector>

#include "lineage/lineage.h"
#include "stages/claim_outcomes.h"
#include "stages/plan_conditions.h"
#include "stages/premises.h"
#include "stages/result.h"

namespace planproof::stages {

// The premises of the claims that are proved, those declared and those implied; the conditions of
// the plan that are open. A violation if the premises never hold.
void ListPremises(const lineage::Problem& problem, const ClaimOutcomes& outcomes,
                  const std::vector<OpenCondition>& conditions,
                  const std::optional<ImpliedPremises>& implied, Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_PREMISE_LIST_H_
