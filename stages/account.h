// Keeps what was decided, stage by stage, with the graphs that it was decided on, for reports that
// show a plan. Nothing is decided by it.
#ifndef PLANPROOF_STAGES_ACCOUNT_H_
#define PLANPROOF_STAGES_ACCOUNT_H_

#include <memory>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "stages/claim.h"
#include "stages/claim_table.h"
#include "stages/proof_search.h"

namespace planproof::stages {

// A claim and what became of it.
struct Stage {
  enum class State : uint8_t {
    kProved,         // with all on which it rests
    kRestsOnFailed,  // by itself, but it rests on a stage that is not proved
    kNotProved,      // the two sides were not shown equal; with a counterexample, they may differ
    kNotDecided,     // a limit was reached, or the run was interrupted
    kGivenUp,        // the lineage is not used: the plan was proved without it
  };
  Claim claim;
  State state = State::kNotDecided;
  ProofMethod method = ProofMethod::kNone;
  std::string reason;                                   // why it is not proved
  std::string logical_term, parallel_term, difference;  // of the first cell that differs
};

struct Account {
  lineage::Problem problem;  // in the form in which it was decided: ranks may be a coordinate
  std::vector<Stage> stages;
};

// `shown`: search.ProvedClaims(); `proved`: the whole plan was.
std::shared_ptr<const Account> AccountOf(const lineage::Problem& problem, const ClaimTable& table,
                                         const ProofSearch& search, const std::vector<bool>& shown,
                                         bool proved);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_ACCOUNT_H_
