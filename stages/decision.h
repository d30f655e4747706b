// Decides one form of the problem: claims are proved, or numbers are found against them.
#ifndef PLANPROOF_STAGES_DECISION_H_
#define PLANPROOF_STAGES_DECISION_H_

#include "lineage/lineage.h"
#include "stages/result.h"
#include "stages/run_context.h"

namespace planproof::stages {

// `form` is well-formed, and says what the problem that was read says. The result goes on from what
// is known.
Result Decide(const lineage::Problem& form, const RunContext& context, Effort effort, Result known);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DECISION_H_
