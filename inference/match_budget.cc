#include "inference/match_budget.h"

#include <algorithm>

namespace planproof::inference {
namespace {

constexpr int64_t kOfEvaluation = 60'000;
constexpr int64_t kOfTensor = 400'000;

}  // namespace

void MatchBudget::BeginTensor(MatchEffort effort, solver::Arena* arena) {
  tensor_ = std::min(effort == MatchEffort::kUsual ? kOfTensor : of_summand_, fruitless_left_);
  tensor_left_ = tensor_;
  GrantNothing(arena);
}

void MatchBudget::EndTensor(bool found, solver::Arena* arena) {
  Replenish(arena);  // counts what was used
  if (!found) fruitless_left_ -= tensor_ - tensor_left_;
}

void MatchBudget::Replenish(solver::Arena* arena) {
  tensor_left_ -= granted_ - std::max<int64_t>(arena->TermsLeft(), 0);
  granted_ = std::clamp<int64_t>(tensor_left_, 0, kOfEvaluation);
  arena->ResetExhausted(granted_);
}

void MatchBudget::GrantNothing(solver::Arena* arena) {
  granted_ = 0;
  arena->ResetExhausted(0);
}

}  // namespace planproof::inference
