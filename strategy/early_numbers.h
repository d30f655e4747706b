// Asks, before long attempts to prove a plan, whether numbers already tell that it is wrong.
#ifndef PLANPROOF_STRATEGY_EARLY_NUMBERS_H_
#define PLANPROOF_STRATEGY_EARLY_NUMBERS_H_

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::strategy {

// A few inputs, in a worker, within seconds: on one of them a required output has another value.
// What is made of that only saves work: a verdict needs a counterexample of its own (refutation.h).
bool NumbersDiffer(const lineage::Problem& problem, const stages::VerifyOptions& options,
                   stages::Result* result);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_EARLY_NUMBERS_H_
