// Keeps the outcomes of all claims. Claims of one class have one outcome between them, which is
// kept once: there are far more claims than classes.
#ifndef PLANPROOF_STAGES_CLAIM_OUTCOMES_H_
#define PLANPROOF_STAGES_CLAIM_OUTCOMES_H_

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "stages/claim.h"

namespace planproof::stages {

class ClaimOutcomes {
 public:
  // Undecided ones.
  explicit ClaimOutcomes(size_t claims = 0) : of_claim_(claims, 0), outcomes_(1) {}

  size_t size() const { return of_claim_.size(); }
  // The reference is valid as long as this object is.
  const ClaimOutcome& operator[](size_t claim) const { return outcomes_[of_claim_[claim]]; }

  void Set(const std::vector<int>& claims, ClaimOutcome outcome) {
    for (int claim : claims) of_claim_[claim] = static_cast<int32_t>(outcomes_.size());
    outcomes_.push_back(std::move(outcome));
  }
  // As if it had not been decided.
  void Reset(int claim) { of_claim_[claim] = 0; }

  // By claim.
  std::vector<ClaimOutcome> Each() const {
    std::vector<ClaimOutcome> each;
    each.reserve(size());
    for (int32_t outcome : of_claim_) each.push_back(outcomes_[outcome]);
    return each;
  }

 private:
  std::vector<int32_t> of_claim_;      // position in outcomes_
  std::deque<ClaimOutcome> outcomes_;  // the first one is undecided
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_CLAIM_OUTCOMES_H_
