// Limits what a search for a counterexample looks at, when it is known which lineages are in doubt.
#ifndef PLANPROOF_SHAPE_REDUCTION_SEARCH_SCOPE_H_
#define PLANPROOF_SHAPE_REDUCTION_SEARCH_SCOPE_H_

#include <vector>

#include "lineage/lineage.h"

namespace planproof::shape_reduction {

// By parallel tensor: it is what its full lineage says, whatever the suspects are, because it does
// not depend on one. `suspects`: the parallel tensors whose lineage was not shown.
std::vector<char> IndependentOf(const lineage::Problem& problem,
                                const std::vector<sdfg::TensorId>& suspects);

struct SearchScope {
  // Positions in Problem::required of the relations that can fail.
  std::vector<int> required;
  // By parallel tensor: it is what its full lineage says, so its value can be read from the logical
  // graph instead of being computed.
  std::vector<char> trusted;
  // What the relations depend on: logical and parallel tensors to evaluate.
  std::vector<sdfg::TensorId> logical_cone, parallel_cone;
};

// `suspects`: the parallel tensors whose lineage was not shown; every other tensor that does not
// depend on one of them is what its full lineage says. Empty: everything is in doubt. A wrong
// suspicion costs a counterexample, never a proof: what a search finds is confirmed without trust.
SearchScope ScopeOfSuspects(const lineage::Problem& problem,
                            const std::vector<sdfg::TensorId>& suspects);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_SEARCH_SCOPE_H_
