#include "lineage/rounds/at_rank.h"

#include <gtest/gtest.h>

#include <optional>

namespace planproof::lineage::rounds {
namespace {

using sdfg::DType;
using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;

constexpr int64_t kRanksOfAll = 8, kExtentOfEach = 4, kOwnRank = 3;

// y[c, i] = x[c, i] where all of so many conditions c <= bound hold, which differ, else 0.
IndexFunction WithConditions(int count, int64_t bound) {
  IndexFunctionBuilder b("conditions");
  const int x = b.AddInput("x", sdfg::Shape{kRanksOfAll, kExtentOfEach}, DType::kFloat32);
  const int y = b.AddOutput("y", sdfg::Shape{kRanksOfAll, kExtentOfEach}, DType::kFloat32);
  const std::vector<sdfg::VarId> dims = b.OutputDims(y);
  const ExprId c = b.Index(dims[0]), i = b.Index(dims[1]);
  ExprId all = b.Binary(Op::kIntLessEq, c, b.Int(bound));
  for (int k = 1; k < count; ++k) {
    all = b.Binary(Op::kAnd, all, b.Binary(Op::kIntLessEq, c, b.Int(bound + k)));
  }
  b.SetBody(y, b.Select(all, b.Element(x, {c, i}), b.Real(solver::Rational())));
  IndexFunction made;
  EXPECT_TRUE(b.Finish(&made).ok());
  return made;
}

std::optional<Condition> ConditionOf(const IndexFunction& f) {
  AtRank at(f, /*axes=*/1, /*ring=*/0, kOwnRank);
  return at.ConditionAt(at.At(f.outputs[0].body).args[0]);
}

TEST(AtRank, TellsConditionsOfTheRank) {
  const std::optional<Condition> holds = ConditionOf(WithConditions(2, kOwnRank));
  ASSERT_TRUE(holds.has_value());
  EXPECT_EQ(holds->kind, Condition::Kind::kAlways);
  const std::optional<Condition> fails = ConditionOf(WithConditions(2, kOwnRank - 1));
  ASSERT_TRUE(fails.has_value());
  EXPECT_EQ(fails->kind, Condition::Kind::kNever);
}

TEST(AtRank, ChoosesTheBranchOfTheRank) {
  for (const int64_t bound : {kOwnRank, kOwnRank - 1}) {
    const IndexFunction f = WithConditions(1, bound);
    const AtRank at(f, 1, 0, kOwnRank);
    const sdfg::Node& select = at.At(f.outputs[0].body);
    EXPECT_EQ(at.Chosen(f.outputs[0].body), select.args[bound == kOwnRank ? 1 : 2]);
  }
}

// Three steps for each comparison and one for each conjunction.
TEST(AtRank, GivesUpAfterAThousandSteps) {
  EXPECT_TRUE(ConditionOf(WithConditions(250, kOwnRank)).has_value());   // 999
  EXPECT_FALSE(ConditionOf(WithConditions(251, kOwnRank)).has_value());  // 1003
}

}  // namespace
}  // namespace planproof::lineage::rounds
