// Decides one form of the problem: claims are proved, or numbers are found against them.
#ifndef PLANPROOF_STRATEGY_DECISION_H_
#define PLANPROOF_STRATEGY_DECISION_H_

#include "lineage/lineage.h"
#include "stages/result.h"
#include "strategy/run_context.h"

namespace planproof::strategy {

// `form` is well-formed, and says what the problem that was read says. The result goes on from what
// is known.
stages::Result Decide(const lineage::Problem& form, const RunContext& context, Method method,
                      stages::Result known);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_DECISION_H_
