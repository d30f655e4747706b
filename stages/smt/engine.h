// Decides with Z3 in place of the normal form. docs/engines.md says what the engines promise.
#ifndef PLANPROOF_STAGES_SMT_ENGINE_H_
#define PLANPROOF_STAGES_SMT_ENGINE_H_

#include "lineage/lineage.h"
#include "stages/claim_table.h"
#include "stages/options.h"
#include "stages/proof_search.h"
#include "stages/relations.h"
#include "stages/result.h"

namespace planproof::stages {

// --engine smt: every claim is decided by Z3 alone, under the hypothesis that all full lineages
// hold, and `search` gets the outcomes. Lineages that fail are given up, and what rested on them is
// decided again. A claim counts as proved only if the bound on
// representatives covers it. Returns whether every required claim is proved.
bool DecideBySmt(const lineage::Problem& problem, const VerifyOptions& options, ClaimTable* table,
                 const Relations& relations, ProofSearch* search, Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SMT_ENGINE_H_
