// Maxima of operands that share summands: by numbers, and what must not merge.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "solver/term.h"
#include "tests/solver/term_numeric.h"

namespace planproof::solver {
namespace {

class SharedSummandsTest : public testing::Test {
 protected:
  SharedSummandsTest() { Reset(); }
  void Reset() {
    arena_ = std::make_unique<Arena>();
    free_ = arena_->NewFree(0, 5);
    values_.clear();
  }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  Interval SomeInterval(int64_t most) {
    const int64_t lo = Between(0, most - 1);
    return {lo, Between(lo + 1, most)};
  }
  PolyId Element(uint32_t tag, const Affine& i, const Affine& j) {
    return arena_->Element(tag, {i, j});
  }
  Approximate At(PolyId p, int64_t free) {
    values_[free_] = free;
    return Evaluate(*arena_, p, values_);
  }

  std::mt19937_64 random_{20261121};
  std::unique_ptr<Arena> arena_;
  Symbol free_ = 0;
  FreeValues values_;
};

// Operands with summands in common, in any order and nesting.
TEST_F(SharedSummandsTest, MaximaKeepTheirValue) {
  int pulled_out = 0;
  for (int round = 0; round < 3000; ++round) {
    Reset();
    const int64_t q = Between(0, 5);
    auto summand = [&](int64_t kind) {
      if (kind < 3) return Element(static_cast<uint32_t>(kind), Affine(0), Affine::Of(free_));
      if (kind == 3) return arena_->One();
      if (kind == 4) {
        return arena_->Max(Element(3, Affine(0), Affine(0)), Element(4, Affine(0), Affine(0)));
      }
      const Interval a = SomeInterval(4);
      const Symbol i = arena_->NewFree(a.lo, a.hi - 1);
      return arena_->ReduceMax({i, a}, Element(5, Affine::Of(i), Affine::Of(free_)), kZeroPoly);
    };
    std::vector<PolyId> operands;
    long double expected = -1e9L;
    for (int64_t count = Between(2, 4); count > 0; --count) {
      PolyId p = kZeroPoly;
      for (int64_t kind = 0; kind < 6; ++kind) {
        if (Between(0, 1) == 0) continue;
        p = arena_->Add(p, arena_->Scale(summand(kind), Rational(Between(0, 3) == 0 ? 2 : 1)));
      }
      operands.push_back(p);
      expected = std::max(expected, At(p, q).value);
    }
    PolyId m = operands[0], n = operands.back();
    for (size_t k = 1; k < operands.size(); ++k) m = arena_->Max(m, operands[k]);
    for (size_t k = operands.size() - 1; k > 0; --k) n = arena_->Max(operands[k - 1], n);
    ASSERT_TRUE(Agree(At(m, q), Of(expected))) << round << ": " << arena_->ToString(m);
    ASSERT_TRUE(Agree(At(n, q), Of(expected))) << round << ": " << arena_->ToString(n);
    // With a summand beside all of them, one that occurs in some of them already or a new one.
    const bool fresh = Between(0, 1) == 0;
    const PolyId beside = fresh ? Element(6, Affine(0), Affine::Of(free_)) : summand(Between(0, 2));
    PolyId raised = arena_->Add(beside, operands[0]);
    for (size_t k = 1; k < operands.size(); ++k) {
      raised = arena_->Max(raised, arena_->Add(beside, operands[k]));
    }
    const PolyId apart = arena_->Add(beside, m);
    ASSERT_TRUE(Agree(At(raised, q), At(apart, q))) << round << ": " << arena_->ToString(raised);
    pulled_out += fresh && raised == apart;
  }
  EXPECT_GT(pulled_out, 1000);  // of half the rounds
}

TEST_F(SharedSummandsTest, MaximaOfPiecesMergeOnlyBesideTheSame) {
  auto maximum = [&](int64_t lo, int64_t hi) {
    const Symbol i = arena_->NewFree(lo, hi - 1);
    return arena_->ReduceMax({i, {lo, hi}}, Element(0, Affine::Of(i), Affine(0)), kZeroPoly);
  };
  const PolyId w = Element(1, Affine(0), Affine(0)), v = Element(2, Affine(0), Affine(0));
  auto joined = [&](PolyId a, int64_t cut, PolyId b, int64_t from) {
    return arena_->Max(arena_->Add(a, maximum(0, cut)), arena_->Add(b, maximum(from, 11)));
  };
  const PolyId whole = arena_->Add(w, maximum(0, 11));
  EXPECT_EQ(joined(w, 3, w, 3), whole);
  EXPECT_EQ(joined(w, 4, w, 3), whole);
  for (const PolyId wrong : {joined(w, 3, w, 4), joined(w, 3, v, 3), joined(w, 3, kZeroPoly, 3),
                             joined(w, 3, arena_->Scale(w, Rational(2)), 3)}) {
    EXPECT_FALSE(arena_->IsZero(arena_->Sub(wrong, whole))) << arena_->ToString(wrong);
  }
  const PolyId third = arena_->Max(joined(w, 3, w, 3), v);
  EXPECT_EQ(third, arena_->Max(v, whole));
}

}  // namespace
}  // namespace planproof::solver
