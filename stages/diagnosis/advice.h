// Advises the person who runs it on what may turn an UNKNOWN into an answer.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_ADVICE_H_
#define PLANPROOF_STAGES_DIAGNOSIS_ADVICE_H_

#include <string>

#include "lineage/lineage.h"
#include "stages/claim.h"
#include "stages/options.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

// One clause about a claim that was not shown: the limit to raise, the lineage to claim. Relations
// are looked for with numbers, in a worker. Empty if nothing is known to help.
std::string AdviceFor(const lineage::Problem& problem, const VerifyOptions& options,
                      const WorkerLimits& limits, const Claim& claim, const ClaimOutcome& outcome);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_ADVICE_H_
