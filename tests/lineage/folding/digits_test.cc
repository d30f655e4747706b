#include "lineage/folding/digits.h"

#include <gtest/gtest.h>

namespace planproof::lineage::folding {
namespace {

using Values = std::vector<int64_t>;

void ExpectFit(const Values& values, size_t terms) {
  const std::optional<sdfg::IndexMap> form = FitDigits(values, 3);
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->terms.size(), terms);
  for (size_t r = 0; r < values.size(); ++r) {
    EXPECT_EQ(ValueAt(*form, static_cast<int64_t>(r)), values[r]) << r;
  }
  for (const sdfg::IndexTerm& term : form->terms) EXPECT_EQ(term.dim, 3);
}

TEST(FitDigits, SliceStartsAreOneTerm) {
  ExpectFit({5, 5, 5}, 0);
  ExpectFit({0, 128, 256, 384, 512, 640, 768, 896}, 1);
  ExpectFit({7, 4, 1}, 1);
  ExpectFit({12}, 0);
}

TEST(FitDigits, PermutedPiecesAreAffineInDigits) {
  ExpectFit({0, 2, 4, 6, 1, 3, 5, 7}, 2);  // adapters between pipeline stages of nnScaler
  ExpectFit({2, 3, 0, 1}, 2);
  ExpectFit({0, 4, 2, 6, 1, 5, 3, 7}, 3);
  ExpectFit({0, 0, 0, 9, 9, 9}, 1);
  ExpectFit({0, 1, 2, 0, 1, 2}, 1);
}

TEST(FitDigits, OneDeviatingRankDoesNotFit) {
  EXPECT_FALSE(FitDigits({0, 128, 256, 385}, 0).has_value());
  EXPECT_FALSE(FitDigits({0, 128, 128, 384, 512, 640, 768, 896}, 0).has_value());
  EXPECT_FALSE(FitDigits({1, 2, 3, 0}, 0).has_value());
  EXPECT_FALSE(FitDigits({INT64_MIN, INT64_MAX, 0, 1}, 0).has_value());
}

TEST(FitDigits, TheExpressionHasTheValueAtEveryRank) {
  const Values values = {0, 2, 4, 6, 1, 3, 5, 7};
  const std::optional<sdfg::IndexMap> form = FitDigits(values, 0);
  ASSERT_TRUE(form.has_value());
  for (size_t r = 0; r < values.size(); ++r) {
    sdfg::IndexFunctionBuilder builder("f");
    const sdfg::ExprId value = Express(*form, builder.Int(static_cast<int64_t>(r)), &builder);
    ASSERT_EQ(builder.node(value).op, sdfg::Op::kIntConst);  // constants are folded
    EXPECT_EQ(builder.node(value).value, values[r]);
  }
}

}  // namespace
}  // namespace planproof::lineage::folding
