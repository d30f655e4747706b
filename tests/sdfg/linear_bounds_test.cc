#include "sdfg/linear_bounds.h"

#include <gtest/gtest.h>

#include <vector>

namespace planproof::sdfg {
namespace {

using solver::Affine;
using solver::Arena;
using solver::PolyId;
using solver::Symbol;

class LinearBoundsTest : public testing::Test {
 protected:
  // [0 <= e < extent], two conditions.
  std::vector<PolyId> Within(const Affine& e, int64_t extent) {
    return {arena_.Indicator(e), arena_.Indicator(Affine(extent - 1) - e)};
  }
  Affine Free(int64_t low, int64_t high) { return Affine::Of(arena_.NewFree(low, high)); }

  Arena arena_;
};

// What a convolution's derivative reads of a view: row 3 (i - k) + (j - l) of 9.
TEST_F(LinearBoundsTest, SeveralConditionsBoundAnIndexTogether) {
  const Affine u = Free(0, 3) - Free(0, 1), v = Free(0, 3) - Free(0, 1);
  const Affine row = u.Scaled(3) + v;
  std::vector<PolyId> conditions = Within(u, 3);
  for (const PolyId each : Within(v, 3)) conditions.push_back(each);
  EXPECT_TRUE(IsNonNegativeWhere(arena_, conditions, row));
  EXPECT_TRUE(IsNonNegativeWhere(arena_, conditions, Affine(8) - row));
  EXPECT_FALSE(IsNonNegativeWhere(arena_, conditions, Affine(7) - row));
  EXPECT_FALSE(IsNonNegativeWhere(arena_, conditions, row - Affine(1)));
  for (size_t k = 0; k < conditions.size(); ++k) {
    std::vector<PolyId> fewer = conditions;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
    EXPECT_FALSE(IsNonNegativeWhere(arena_, fewer, row) &&
                 IsNonNegativeWhere(arena_, fewer, Affine(8) - row))
        << k;
  }
  // The same conditions as one product, which is 1 where all are.
  PolyId product = arena_.One();
  for (const PolyId each : conditions) product = arena_.Mul(product, each);
  EXPECT_TRUE(IsNonNegativeWhere(arena_, {product}, Affine(8) - row));
}

TEST_F(LinearBoundsTest, AnEqualityBoundsOnBothSides) {
  const Affine i = Free(-9, 9), j = Free(0, 4);
  const std::vector<PolyId> equal = {arena_.Delta(i - j)};
  EXPECT_TRUE(IsNonNegativeWhere(arena_, equal, i));
  EXPECT_TRUE(IsNonNegativeWhere(arena_, equal, Affine(4) - i));
  EXPECT_FALSE(IsNonNegativeWhere(arena_, equal, Affine(3) - i));
}

// A sum of conditions is 1 where one of them is; a condition that is false says the opposite.
TEST_F(LinearBoundsTest, OnlyProductsOfConditionsSayWhatTheirFactorsSay) {
  const Affine i = Free(-9, 9), j = Free(-9, 9);
  const PolyId first = arena_.Indicator(i), second = arena_.Indicator(j);
  const PolyId either = arena_.Sub(arena_.Add(first, second), arena_.Mul(first, second));
  EXPECT_FALSE(IsNonNegativeWhere(arena_, {either}, i));
  EXPECT_FALSE(IsNonNegativeWhere(arena_, {arena_.Sub(arena_.One(), first)}, i));
  EXPECT_TRUE(IsNonNegativeWhere(arena_, {first}, i));
  EXPECT_FALSE(IsNonNegativeWhere(arena_, {first}, -i));
  EXPECT_FALSE(IsNonNegativeWhere(arena_, {}, i));
}

// What the derivative of a convolution reads of a flattened volume: three digits. With a fourth it
// is not seen, which is no wrong answer.
TEST_F(LinearBoundsTest, ThreeConditionsAreAdded) {
  std::vector<PolyId> conditions;
  Affine row;
  for (int digits = 1; digits <= 4; ++digits) {
    const Affine digit = Free(0, 3) - Free(0, 1);
    for (const PolyId each : Within(digit, 3)) conditions.push_back(each);
    row = row.Scaled(3) + digit;
    const int64_t extent = digits == 1 ? 3 : digits == 2 ? 9 : digits == 3 ? 27 : 81;
    EXPECT_EQ(IsNonNegativeWhere(arena_, conditions, row), digits <= 3) << digits;
    EXPECT_EQ(IsNonNegativeWhere(arena_, conditions, Affine(extent - 1) - row), digits <= 3);
    EXPECT_FALSE(IsNonNegativeWhere(arena_, conditions, Affine(extent - 2) - row)) << digits;
  }
}

// The condition that tells is the last of so many that do not.
TEST_F(LinearBoundsTest, FourHundredSumsAreTried) {
  const Affine i = Free(-9, 9);
  const auto shown = [&](int others) {
    std::vector<PolyId> conditions;
    for (int k = 0; k < others; ++k) conditions.push_back(arena_.Indicator(i + Free(-9, 9)));
    conditions.push_back(arena_.Indicator(i));
    return IsNonNegativeWhere(arena_, conditions, i);
  };
  EXPECT_TRUE(shown(399));
  EXPECT_FALSE(shown(400));
}

TEST_F(LinearBoundsTest, NothingFollowsFromWhatOverflows) {
  const Affine i = Free(-9, 9);
  const Affine large = i.Scaled(solver::kAffineLimit).Scaled(4);
  ASSERT_TRUE(large.overflow);
  EXPECT_FALSE(IsNonNegativeWhere(arena_, {arena_.Indicator(i)}, large));
}

}  // namespace
}  // namespace planproof::sdfg
