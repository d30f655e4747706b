// Derives the premises that the model's definitions imply.
#ifndef PLANPROOF_STAGES_PREMISES_H_
#define PLANPROOF_STAGES_PREMISES_H_

#include <string>
#include <vector>

#include "stages/claim_outcomes.h"
#include "stages/claim_table.h"
#include "stages/relations.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

// Premises of logical operators that no claim evaluates (their results are read as unknown values
// on both sides, yet the specification is defined only where they are): 1/y is undefined at y = 0
// even where it is multiplied by 0. Also the conditions that operators declare. `complete` is false
// when some definition could not be evaluated; `why` then names it.
struct ImpliedPremises {
  std::vector<std::string> texts;
  bool need_sample = false;  // some of them can clash: they are not known to hold together
  bool unsatisfiable = false;
  bool complete = true;
  std::string why;
};
// Definitions are evaluated in one worker.
ImpliedPremises CollectImplied(const lineage::Problem& problem, const ClaimTable& table,
                               const ClaimOutcomes& outcomes, const WorkerLimits& limits,
                               Relations* relations);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_PREMISES_H_
