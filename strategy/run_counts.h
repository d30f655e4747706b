// Counts what happens in a run and how long it takes, for its report.
#ifndef PLANPROOF_STRATEGY_RUN_COUNTS_H_
#define PLANPROOF_STRATEGY_RUN_COUNTS_H_

#include <vector>

#include "stages/claim_table.h"
#include "stages/proof_search.h"
#include "stages/result.h"
#include "strategy/further_attempts.h"
#include "strategy/run_context.h"

namespace planproof::strategy {

// Operators, stages with the methods that decided them, and times. `shown`: search.ProvedClaims().
void TakeCounts(const RunContext& context, const stages::ClaimTable& table,
                const stages::ProofSearch& search, const std::vector<bool>& shown,
                const Attempts& found, stages::Result* result);

}  // namespace planproof::strategy

#endif  // PLANPROOF_STRATEGY_RUN_COUNTS_H_
