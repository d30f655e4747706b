// Positions that are singled out, where there is little to single out.
#include <gtest/gtest.h>

#include <string>

#include "sdfg/index_function.h"
#include "shape_reduction/focused_search.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::DType;
using sdfg::ExprId;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using sdfg::Shape;

// For each id, a number that an integer looks up or, if the table has no dimensions, the only one.
sdfg::IndexFunction LookUp(int64_t count, const Shape& table, int64_t factor) {
  IndexFunctionBuilder f("look_up");
  f.AddInput("ids", {count}, DType::kInt64);
  f.AddInput("table", table, DType::kFloat32);
  const int y = f.AddOutput("y", Shape{count}, DType::kFloat32);
  const ExprId id = f.IntElement(0, {f.Index(f.OutputDims(y)[0])});
  const ExprId in_range = f.Binary(Op::kIntLessEq, f.Int(0), id);
  const ExprId value = table.empty() ? f.Element(1, {}) : f.Element(1, {id});
  f.SetBody(y, f.Select(in_range, f.Binary(Op::kMul, value, f.Real(solver::Rational(factor))),
                        f.Real(solver::Rational(0))));
  sdfg::IndexFunction function;
  const absl::Status status = f.Finish(&function);
  EXPECT_TRUE(status.ok()) << status;
  return function;
}

// A plan whose result is `factor` times the model's.
Witness Searched(int64_t count, const Shape& table, int64_t factor) {
  SmallProblem small;
  const sdfg::TensorId ids = small.Logical("ids", {count}, sdfg::TensorRole::kInput, DType::kInt64);
  const sdfg::TensorId w = small.Logical("w", table, sdfg::TensorRole::kParameter);
  const sdfg::TensorId y = small.Apply(&small.problem.logical, LookUp(count, table, 1), {ids, w});
  const sdfg::TensorId plan_ids = small.Slice(ids, {0}, {count});
  const sdfg::TensorId plan_w = small.Slice(w, std::vector<int64_t>(table.size(), 0), table);
  const sdfg::TensorId plan_y =
      small.Apply(&small.problem.parallel, LookUp(count, table, factor), {plan_ids, plan_w}, 0);
  small.Claim(plan_y, y, {0});
  small.Require(plan_y, y, {0});
  small.Check();
  WitnessOptions options;
  options.attempts = 16;  // of every kind
  return SearchFocused(small.problem, {{plan_y, small.problem.lineage[plan_y], {}, {}}}, options);
}

TEST(LonePositions, AreInATable) {
  EXPECT_EQ(Searched(6, {8}, 2).outcome, Witness::Outcome::kConfirmed);
  EXPECT_EQ(Searched(6, {8}, 1).outcome, Witness::Outcome::kNone);
}

TEST(LonePositions, NoneAmongNoIntegers) {
  EXPECT_EQ(Searched(0, {8}, 2).outcome, Witness::Outcome::kNone);
}

TEST(LonePositions, NoneInANumber) {
  EXPECT_EQ(Searched(6, {}, 2).outcome, Witness::Outcome::kConfirmed);
  EXPECT_EQ(Searched(6, {}, 1).outcome, Witness::Outcome::kNone);
}

TEST(LonePositions, OneRowForAll) {
  EXPECT_EQ(Searched(6, {1}, 2).outcome, Witness::Outcome::kConfirmed);
  EXPECT_EQ(Searched(6, {1}, 1).outcome, Witness::Outcome::kNone);
}

}  // namespace
}  // namespace planproof::shape_reduction
