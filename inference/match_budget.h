// Limits the work that the match of one tensor may take, and that of all for which none is found.
#ifndef PLANPROOF_INFERENCE_MATCH_BUDGET_H_
#define PLANPROOF_INFERENCE_MATCH_BUDGET_H_

#include <cstdint>

#include "solver/term.h"

namespace planproof::inference {

// How much of it a tensor may take.
enum class MatchEffort : uint8_t {
  kLittle,  // what is only added up, and mostly no logical tensor
  kUsual,
};

// Of a tensor that is only added up, one in a hundred of what others get: where one is found, terms
// were short.
inline constexpr int64_t kWorkOfSummand = 4'000;

inline constexpr int64_t kFruitlessWork = 4'000'000;

// Grants the terms of an arena in portions, so that no single evaluation takes all of a tensor's.
class MatchBudget {
 public:
  // `fruitless`: of all tensors together for which nothing is found.
  MatchBudget(int64_t of_summand, int64_t fruitless)
      : of_summand_(of_summand), fruitless_left_(fruitless) {}
  void BeginTensor(MatchEffort effort, solver::Arena* arena);
  // What a tensor took counts only where it was for nothing.
  void EndTensor(bool found, solver::Arena* arena);
  // Grants the work of one evaluation, as far as the tensor has any left.
  void Replenish(solver::Arena* arena);
  void GrantNothing(solver::Arena* arena);

 private:
  const int64_t of_summand_;
  int64_t granted_ = 0, tensor_ = 0, tensor_left_ = 0;
  int64_t fruitless_left_;
};

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_MATCH_BUDGET_H_
