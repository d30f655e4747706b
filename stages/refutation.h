// Refutes by numbers.
//
// All of it is done in worker processes: a crash, a time-out or exhausted memory costs what was
// looked for (a warning says so), and nothing else. Where only the diagnosis fails, the
// counterexample that it should explain counts all the same.
#ifndef PLANPROOF_STAGES_REFUTATION_H_
#define PLANPROOF_STAGES_REFUTATION_H_

#include <vector>

#include "lineage/lineage.h"
#include "stages/claim_table.h"
#include "stages/counterexample_search.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::stages {

// Searches values of the graphs' inputs for which a required output differs. On success appends
// violations (the first where the plan first goes wrong) and returns true. An element that has no
// value is a difference unless proofs may restrict the plan's domain (options). *undefined_seen: on
// some inputs only the model has a value, as far as doubles tell; that alone is no refutation yet.
// `shown`: by claim, whether it and all that it rests on is proved. A search that was not quick and
// compared nothing, or could not confirm what it saw, leaves a warning.
bool Refute(const lineage::Problem& problem, const VerifyOptions& options, const ClaimTable& table,
            const std::vector<ClaimOutcome>& outcomes, const std::vector<bool>& shown,
            Thoroughness thoroughness, Result* result, bool* undefined_seen);

// Where inputs were seen on which only the plan has no value: the same with such an element. To be
// asked when no proof was found, since a proof may restrict the plan's domain (docs/soundness.md).
bool RefuteUndefined(const lineage::Problem& problem, const VerifyOptions& options,
                     const ClaimTable& table, const std::vector<ClaimOutcome>& outcomes,
                     const std::vector<bool>& shown, Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_REFUTATION_H_
