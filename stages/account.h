// Keeps what was decided, stage by stage, with the graphs that it was decided on, for reports that
// show a plan. Nothing is decided by it.
#ifndef PLANPROOF_STAGES_ACCOUNT_H_
#define PLANPROOF_STAGES_ACCOUNT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "stages/claim.h"

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

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_ACCOUNT_H_
