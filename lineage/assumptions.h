// Applies approved approximations: relations that the user states, and that are not proved.
//
// An operator of a plan may compute something else than the model on purpose: batch statistics per
// rank, experts that are chosen within groups of nodes. The user may say that a tensor which it
// makes stands for one of the model. What is decided then is the plan *with the model's values in
// that place*: everything else must be proved, and inputs that refute it show a difference although
// these values are right.
//
// The approximated operators are those between the tensor and the next ones behind it whose
// relation the plan states. These must be right, too, as an operator of wrong operands stands for
// nothing.
//
// An assumption is therefore no rule of the prover. It changes the problem: the tensor becomes an
// input of the plan, and its relation is given as that of an input is. The operator stays and makes
// another tensor, which nobody reads, so that the conditions under which it has a value still
// count. No claim is made of the tensor; nothing about it can be remembered, or taken over from an
// equal claim.
#ifndef PLANPROOF_LINEAGE_ASSUMPTIONS_H_
#define PLANPROOF_LINEAGE_ASSUMPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lineage/lineage.h"

namespace planproof::lineage {

struct Assumption {
  sdfg::TensorId tensor = sdfg::kNone;  // of the plan, which computes it
  Lineage lineage;                      // what it stands for; kind kFull
  std::string reason;                   // the user's, for people
  std::string place;                    // where it is stated: "assume.json:3"
};

struct AssumedProblem {
  Problem problem;
  // By assumption: the tensor, and what the plan makes in that place.
  std::vector<sdfg::TensorId> assumed, made;
};

// Which assumptions a problem can have.
class AssumptionCheck {
 public:
  // The problem must outlive the check.
  explicit AssumptionCheck(const Problem& problem);
  // InvalidArgument, without place, where the tensor is not computed by the plan, or is a required
  // output or moved into one as it is, so that nothing would be left to prove; and where no
  // required output depends on the model's tensor, which then may have no value where the model has
  // one.
  absl::Status operator()(const Assumption& assumption) const;
  // The tensor of the model has a value wherever the model is defined.
  bool HasValue(sdfg::TensorId logical) const;

 private:
  const Problem& problem_;
  std::vector<bool> in_outputs_;  // by tensor of the plan: an output has its elements as they are
  std::vector<bool> in_model_;    // by tensor of the model: outputs depend on it
};

// The problem under the assumptions: what the approximated operators read is required besides the
// outputs. Errors: those of AssumptionCheck, and a tensor that is assumed
// twice, after the place of the assumption ("assume.json:3: ...").
absl::StatusOr<AssumedProblem> Assume(const Problem& problem,
                                      const std::vector<Assumption>& assumptions);

// Whether some relation was not proved but assumed.
bool AssumesRelations(const Problem& problem);

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_ASSUMPTIONS_H_
