// Tries further where claims fail: to prove without the lineages that do not hold, to refute.
#ifndef PLANPROOF_STAGES_FURTHER_ATTEMPTS_H_
#define PLANPROOF_STAGES_FURTHER_ATTEMPTS_H_

#include "lineage/lineage.h"
#include "stages/claim_table.h"
#include "stages/proof_search.h"
#include "stages/result.h"
#include "stages/run_context.h"

namespace planproof::stages {

// What is known after some of them.
struct Attempts {
  bool proved = false, refuted = false;
  // Neither, and there are inputs on which only the plan has no value.
  bool undefined = false;
};

// A short attempt to see through false lineages, then numbers, then a longer attempt; or only a
// quick look at numbers (Effort). Claims that were abandoned with their worker are not tried again.
Attempts TryFurther(const lineage::Problem& problem, const RunContext& context, Effort effort,
                    const ClaimTable& table, ProofSearch* search, Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_FURTHER_ATTEMPTS_H_
