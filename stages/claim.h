// A claim: one parallel tensor equals a logical tensor at a map, for every index.
#ifndef PLANPROOF_STAGES_CLAIM_H_
#define PLANPROOF_STAGES_CLAIM_H_

#include <string>
#include <utility>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::stages {

struct Claim {
  sdfg::TensorId parallel = sdfg::kNone;
  lineage::Lineage target;  // kind kFull
  int64_t required = -1;    // position in Problem::required, or -1: from the plan's lineage
  int32_t klass = -1;       // class of equal claims
};

enum class ClaimStatus : uint8_t {
  kUndecided,
  kProved,
  kFailed,     // not shown: the two terms differ, or an operator is outside what terms express
  kAbandoned,  // the worker died or a limit was reached
};

struct ClaimOutcome {
  ClaimStatus status = ClaimStatus::kUndecided;
  std::string tier;    // what decided it: "identical", "normal form", "unfolded"
  std::string reason;  // why not proved
  std::string logical_term, parallel_term, difference;  // of the first cell that differs
  std::vector<std::string> premises;                    // of the logical side
  std::vector<std::string> restrictions;                // that arose on the parallel side only
  bool unsatisfiable = false;                           // some premise can never hold
  // Of the first cell that was not shown: low <= index < high by dimension of the parallel tensor.
  std::vector<std::pair<int64_t, int64_t>> box;
  // Logical tensors that the difference of the two terms mentions, a few of them.
  std::vector<int32_t> mentioned;
  int64_t cells = 0;
  double evaluate_s = 0;  // of the time spent: building the two terms
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_CLAIM_H_
