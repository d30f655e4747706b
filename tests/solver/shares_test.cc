// Sums of shares of a sum are one, and only those: random weighted sums of shares, some of them of
// a part of the row, masked in another way, of another row, or weighted once more.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "solver/term.h"
#include "tests/solver/term_numeric.h"

namespace planproof::solver {
namespace {

constexpr int64_t kRows = 4;
constexpr uint32_t kScore = 0, kWeight = 1, kValue = 2;

// What is summed: exp(score[row + shift, l + offset]) over l in `box`, where `mask` says so.
struct Row {
  Interval box{0, 6};
  int64_t shift = 0;   // of the row
  int64_t offset = 0;  // of the index
  int mask = 0;        // 0: none, 1: l <= row + reach, 2: l >= row - reach
  int64_t reach = 0;
  bool positive = false;  // a positive element in place of the exponential
};

class SharesTest : public testing::Test {
 protected:
  SharesTest() { Reset(); }
  void Reset() {
    arena_ = std::make_unique<Arena>();
    for (uint32_t tag = kPositiveTag; tag < kIntegerTag; ++tag) arena_->SetTagPositive(tag);
    free_ = arena_->NewFree(0, 3);
  }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  PolyId Share(const Row& row, Symbol i, Symbol l) {
    const Affine at = Affine::Of(i) + Affine(row.shift), index = Affine::Of(l) + Affine(row.offset);
    const PolyId value = row.positive
                             ? arena_->Element(kPositiveTag, {at, index, Affine::Of(free_)})
                             : arena_->Exp(arena_->Element(kScore, {at, index, Affine::Of(free_)}));
    if (row.mask == 0) return value;
    const Affine reach = Affine::Of(i) - Affine::Of(l);
    return arena_->Mul(
        arena_->Indicator(row.mask == 1 ? reach + Affine(row.reach) : Affine(row.reach) - reach),
        value);
  }
  PolyId Total(const Row& row, Symbol i) {
    const Symbol l = arena_->NewFree(row.box.lo, row.box.hi - 1);
    return arena_->Sum({l, row.box}, Share(row, i, l));
  }
  PolyId Inverse(const Row& row, Symbol i, int32_t power) {
    return arena_->Power(Total(row, i), Exponent{-power, 1});
  }
  // sum_{i,l}(weight_i share_il total_i^-power [value_l]), the share and the total as they are
  // told.
  PolyId Weighted(const Row& share, const Row& total, int32_t power, bool with_value) {
    const Symbol i = arena_->NewFree(0, kRows - 1),
                 l = arena_->NewFree(share.box.lo, share.box.hi - 1);
    PolyId body = arena_->Mul(Share(share, i, l), Inverse(total, i, power));
    body = arena_->Mul(body, arena_->Element(kWeight, {Affine::Of(i)}));
    if (with_value) body = arena_->Mul(body, arena_->Element(kValue, {Affine::Of(l)}));
    return arena_->SumOver({{i, {0, kRows}}, {l, share.box}}, body);
  }
  // sum_i(weight_i total_i^-(power - 1))
  PolyId Cancelled(const Row& total, int32_t power) {
    const Symbol i = arena_->NewFree(0, kRows - 1);
    const PolyId body = arena_->Element(kWeight, {Affine::Of(i)});
    return arena_->Sum({i, {0, kRows}},
                       power == 1 ? body : arena_->Mul(body, Inverse(total, i, power - 1)));
  }
  bool AreEqual(PolyId a, PolyId b) {
    for (int64_t free = 0; free <= 3; ++free) {
      const FreeValues values{{free_, free}};
      if (!Agree(Evaluate(*arena_, a, values), Evaluate(*arena_, b, values))) return false;
    }
    return true;
  }
  Row SomeRow() {
    Row row;
    row.box = {Between(0, 2), Between(4, 6)};
    row.offset = Between(-1, 1);
    row.mask = static_cast<int>(Between(0, 2));
    row.reach = Between(3, 5);  // every row has an entry
    row.positive = Between(0, 3) == 0;
    return row;
  }
  // Changes one thing; what the change is worth is for the numbers to say.
  void Change(Row* row) {
    switch (Between(0, 5)) {
      case 0:
        row->box.lo += 1;
        break;
      case 1:
        row->box.hi -= 1;
        break;
      case 2:
        row->shift += 1;
        break;
      case 3:
        row->offset += 1;
        break;
      case 4:
        row->mask = (row->mask + 1) % 3;
        break;
      default:
        row->reach -= 1;
        break;
    }
  }

