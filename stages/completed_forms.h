// Completes a problem with inferred relations where the files state none.
#ifndef PLANPROOF_STAGES_COMPLETED_FORMS_H_
#define PLANPROOF_STAGES_COMPLETED_FORMS_H_

#include "lineage/lineage.h"
#include "stages/result.h"
#include "stages/run_context.h"

namespace planproof::stages {

// Decides the problem as it is where enough is stated, and otherwise, or where that proves nothing,
// with what inference adds, if so much is to be tried. What is wrong is explained without relations
// that faults look like.
Result DecideCompleted(const lineage::Problem& problem, const RunContext& context, Effort effort,
                       Result known);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_COMPLETED_FORMS_H_
