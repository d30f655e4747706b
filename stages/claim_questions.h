// Asks a solver, in a worker of its own, the questions that a proof leaves.
#ifndef PLANPROOF_STAGES_CLAIM_QUESTIONS_H_
#define PLANPROOF_STAGES_CLAIM_QUESTIONS_H_

#include <functional>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "stages/claim.h"
#include "stages/claim_solver.h"
#include "stages/relations.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

// The answers, question by question; kAbandoned, with the reason, where there is none. `ask` runs
// in the worker, with the number of the question; `name` says for people what it is about.
std::vector<ClaimOutcome> AskInWorker(const lineage::Problem& problem, Relations* relations,
                                      const ClaimLimits& claim_limits, WorkerLimits limits,
                                      int questions,
                                      const std::function<ClaimOutcome(ClaimSolver*, int)>& ask,
                                      const std::function<std::string(int)>& name);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_CLAIM_QUESTIONS_H_
