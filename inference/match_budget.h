// How much work the match of one tensor may take, and of all for which none is found.
#ifndef PLANPROOF_INFERENCE_MATCH_BUDGET_H_
#define PLANPROOF_INFERENCE_MATCH_BUDGET_H_

#include <cstdint>

#include "solver/term.h"

namespace planproof::inference {

// Grants the terms of an arena in portions, so that no single evaluation takes all of a tensor's.
class MatchBudget {
 public:
  void BeginTensor(solver::Arena* arena);
  // What a tensor took counts only where it was for nothing.
  void EndTensor(bool found, solver::Arena* arena);
  // Grants the work of one evaluation, as far as the tensor has any left.
  void Replenish(solver::Arena* arena);
  void GrantNothing(solver::Arena* arena);

 private:
  int64_t granted_ = 0, tensor_ = 0, tensor_left_ = 0;
  int64_t fruitless_left_ = 4'000'000;
};

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_MATCH_BUDGET_H_
