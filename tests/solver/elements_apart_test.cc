// Sums over steps against the steps added up one by one, in random bodies: ids read at [step,
// position], values at a flat index of both, functions of what belongs to a step; alone, within
// functions and products. Right ones are shown equal, and what numbers tell apart never is.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "solver/term.h"
#include "tests/solver/term_numeric.h"

namespace planproof::solver {
namespace {

class ElementsApartTest : public testing::Test {
 protected:
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  void Reset() {
    arena_ = std::make_unique<Arena>();
    arena_->ResetExhausted(100'000);
    for (uint32_t tag = kPositiveTag; tag < kIntegerTag; ++tag) arena_->SetTagPositive(tag);
    free_ = arena_->NewFree(0, 3);
    values_ = {{free_, Between(0, 3)}};
    width_ = Between(1, 5);
    parts_ = Between(1, 15);
  }
  Affine Id(uint32_t tag, const Affine& i, const Affine& j) {
    return Affine::Of(arena_->IntAtom(arena_->ElementAtom(tag, {i, j}), {0, kIntegerTagMax}));
  }
  // What a step adds, by the parts that were drawn: each of them is read at the step and position.
  PolyId Step(const Affine& step) {
    const Symbol i = arena_->NewFree(0, width_ - 1), k = arena_->NewFree(0, kIntegerTagMax);
    const Affine at = Affine::Of(i), flat = step.Scaled(width_) + at;
    PolyId body = arena_->Element(kPositiveTag, {step, at});
    if ((parts_ & 1) != 0) {
      body = arena_->Mul(arena_->Delta(Affine::Of(k) - Id(kIntegerTag, step, at)), body);
    }
    if ((parts_ & 2) != 0) {
      body = arena_->Mul(arena_->Element(kPositiveTag + 1, {flat, Affine::Of(k)}), body);
    }
    if ((parts_ & 4) != 0) {
      body = arena_->Mul(arena_->Exp(arena_->Element(0, {step, Affine::Of(free_)})), body);
    }
    if ((parts_ & 8) != 0) {
      const PolyId id = arena_->Element(kPositiveTag + 2,
                                        {Id(kIntegerTag + 1, at, step), Affine::Of(free_), flat});
      body = arena_->Mul(arena_->Power(arena_->Add(arena_->One(), id), {-1, 1}), body);
    }
    return arena_->SumOver({{i, {0, width_}}, {k, {0, kIntegerTagMax + 1}}}, body);
  }
  PolyId Whole(int64_t steps) {
    const Symbol step = arena_->NewFree(0, steps - 1);
    return arena_->Sum({step, {0, steps}}, Step(Affine::Of(step)));
  }
  PolyId Added(const std::vector<int64_t>& steps) {
    PolyId sum = kZeroPoly;
    for (const int64_t step : steps) sum = arena_->Add(sum, Step(Affine(step)));
    return sum;
  }
  // The value within what stands around it.
  PolyId Within(int64_t around, PolyId p) {
    switch (around) {
      case 0:
        return p;
      case 1:
        return arena_->Power(p, {2, 1});
      case 2:
        return arena_->Exp(arena_->Scale(p, Rational(-1, 100)));
      case 3:
        return arena_->Power(p, {-1, 1});
      case 4:
        return arena_->Power(arena_->Add(p, arena_->One()), {-1, 2});
      default:
        return arena_->Log(arena_->Add(p, arena_->Element(kPositiveTag, {3, 4})));
    }
  }

  std::mt19937_64 random_{20250711};
  std::unique_ptr<Arena> arena_;
  Symbol free_ = 0;
  FreeValues values_;
  int64_t width_ = 1, parts_ = 1;
};

TEST_F(ElementsApartTest, StepsAddedUpOneByOneAreTheSumOverSteps) {
  int wrong = 0;
  for (int round = 0; round < 400; ++round) {
    Reset();
    const int64_t count = Between(2, 6), around = Between(0, 5);
    std::vector<int64_t> steps;
    for (int64_t step = 0; step < count; ++step) steps.push_back(step);
    std::shuffle(steps.begin(), steps.end(), random_);
    const PolyId whole = Within(around, Whole(count));
    const PolyId right = arena_->Sub(Within(around, Added(steps)), whole);
    ASSERT_TRUE(IsZeroValue(Evaluate(*arena_, right, values_))) << arena_->ToString(right);
    ASSERT_TRUE(arena_->IsZero(right)) << round << ": " << arena_->ToString(right);
    // One step left out, taken twice, or of another place.
    switch (Between(0, 2)) {
      case 0:
        steps.pop_back();
        break;
      case 1:
        steps.push_back(steps[0]);
        break;
      default:
        steps[0] = Between(0, 1) == 0 ? count : steps[1];
    }
    const PolyId different = arena_->Sub(Within(around, Added(steps)), whole);
    if (IsZeroValue(Evaluate(*arena_, different, values_))) continue;
    ++wrong;
    ASSERT_FALSE(arena_->IsZero(different)) << round << ": " << arena_->ToString(different);
  }
  EXPECT_GT(wrong, 300);
}

// Ranks of which each has some steps, added up one by one: step c of rank r is stride r + c.
TEST_F(ElementsApartTest, StepsOfAllRanksAreTheSumOverSteps) {
  int wrong = 0;
  for (int round = 0; round < 200; ++round) {
    Reset();
    const int64_t ranks = Between(2, 6), count = Between(2, 4), around = Between(0, 5);
    const auto added = [&](const std::vector<int64_t>& steps) {
      const Symbol rank = arena_->NewFree(0, ranks - 1);
      PolyId sum = kZeroPoly;
      for (const int64_t step : steps) sum = arena_->Add(sum, Step(Affine::Of(rank, count) + step));
      return arena_->Sum({rank, {0, ranks}}, sum);
    };
    std::vector<int64_t> steps;
    for (int64_t step = 0; step < count; ++step) steps.push_back(step);
    std::shuffle(steps.begin(), steps.end(), random_);
    const PolyId whole = Within(around, Whole(ranks * count));
    const PolyId right = arena_->Sub(Within(around, added(steps)), whole);
    ASSERT_TRUE(IsZeroValue(Evaluate(*arena_, right, values_))) << arena_->ToString(right);
    ASSERT_TRUE(arena_->IsZero(right)) << round << ": " << arena_->ToString(right);
    steps[0] = Between(0, 1) == 0 ? count + steps[0] : steps[1];
    const PolyId different = arena_->Sub(Within(around, added(steps)), whole);
    if (IsZeroValue(Evaluate(*arena_, different, values_))) continue;
    ++wrong;
    ASSERT_FALSE(arena_->IsZero(different)) << round << ": " << arena_->ToString(different);
  }
  EXPECT_GT(wrong, 180);
}

}  // namespace
}  // namespace planproof::solver
