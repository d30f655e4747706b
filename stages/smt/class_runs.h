// Asks Z3 about classes of equal claims, in worker processes.
#ifndef PLANPROOF_STAGES_SMT_CLASS_RUNS_H_
#define PLANPROOF_STAGES_SMT_CLASS_RUNS_H_

#include <vector>

#include "lineage/lineage.h"
#include "stages/claim_outcomes.h"
#include "stages/claim_table.h"
#include "stages/options.h"
#include "stages/proof_search.h"
#include "stages/relations.h"
#include "stages/smt/claim.h"

namespace planproof::stages {

struct Asking {
  bool z3 = true;  // otherwise questions are written only
  bool domain = false;
  bool unfold = false;
  const ClaimOutcomes* normal_form = nullptr;  // what it has unfolded is unfolded, too
};

// The outcomes of the classes' first members, in order.
std::vector<SmtClaimOutcome> RunClasses(const lineage::Problem& problem,
                                        const VerifyOptions& options, const ClaimTable& table,
                                        const Relations& relations, const ProofSearch& search,
                                        const std::vector<ClaimClass>& classes,
                                        const Asking& asking);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SMT_CLASS_RUNS_H_
