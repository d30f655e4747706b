// All claims of a problem and the classes they fall into.
#ifndef PLANPROOF_STAGES_CLAIM_TABLE_H_
#define PLANPROOF_STAGES_CLAIM_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "stages/claim.h"
#include "stages/relations.h"

namespace planproof::stages {

// The operators and tensors of the parallel graph on which the required outputs depend.
struct Cone {
  std::vector<bool> tensors;
  std::vector<bool> operators;
};
Cone ConeOfRequired(const lineage::Problem& problem);

// Lineages and required relations refer to existing tensors and dimensions, operators are in
// topological order. InvalidArgument names what is wrong.
absl::Status CheckProblem(const lineage::Problem& problem);
// The same for one full lineage of a parallel tensor, which messages call `what`.
absl::Status CheckLineage(const lineage::Problem& problem, sdfg::TensorId parallel,
                          const lineage::Lineage& l, const std::string& what);

struct ClaimClass {
  std::vector<int> members;  // positions in the claims, in topological order
};

class ClaimTable {
 public:
  // Claims for each full lineage of a produced tensor in the cone, and for each required relation.
  ClaimTable(const lineage::Problem& problem, const Cone& cone);

  std::vector<Claim>& claims() { return claims_; }
  const std::vector<Claim>& claims() const { return claims_; }
  // Groups the claims listed by content; with use_classes false each is a class of its own.
  std::vector<ClaimClass> Classes(const std::vector<int>& which, const lineage::Problem& problem,
                                  const Relations& relations, bool use_classes) const;
  // The claim that backs required relation r (its tensor's own claim if that says the same).
  int ClaimOfRequired(int64_t r) const { return of_required_[r]; }

 private:
  std::vector<Claim> claims_;
  std::vector<int> of_required_;
};

// Parallel tensors that are related and on which the claim rests directly.
std::vector<sdfg::TensorId> RelatedInputs(const lineage::Problem& problem,
                                          const Relations& relations, const Claim& claim);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_CLAIM_TABLE_H_
