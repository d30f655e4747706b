// What is read from a plan's graph about contributions of ranks.
#include "monitor/proved/export_contributions.h"

#include <gtest/gtest.h>

#include <functional>

#include "sdfg/collectives.h"

namespace planproof::monitor {
namespace {

using sdfg::ExprId;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using sdfg::TensorId;
using solver::Rational;

// Two ranks that each contract a batch of three rows to a gradient of four elements.
class PlanOfTwo {
 public:
  sdfg::Graph graph;

  TensorId Computed(int rank, const std::vector<TensorId>& inputs, sdfg::IndexFunction function,
                    sdfg::DType dtype = sdfg::DType::kFloat32,
                    sdfg::OperatorKind kind = sdfg::OperatorKind::kCompute) {
    sdfg::Tensor tensor;
    tensor.shape = function.outputs[0].shape(function.vars);
    tensor.dtype = dtype;
    tensor.device = rank;
    sdfg::Operator op;
    op.kind = kind;
    op.lifted = kind == sdfg::OperatorKind::kCompute;
    op.function = graph.Intern(std::move(function));
    op.inputs = inputs;
    op.devices = {rank};
    op.outputs = {graph.AddTensor(tensor)};
    const TensorId made = op.outputs[0];
    graph.AddOperator(std::move(op));
    return made;
  }

  TensorId Made(int rank, const std::vector<TensorId>& inputs,
                const std::function<ExprId(IndexFunctionBuilder*, int)>& make,
                sdfg::DType dtype = sdfg::DType::kFloat32) {
    IndexFunctionBuilder builder("test");
    for (const TensorId input : inputs) {
      builder.AddInput("x", graph.tensors[input].shape, graph.tensors[input].dtype);
    }
    const int output = builder.AddOutput("y", sdfg::Shape{4}, dtype);
    builder.SetBody(output, make(&builder, output));
    sdfg::IndexFunction function;
    EXPECT_TRUE(builder.Finish(&function).ok());
    return Computed(rank, inputs, std::move(function), dtype);
  }

  TensorId Contribution(int rank) {
    sdfg::Tensor batch;
    batch.shape = {3, 4};
    batch.dtype = sdfg::DType::kFloat32;
    batch.role = sdfg::TensorRole::kInput;
    batch.device = rank;
    const TensorId held = graph.AddTensor(batch);
    return Made(rank, {held}, [](IndexFunctionBuilder* b, int y) {
      const sdfg::VarId row = b->AddVar("r", 3);
      return b->Reduce(Op::kSum, row,
                       b->Element(0, {b->Index(row), b->Index(b->OutputDims(y)[0])}));
    });
  }

  TensorId Scaled(int rank, TensorId x, const Rational& factor,
                  sdfg::DType dtype = sdfg::DType::kFloat32) {
    return Made(
        rank, {x},
        [&](IndexFunctionBuilder* b, int y) {
          return b->Binary(Op::kMul, b->Element(0, {b->Index(b->OutputDims(y)[0])}),
                           b->Real(factor));
        },
        dtype);
  }

  TensorId Sum(int rank, TensorId a, TensorId b) {
    return Made(rank, {a, b}, [](IndexFunctionBuilder* builder, int y) {
      const ExprId index = builder->Index(builder->OutputDims(y)[0]);
      return builder->Binary(Op::kAdd, builder->Element(0, {index}), builder->Element(1, {index}));
    });
  }

  TensorId Reduced(int rank, TensorId a, TensorId b, sdfg::ReduceKind how) {
    auto function = sdfg::AllReduce({4}, sdfg::DType::kFloat32, 2, how);
    EXPECT_TRUE(function.ok());
    return Computed(rank, {a, b}, *std::move(function), sdfg::DType::kFloat32,
                    sdfg::OperatorKind::kAllReduce);
  }

  std::optional<ContributionForm> FormOf(
      TensorId gradient, const std::vector<std::pair<TensorId, TensorId>>& in_place = {}) const {
    return ContributionReader(graph, in_place).FormOf(gradient);
  }
};

const Rational kHalfOfTwo = Rational(1) / Rational(2);

TEST(ContributionReader, SumsAndMeansOfCollectivesAreRead) {
  PlanOfTwo plan;
  const TensorId a = plan.Contribution(0), b = plan.Contribution(1);
  const auto sum = plan.FormOf(plan.Reduced(0, a, b, sdfg::ReduceKind::kSum));
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->factor, 1);
  EXPECT_EQ(sum->ranks, (std::set<int32_t>{0, 1}));
  const auto mean = plan.FormOf(plan.Reduced(0, a, b, sdfg::ReduceKind::kAvg));
  ASSERT_TRUE(mean.has_value());
  EXPECT_EQ(mean->factor, 0.5);
}

TEST(ContributionReader, AFactorCountsWhereItIsWrittenInPlace) {
  PlanOfTwo plan;
  const TensorId a = plan.Scaled(0, plan.Contribution(0), kHalfOfTwo);
  const TensorId b = plan.Scaled(1, plan.Contribution(1), kHalfOfTwo);
  const TensorId gradient = plan.Reduced(0, a, b, sdfg::ReduceKind::kSum);
  // It may be differentiation's.
  EXPECT_FALSE(plan.FormOf(gradient).has_value());
  EXPECT_FALSE(plan.FormOf(gradient, {{a, a + 1}}).has_value());
  const auto form = plan.FormOf(gradient, {{a, a + 1}, {b, b + 1}});
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->factor, 0.5);
}

TEST(ContributionReader, MicrobatchesAreAddedUp) {
  PlanOfTwo plan;
  const TensorId a = plan.Sum(0, plan.Contribution(0), plan.Contribution(0));
  const TensorId b = plan.Sum(1, plan.Contribution(1), plan.Contribution(1));
  const auto form = plan.FormOf(plan.Reduced(1, a, b, sdfg::ReduceKind::kAvg));
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->factor, 0.5);
}

TEST(ContributionReader, UnequalFactorsAndOtherFunctionsAreNone) {
  PlanOfTwo plan;
  const TensorId a = plan.Contribution(0), b = plan.Contribution(1);
  const TensorId more = plan.Scaled(1, b, Rational(2));
  EXPECT_FALSE(plan.FormOf(plan.Reduced(0, a, more, sdfg::ReduceKind::kSum), {{more, more + 1}})
                   .has_value());
  const TensorId square = plan.Made(1, {b}, [](IndexFunctionBuilder* builder, int y) {
    const ExprId x = builder->Element(0, {builder->Index(builder->OutputDims(y)[0])});
    return builder->Binary(Op::kMul, x, x);
  });
  EXPECT_FALSE(plan.FormOf(plan.Reduced(0, a, square, sdfg::ReduceKind::kSum)).has_value());
}

TEST(ContributionReader, NarrowerTypesOnTheWayAreNone) {
  PlanOfTwo plan;
  const TensorId a = plan.Contribution(0);
  const TensorId narrow = plan.Scaled(1, plan.Contribution(1), Rational(1), sdfg::DType::kBFloat16);
  const TensorId wide = plan.Scaled(1, narrow, Rational(1));
  EXPECT_FALSE(plan.FormOf(plan.Reduced(0, a, wide, sdfg::ReduceKind::kSum)).has_value());
}

}  // namespace
}  // namespace planproof::monitor
