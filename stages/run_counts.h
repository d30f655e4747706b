// Counts what happens in a run and how long it takes, for its report.
#ifndef PLANPROOF_STAGES_RUN_COUNTS_H_
#define PLANPROOF_STAGES_RUN_COUNTS_H_

#include <vector>

#include "stages/claim_table.h"
#include "stages/further_attempts.h"
#include "stages/proof_search.h"
#include "stages/result.h"
#include "stages/run_context.h"

namespace planproof::stages {

// Operators, stages with the methods that decided them, and times. `shown`: search.ProvedClaims().
void TakeCounts(const RunContext& context, const ClaimTable& table, const ProofSearch& search,
                const std::vector<bool>& shown, const Attempts& found, Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_RUN_COUNTS_H_
