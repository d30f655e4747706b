// Checks before any value is looked at whether a plan is one, and whether it can run.
#ifndef PLANPROOF_STAGES_PLAN_CHECK_H_
#define PLANPROOF_STAGES_PLAN_CHECK_H_

#include <optional>

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"
#include "stages/schedule/step_order.h"

namespace planproof::stages {

// Adds what is wrong, or what must be assumed of memory, to the result. The order in which the plan
// runs; nothing if the verdict is known without it.
std::optional<StepOrder> CheckPlan(const lineage::Problem& problem, const VerifyOptions& options,
                                   Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_PLAN_CHECK_H_
