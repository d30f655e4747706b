// Lists all claims of a problem and the classes they fall into.
#ifndef PLANPROOF_STAGES_CLAIM_TABLE_H_
#define PLANPROOF_STAGES_CLAIM_TABLE_H_

#include <vector>

#include "stages/claim.h"
#include "stages/cone.h"
#include "stages/relations.h"

namespace planproof::stages {

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
  std::vector<ClaimClass> Classes(const std::vector<int>& which, const Relations& relations,
                                  bool use_classes) const;
  std::vector<ClaimClass> AllClasses(const Relations& relations, bool use_classes) const;
  // Positions of the claims that failed, in the order of the plan.
  std::vector<int> Failed(const std::vector<ClaimOutcome>& outcomes) const;
  // The claim that backs required relation r (its tensor's own claim if that says the same).
  int ClaimOfRequired(int64_t r) const { return of_required_[r]; }

 private:
  std::vector<Claim> claims_;
  std::vector<int> of_required_;
  std::vector<int> in_order_;  // positions, those of the plan's first operators first
};

// Parallel tensors that are related and on which the claim rests directly.
std::vector<sdfg::TensorId> RelatedInputs(const lineage::Problem& problem,
                                          const Relations& relations, const Claim& claim);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_CLAIM_TABLE_H_
