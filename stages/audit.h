// Asks Z3 beside the normal form. docs/engines.md says what the engines promise.
#ifndef PLANPROOF_STAGES_AUDIT_H_
#define PLANPROOF_STAGES_AUDIT_H_

#include "lineage/lineage.h"
#include "stages/claim_table.h"
#include "stages/options.h"
#include "stages/proof_search.h"
#include "stages/relations.h"
#include "stages/result.h"
#include "stages/smt/claim.h"

namespace planproof::stages {

// --engine audit: asks Z3 about every class that `search` has decided, and compares. Appends the
// counts to `result`; definite answers that contradict one another make the verdict UNKNOWN with a
// violation of kind "engines contradict". Also writes the files of --dump-smt; for other engines
// than audit it does only that.
void Audit(const lineage::Problem& problem, const VerifyOptions& options, const ClaimTable& table,
           const Relations& relations, const ProofSearch& search, Result* result);

// The audit's judgement of one class, for tests.
enum class Agreement : uint8_t {
  kAgree,          // both definite, or Z3 definite where the normal form was not
  kContradiction,  // both definite and different
  kIndefinite,     // Z3 has no definite answer
};
Agreement Compare(const ClaimOutcome& normal_form, const SmtClaimOutcome& smt);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_AUDIT_H_
