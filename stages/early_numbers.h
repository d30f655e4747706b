// Asks, before long attempts to prove a plan, whether numbers already tell that it is wrong.
#ifndef PLANPROOF_STAGES_EARLY_NUMBERS_H_
#define PLANPROOF_STAGES_EARLY_NUMBERS_H_

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::stages {

// A few inputs, in a worker, within seconds: on one of them a required output has another value.
// What is made of that only saves work: a verdict needs a counterexample of its own (refutation.h).
bool NumbersDiffer(const lineage::Problem& problem, const VerifyOptions& options, Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_EARLY_NUMBERS_H_
