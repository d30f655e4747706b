#include "sdfg/dense_evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace planproof::sdfg {
namespace {

using ::testing::ElementsAre;

std::vector<double> Evaluate(IndexFunctionBuilder* builder,
                             const std::vector<DenseTensor>& inputs) {
  IndexFunction f;
  const absl::Status status = builder->Finish(&f);
  EXPECT_TRUE(status.ok()) << status;
  const auto result = EvaluateDense(f, inputs);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? (*result)[0].data : std::vector<double>();
}

TEST(DenseEvaluatorTest, MatrixProduct) {
  IndexFunctionBuilder b("linear");
  const int x = b.AddInput("x", {2, 3}, DType::kFloat64);
  const int w = b.AddInput("w", {2, 3}, DType::kFloat64);
  const int y = b.AddOutput("y", Shape{2, 2}, DType::kFloat64);
  const VarId k = b.AddVar("k", 3);
  b.SetBody(y, b.Reduce(Op::kSum, k,
                        b.Binary(Op::kMul, b.Element(x, {b.Index(b.OutputDims(y)[0]), b.Index(k)}),
                                 b.Element(w, {b.Index(b.OutputDims(y)[1]), b.Index(k)}))));
  EXPECT_THAT(Evaluate(&b, {{{2, 3}, {1, 2, 3, 4, 5, 6}}, {{2, 3}, {1, 0, 2, -1, 1, 0}}}),
              ElementsAre(7, 1, 16, 1));
}

TEST(DenseEvaluatorTest, MaskedSoftmaxIgnoresMinusInfinity) {
  IndexFunctionBuilder b("softmax");
  const int x = b.AddInput("x", {2, 2}, DType::kFloat64);
  const int y = b.AddOutput("y", Shape{2, 2}, DType::kFloat64);
  const ExprId q = b.Index(b.OutputDims(y)[0]);
  const auto masked = [&](ExprId k) {
    return b.Select(b.Binary(Op::kIntLessEq, k, q), b.Element(x, {q, k}), b.NegInf());
  };
  const VarId k1 = b.AddVar("k1", 2);
  const VarId k2 = b.AddVar("k2", 2);
  const ExprId top = b.Reduce(Op::kReduceMax, k1, masked(b.Index(k1)));
  const auto weight = [&](ExprId k) {
    return b.Unary(Op::kExp, b.Binary(Op::kAdd, masked(k), b.Unary(Op::kNeg, top)));
  };
  const ExprId total = b.Reduce(Op::kSum, k2, weight(b.Index(k2)));
  b.SetBody(y, b.Binary(Op::kDiv, weight(b.Index(b.OutputDims(y)[1])), total));
  EXPECT_THAT(Evaluate(&b, {{{2, 2}, {5, 900, 700, 700}}}), ElementsAre(1, 0, 0.5, 0.5));
}

TEST(DenseEvaluatorTest, OnlyTheTakenBranchIsRead) {
  IndexFunctionBuilder b("shift");
  const int x = b.AddInput("x", {3}, DType::kFloat64);
  const int y = b.AddOutput("y", Shape{3}, DType::kFloat64);
  const ExprId i = b.Index(b.OutputDims(y)[0]);
  b.SetBody(y, b.Select(b.Binary(Op::kIntLess, i, b.Int(1)), b.Real(0),
                        b.Element(x, {b.IntAdd(i, b.Int(-1))})));
  EXPECT_THAT(Evaluate(&b, {{{3}, {1, 2, 3}}}), ElementsAre(0, 1, 2));
}

TEST(DenseEvaluatorTest, DivAndModRoundTowardMinusInfinity) {
  IndexFunctionBuilder b("digits");
  const int y = b.AddOutput("y", Shape{5}, DType::kInt64);
  const ExprId i = b.IntAdd(b.Index(b.OutputDims(y)[0]), b.Int(-3));
  b.SetBody(y, b.IntAdd(b.IntScale(10, b.IntDiv(i, 2)), b.IntMod(i, 2)));
  EXPECT_THAT(Evaluate(&b, {}), ElementsAre(-19, -10, -9, 0, 1));
}

TEST(DenseEvaluatorTest, IdOutOfRangeIsAnError) {
  IndexFunctionBuilder b("gather");
  const int w = b.AddInput("w", {3}, DType::kFloat64);
  const int ids = b.AddInput("ids", {2}, DType::kInt64);
  const int y = b.AddOutput("y", Shape{2}, DType::kFloat64);
  b.SetBody(y, b.Element(w, {b.IntElement(ids, {b.Index(b.OutputDims(y)[0])})}));
  IndexFunction f;
  ASSERT_TRUE(b.Finish(&f).ok());
  EXPECT_TRUE(EvaluateDense(f, {{{3}, {1, 2, 3}}, {{2}, {0, 2}}}).ok());
  EXPECT_FALSE(EvaluateDense(f, {{{3}, {1, 2, 3}}, {{2}, {0, 3}}}).ok());
  EXPECT_FALSE(EvaluateDense(f, {{{3}, {1, 2, 3}}, {{2}, {0}}}).ok());
}

TEST(DenseEvaluatorTest, ScalarFunctionsAreThoseOfTheLibrary) {
  const std::vector<std::pair<Op, std::function<double(double)>>> functions = {
      {Op::kExp, [](double v) { return std::exp(v); }},
      {Op::kLog, [](double v) { return std::log(v); }},
      {Op::kErf, [](double v) { return std::erf(v); }},
      {Op::kSin, [](double v) { return std::sin(v); }},
      {Op::kCos, [](double v) { return std::cos(v); }},
      {Op::kAbs, [](double v) { return std::fabs(v); }},
      {Op::kNeg, [](double v) { return -v; }},
  };
  for (const auto& [op, expected] : functions) {
    IndexFunctionBuilder b("f");
    const int x = b.AddInput("x", Shape{}, DType::kFloat64);
    b.SetBody(b.AddOutput("y", Shape{}, DType::kFloat64), b.Unary(op, b.Element(x, {})));
    EXPECT_THAT(Evaluate(&b, {{{}, {0.7}}}), ElementsAre(expected(0.7)));
  }
}

TEST(DenseEvaluatorTest, OpaqueFunctionsSeeTheirRow) {
  IndexFunctionBuilder b("argmax");
  const int x = b.AddInput("x", {2, 3}, DType::kFloat64);
  const int y = b.AddOutput("y", Shape{2}, DType::kInt64);
  const VarId j = b.AddVar("j", 3);
  b.SetBody(y, b.Opaque("argmax", true, j,
                        {b.Element(x, {b.Index(b.OutputDims(y)[0]), b.Index(j)}), b.Int(7)}));
  IndexFunction f;
  ASSERT_TRUE(b.Finish(&f).ok());
  const auto argmax = [](const OpaqueCall& call) -> absl::StatusOr<double> {
    EXPECT_EQ(call.name, "argmax");
    EXPECT_THAT(call.scalars, ElementsAre(7));
    return static_cast<double>(std::max_element(call.row.begin(), call.row.end()) -
                               call.row.begin());
  };
  const auto result = EvaluateDense(f, {{{2, 3}, {1, 5, 2, 9, 5, 2}}}, argmax);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT((*result)[0].data, ElementsAre(1, 0));
  const auto hashed = EvaluateDense(f, {{{2, 3}, {1, 5, 2, 1, 5, 2}}});
  EXPECT_EQ((*hashed)[0].data[0], (*hashed)[0].data[1]);
  EXPECT_LT((*hashed)[0].data[0], 3);
}

TEST(DenseEvaluatorTest, DeepExpressionsAreRefused) {
  IndexFunctionBuilder b("deep");
  const int x = b.AddInput("x", Shape{}, DType::kFloat64);
  ExprId e = b.Element(x, {});
  for (int i = 0; i < 200000; ++i) e = b.Unary(Op::kSin, e);
  b.SetBody(b.AddOutput("y", Shape{}, DType::kFloat64), e);
  IndexFunction f;
  ASSERT_TRUE(b.Finish(&f).ok());
  EXPECT_EQ(EvaluateDense(f, {{{}, {1}}}).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(DenseEvaluatorTest, LiftedOperatorsRunAtEveryCoordinate) {
  Graph graph;
  graph.axes = {{"dp", 2}, {"tp", 3}};
  const auto add = [&graph](const char* name, TensorRole role, std::vector<AxisId> axes,
                            Shape shape) {
    Tensor t;
    t.name = name;
    t.role = role;
    t.axes = std::move(axes);
    t.shape = std::move(shape);
    return graph.AddTensor(std::move(t));
  };
  const TensorId x = add("x", TensorRole::kInput, {0}, {2, 2});
  const TensorId z = add("z", TensorRole::kInput, {1}, {3, 2});
  const TensorId one = add("one", TensorRole::kOne, {}, {2});
  const TensorId y = add("y", TensorRole::kIntermediate, {0, 1}, {2, 3, 2});
  IndexFunctionBuilder b("sum3");
  for (const char* name : {"a", "b", "c"}) b.AddInput(name, {2}, DType::kFloat64);
  const int out = b.AddOutput("y", Shape{2}, DType::kFloat64);
  const ExprId i = b.Index(b.OutputDims(out)[0]);
  b.SetBody(out, b.Binary(Op::kAdd, b.Binary(Op::kAdd, b.Element(0, {i}), b.Element(1, {i})),
                          b.Element(2, {i})));
  IndexFunction f;
  ASSERT_TRUE(b.Finish(&f).ok());
  Operator op;
  op.name = "sum3";
  op.function = graph.Intern(f);
  op.inputs = {x, z, one};
  op.outputs = {y};
  graph.AddOperator(op);
  const absl::Status status = graph.Check();
  ASSERT_TRUE(status.ok()) << status;
  const auto result = EvaluateDenseGraph(
      graph, {{x, {{2, 2}, {0, 100, 200, 300}}}, {z, {{3, 2}, {0, 10, 20, 30, 40, 50}}}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT((*result)[y].data,
              ElementsAre(1, 111, 21, 131, 41, 151, 201, 311, 221, 331, 241, 351));
  EXPECT_FALSE(EvaluateDenseGraph(graph, {}).ok());
}

}  // namespace
}  // namespace planproof::sdfg
