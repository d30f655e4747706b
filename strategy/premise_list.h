// Words the premises and conditions under which a verdict holds.
#ifndef PLANPROOF_STRATEGY_PREMISE_LIST_H_
#define PLANPROOF_STRATEGY_PREMISE_LIST_H_

#include <optional>
#include <vector>

#include "lineage/lineage.h"
#include "stages/claim_outcomes.h"
#include "stages/plan_conditions.h"
#include "stages/premises.h"
#include "stages/result.h"

namespace planproof::strategy {

// The premises of the claims that are proved, those declared and those implied; the conditions of
// the plan that are open. A violation if the premises never hold.
void ListPremises(const lineage::Problem& problem, const stages::ClaimOutcomes& outcomes,
                  const std::vector<stages::OpenCondition>& conditions,
                  const std::optional<stages::ImpliedPremises>& implied, stages::Result* result);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_PREMISE_LIST_H_
