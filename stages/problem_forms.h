// Decides a problem in its forms: with its ranks folded, then as it was read.
#ifndef PLANPROOF_STAGES_PROBLEM_FORMS_H_
#define PLANPROOF_STAGES_PROBLEM_FORMS_H_

#include "lineage/lineage.h"
#include "stages/result.h"
#include "stages/run_context.h"

namespace planproof::stages {

// Folding is to save work, never to lose an answer: what it does not prove is decided as it was
// read, and explained in the file's own operators. Only where that would be many times the work is
// a counterexample looked for in the folded form. Before that, what the model computes again is
// taken to be computed once. The result goes on from what is known.
Result DecideForms(const lineage::Problem& read, RunContext context, Result known);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_PROBLEM_FORMS_H_
