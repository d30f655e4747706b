// What is looked at before any value: whether the plan is one, and whether it can run.
#ifndef PLANPROOF_STAGES_PLAN_CHECK_H_
#define PLANPROOF_STAGES_PLAN_CHECK_H_

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::stages {

// Adds what is wrong, or what must be assumed of memory, to the result. False if the verdict is
// known with it.
bool CheckPlan(const lineage::Problem& problem, const VerifyOptions& options, Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_PLAN_CHECK_H_
