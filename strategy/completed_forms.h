// Completes a problem with inferred relations where the files state none.
#ifndef PLANPROOF_STRATEGY_COMPLETED_FORMS_H_
#define PLANPROOF_STRATEGY_COMPLETED_FORMS_H_

#include "lineage/lineage.h"
#include "stages/result.h"
#include "strategy/run_context.h"

namespace planproof::strategy {

// Decides the problem as it is where enough is stated, and otherwise, or where that proves nothing,
// with what inference adds, if so much is to be tried. What is wrong is explained without relations
// that faults look like.
stages::Result DecideCompleted(const lineage::Problem& problem, const RunContext& context,
                               Effort effort, stages::Result known);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_COMPLETED_FORMS_H_
