// Defines a claim: one parallel tensor equals a logical tensor at a map, for every index.
#ifndef PLANPROOF_STAGES_CLAIM_H_
#define PLANPROOF_STAGES_CLAIM_H_

#include <string>
#include <utility>
#include <vector>

#include "lineage/lineage.h"
#include "solver/term.h"

namespace planproof::stages {

struct Claim {
  sdfg::TensorId parallel = sdfg::kNone;
  lineage::Lineage target;  // kind kFull
  int64_t required = -1;    // position in Problem::required, or -1: from the plan's lineage
  int32_t class_id = -1;    // class of equal claims
};

// A condition under which an operator has a value, for reports: nothing is decided by its words.
struct Condition {
  solver::PremiseKind kind = solver::PremiseKind::kNonZero;
  std::string operator_name;  // of the operator that has no value otherwise: "div"; may be empty
  std::string term;           // over elements of logical tensors: "y[i0]"; empty where only
                              // `declared` says what must hold
  bool never = false;         // it holds for no inputs
  std::string declared;       // what the operator's declaration calls it: "an id is not negative"
  friend bool operator==(const Condition&, const Condition&) = default;
};
// "div: y[i0] != 0", "embedding: ids[i0]-3 >= 0 (an id is not negative)".
std::string InWords(const Condition& condition);

// How a claim was decided. Text is made for people only (ProofMethodName).
enum class ProofMethod : uint8_t {
  kNone,
  kIdentical,    // both terms are the same
  kNormalForm,   // their difference has the normal form 0
  kUnfolded,     // the same, after definitions that are not part of the claim's class were opened:
                 // never remembered, and not to be compared with what others say of the class
  kZ3Identical,  // asked of Z3, which had nothing to do
  kZ3,
  kZ3Unfolded,
};
const char* ProofMethodName(ProofMethod method);  // "identical", "normal form", "z3", ...

enum class ClaimStatus : uint8_t {
  kUndecided,
  kProved,
  kFailed,     // not shown: the two terms differ, or an operator is outside what terms express
  kAbandoned,  // the worker died or a limit was reached
};

// A limit that ended the work on a claim; with a higher one it may be decided.
enum class Limit : uint8_t { kNone, kWork, kTime, kMemory };

struct ClaimOutcome {
  ClaimStatus status = ClaimStatus::kUndecided;
  ProofMethod method = ProofMethod::kNone;
  std::string reason;  // why not proved
  Limit limit = Limit::kNone;
  std::string logical_term, parallel_term, difference;  // of the first cell that differs
  std::vector<Condition> premises;                      // where the model is defined
  std::vector<Condition>
      restrictions;            // of the plan, not seen to hold wherever the model is defined
  bool unsatisfiable = false;  // some premise can never hold
  // Of the first cell that was not shown: low <= index < high by dimension of the parallel tensor.
  std::vector<std::pair<int64_t, int64_t>> box;
  // Logical tensors that the difference of the two terms mentions, a few of them.
  std::vector<int32_t> mentioned;
  int64_t cells = 0;
  double evaluate_s = 0;  // of the time spent: building the two terms
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_CLAIM_H_
