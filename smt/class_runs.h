// Asks Z3 about classes of equal claims, in worker processes.
#ifndef PLANPROOF_SMT_CLASS_RUNS_H_
#define PLANPROOF_SMT_CLASS_RUNS_H_

#include <vector>

#include "lineage/lineage.h"
#include "smt/claim.h"
#include "stages/claim_outcomes.h"
#include "stages/claim_table.h"
#include "stages/options.h"
#include "stages/proof_search.h"
#include "stages/relations.h"

namespace planproof::smt {

struct Asking {
  bool z3 = true;  // otherwise questions are written only
  bool domain = false;
  bool unfold = false;
  const stages::ClaimOutcomes* normal_form = nullptr;  // what it has unfolded is unfolded, too
};

// The outcomes of the classes' first members, in order.
std::vector<SmtClaimOutcome> RunClasses(const lineage::Problem& problem,
                                        const stages::VerifyOptions& options,
                                        const stages::ClaimTable& table,
                                        const stages::Relations& relations,
                                        const stages::ProofSearch& search,
                                        const std::vector<stages::ClaimClass>& classes,
                                        const Asking& asking);

}  // namespace planproof::smt

#endif  // PLANPROOF_SMT_CLASS_RUNS_H_