  std::mt19937_64 random_{20261122};
  std::unique_ptr<Arena> arena_;
  Symbol free_ = 0;
};

TEST_F(SharesTest, TheyAddUpToOne) {
  for (int round = 0; round < 200; ++round) {
    Reset();
    const Row row = SomeRow();
    const auto power = static_cast<int32_t>(Between(1, 3));
    const PolyId left = Weighted(row, row, power, false), right = Cancelled(row, power);
    ASSERT_TRUE(AreEqual(left, right)) << round;
    EXPECT_TRUE(arena_->IsZero(arena_->Sub(left, right))) << round << arena_->ToString(left);
  }
}

TEST_F(SharesTest, WhatIsNoShareOfThatSumDoesNotCancel) {
  int different = 0;
  for (int round = 0; round < 1000; ++round) {
    Reset();
    const Row total = SomeRow();
    Row share = total;
    const bool with_value = Between(0, 4) == 0;
    if (!with_value || Between(0, 1) == 0) Change(&share);
    const auto power = static_cast<int32_t>(Between(1, 3));
    const PolyId left = Weighted(share, total, power, with_value), right = Cancelled(total, power);
    const bool zero = arena_->IsZero(arena_->Sub(left, right));
    if (AreEqual(left, right)) continue;
    ++different;
    ASSERT_FALSE(zero) << round << ": " << arena_->ToString(left) << " = "
                       << arena_->ToString(right);
  }
  EXPECT_GT(different, 750);
}

// The gradient of a softmax's scores along its row: y (d - sum_l(y_l d_l)) adds up to zero, also
// where the rows are weighted and added, and not if it is summed with other weights of the entries.
TEST_F(SharesTest, GradientsOfARowAddUpToZero) {
  for (int round = 0; round < 60; ++round) {
    Reset();
    const Row row = SomeRow();
    auto gradient = [&](bool with_value) {
      const Symbol i = arena_->NewFree(0, kRows - 1),
                   j = arena_->NewFree(row.box.lo, row.box.hi - 1),
                   l = arena_->NewFree(row.box.lo, row.box.hi - 1);
      auto gain = [&](Symbol of) {
        return arena_->Element(3, {Affine::Of(i), Affine::Of(of), Affine::Of(free_)});
      };
      auto y = [&](Symbol of) { return arena_->Mul(Share(row, i, of), Inverse(row, i, 1)); };
      const PolyId mean = arena_->Sum({l, row.box}, arena_->Mul(y(l), gain(l)));
      PolyId body = arena_->Mul(y(j), arena_->Sub(gain(j), mean));
      if (with_value) body = arena_->Mul(body, arena_->Element(kValue, {Affine::Of(j)}));
      const PolyId rows = arena_->Sum({i, {0, kRows}},
                                      arena_->Mul(body, arena_->Element(kWeight, {Affine::Of(i)})));
      return arena_->Sum({j, row.box}, rows);
    };
    const PolyId zero = gradient(false), other = gradient(true);
    EXPECT_TRUE(AreEqual(zero, kZeroPoly)) << round;
    EXPECT_TRUE(arena_->IsZero(zero)) << round << ": " << arena_->ToString(zero);
    EXPECT_FALSE(AreEqual(other, kZeroPoly)) << round;
    EXPECT_FALSE(arena_->IsZero(other)) << round << ": " << arena_->ToString(other);
  }
}

// The premise that a denominator is not zero stays with what has cancelled.
TEST_F(SharesTest, ThePremiseStays) {
  const Symbol i = arena_->NewFree(0, kRows - 1);
  auto total = [&] {
    const Symbol l = arena_->NewFree(0, 4);
    return arena_->Sum({l, {0, 5}}, arena_->Element(kScore, {Affine::Of(i), Affine::Of(l)}));
  };
  const Symbol l = arena_->NewFree(0, 4);
  const PolyId share = arena_->Mul(arena_->Element(kScore, {Affine::Of(i), Affine::Of(l)}),
                                   arena_->Power(total(), Exponent{-1, 1}));
  const PolyId weighted = arena_->Mul(share, arena_->Element(kWeight, {Affine::Of(i)}));
  const PolyId sum = arena_->SumOver({{i, {0, kRows}}, {l, {0, 5}}}, weighted);
  const Symbol k = arena_->NewFree(0, kRows - 1);
  const PolyId weights = arena_->Sum({k, {0, kRows}}, arena_->Element(kWeight, {Affine::Of(k)}));
  EXPECT_TRUE(arena_->IsZero(arena_->Sub(sum, weights)));
  EXPECT_FALSE(arena_->premises().empty());
  for (const Premise& premise : arena_->premises()) EXPECT_EQ(premise.kind, PremiseKind::kNonZero);
}

}  // namespace
}  // namespace planproof::solver
