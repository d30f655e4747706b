// Finds where logical tensors are 0 because of a mask.
#ifndef PLANPROOF_INFERENCE_MASKED_REGIONS_H_
#define PLANPROOF_INFERENCE_MASKED_REGIONS_H_

#include <set>
#include <vector>

#include "inference/candidates.h"
#include "inference/frontier.h"
#include "lineage/lineage.h"
#include "sdfg/symbolic_evaluator.h"
#include "solver/term.h"

namespace planproof::inference {

// A plan may leave out blocks that a mask hides; the model adds them up.
class MaskedRegions {
 public:
  // `logical` is the policy of the evaluator that Learn is called with.
  MaskedRegions(const lineage::Problem& problem, Frontier* logical, Candidates* candidates)
      : problem_(problem), logical_(*logical), candidates_(*candidates) {}

  // Finds out where these tensors are 0, and some of those that they are computed from. Whether
  // anything is new. Afterwards what the evaluator remembers is out of date.
  bool Learn(const std::vector<sdfg::TensorId>& tensors, sdfg::SymbolicEvaluator* evaluator,
             solver::Arena* arena);
  const Frontier::ZeroRegions& known() const { return known_; }

 private:
  bool Learn(sdfg::TensorId tensor, int depth, sdfg::SymbolicEvaluator* evaluator,
             solver::Arena* arena);

  const lineage::Problem& problem_;
  Frontier& logical_;
  Candidates& candidates_;
  Frontier::ZeroRegions known_;
  std::set<sdfg::TensorId> asked_;
};

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_MASKED_REGIONS_H_
