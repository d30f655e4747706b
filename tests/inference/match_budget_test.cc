// Which work is granted: what finds nothing counts for all tensors together, what finds something
// does not.
#include "inference/match_budget.h"

#include <gtest/gtest.h>

#include "solver/term.h"

namespace planproof::inference {
namespace {

class MatchBudgetTest : public testing::Test {
 protected:
  // A tensor that takes this many terms. Whether they were granted.
  bool Take(int64_t terms, bool found) {
    budget_.BeginTensor(MatchEffort::kUsual, &arena_);
    budget_.Replenish(&arena_);
    const bool granted = arena_.TermsLeft() >= terms;
    arena_.ResetExhausted(arena_.TermsLeft() - terms);
    budget_.EndTensor(found, &arena_);
    return granted;
  }

  solver::Arena arena_;
  MatchBudget budget_{/*of_summand=*/0, /*fruitless=*/1000};
};

TEST_F(MatchBudgetTest, WhatIsFoundIsFree) {
  for (int tensor = 0; tensor < 5; ++tensor) EXPECT_TRUE(Take(900, /*found=*/true));
}

TEST_F(MatchBudgetTest, WhatFindsNothingIsLimitedInAll) {
  EXPECT_TRUE(Take(600, /*found=*/false));
  EXPECT_TRUE(Take(400, /*found=*/false));
  EXPECT_FALSE(Take(1, /*found=*/false));
}

TEST_F(MatchBudgetTest, WhatIsLeftIsNotExceeded) {
  EXPECT_TRUE(Take(600, /*found=*/false));
  EXPECT_FALSE(Take(401, /*found=*/false));
}

}  // namespace
}  // namespace planproof::inference
