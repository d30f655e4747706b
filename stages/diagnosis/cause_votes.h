// Counts which suspected causes of a fault fit all inputs that were tried.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_CAUSE_VOTES_H_
#define PLANPROOF_STAGES_DIAGNOSIS_CAUSE_VOTES_H_

#include <map>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "stages/diagnosis/fault.h"
#include "stages/diagnosis/repair_search.h"

namespace planproof::stages {

// What fits by chance does not fit other inputs: only what fits most of them is named.
class CauseVotes {
 public:
  // What was found on inputs on which the tensor is wrong.
  void Add(std::vector<RepairSearch::Cause> found);
  // On how many it is.
  int wrong() const { return wrong_; }
  // Of this fault enough is seen: what fits, if anything does, has fitted on all inputs.
  bool Settled() const;
  // It was wrong, and nothing said why.
  bool FoundNothing() const;
  // Those that fit most inputs (or all of them), the first to be named first.
  std::vector<RepairSearch::Cause> Elected(bool all = false) const;

  static constexpr int kEnough = 3;  // inputs on which a tensor is wrong

 private:
  int Most() const;

  std::vector<RepairSearch::Cause> causes_;  // as they were found
  std::map<std::string, int> fits_;          // by text or Cause::alike: on how many inputs
  std::map<std::string, int> said_;          // by text
  int wrong_ = 0;
};

// Says of a fault what its causes are, the first ones, and at which operators and ranks they are.
void NameCauses(const lineage::Problem& problem, const std::vector<RepairSearch::Cause>& causes,
                Fault* fault);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_CAUSE_VOTES_H_
