// Decides one claim with Z3: both sides as raw terms on representatives, at one generic index per
// cell of the parallel tensor.
#ifndef PLANPROOF_SMT_CLAIM_H_
#define PLANPROOF_SMT_CLAIM_H_

#include <string>
#include <vector>

#include "smt/evaluation.h"
#include "stages/claim.h"
#include "stages/relations.h"

namespace planproof::smt {

struct SmtClaimOptions {
  double timeout_s = 5;  // of one question; 0: no question is asked, files are still written
  // Representatives of each interval; 0: as many as the bound asks for.
  int representatives = 0;
  // Cells at which the claim is compared, if no bound can hold or no question is asked; else all
  // are.
  int max_cells = 12;
  int unfold_levels = 0;    // if the claim fails, open the definitions of what it mentions
  bool ask_domain = false;  // ... to find out `restricted`
  std::string dump_prefix;  // files PREFIX_0.smt2, PREFIX_1.smt2, ...; empty: none
  std::vector<std::string> comments;
  SmtLimits limits;
};

struct SmtClaimOutcome {
  enum class Status : uint8_t { kEqual, kDifferent, kUnknown } status = Status::kUnknown;
  bool identical = false;  // the two raw terms are the same, node by node, in every cell
  bool expressed = false;  // raw terms were found for every cell looked at
  // What was decided on representatives holds for the full shapes (docs/engines.md).
  bool bound_holds = false;
  bool presupposes = false;  // some operator is not defined for all values
  // kEqual, where the plan's side was not shown to have a value wherever the model's has one.
  bool restricted = false;
  int representatives = 0;  // of an interval that is long enough
  int questions = 0;        // asked of Z3
  std::string reason;       // kUnknown: why; else how; kDifferent: the two values
};

SmtClaimOutcome DecideClaimBySmt(const lineage::Problem& problem,
                                 const stages::Relations& relations, const stages::Claim& claim,
                                 const SmtClaimOptions& options);

// What --engine smt says of such a claim. `opened`: it was asked with definitions opened.
stages::ClaimOutcome AsClaimOutcome(const SmtClaimOutcome& o, bool opened);

}  // namespace planproof::smt

#endif  // PLANPROOF_SMT_CLAIM_H_
