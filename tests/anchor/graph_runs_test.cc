// Graphs on recorded numbers, and what rounding makes of their results.
#include "anchor/graph_runs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sdfg/operator_library.h"

namespace planproof::anchor {
namespace {

using runtime_check::Values;
using sdfg::DType;
using sdfg::TensorId;

class SmallGraph : public testing::Test {
 protected:
  TensorId Input(DType dtype, std::vector<double> elements,
                 sdfg::TensorRole role = sdfg::TensorRole::kInput) {
    sdfg::Tensor tensor;
    tensor.name = "x";
    tensor.shape = {static_cast<int64_t>(elements.size())};
    tensor.dtype = dtype;
    tensor.role = role;
    Values values = Values::Zeros(tensor.shape, dtype, DType::kFloat64);
    for (size_t i = 0; i < elements.size(); ++i) values.Set(static_cast<int64_t>(i), elements[i]);
    initial_.tensors.push_back(std::move(values));
    return graph_.AddTensor(std::move(tensor));
  }
  TensorId Apply(const std::string& name, const std::vector<TensorId>& inputs) {
    std::vector<sdfg::Operand> operands;
    for (const TensorId input : inputs) {
      sdfg::Operand& operand = operands.emplace_back();
      operand.shape = graph_.tensors[input].shape;
      operand.dtype = graph_.tensors[input].dtype;
    }
    auto function = sdfg::OperatorLibrary::BuiltIn().Instantiate(name, operands, {});
    EXPECT_TRUE(function.ok()) << function.status();
    sdfg::Operator op;
    op.name = name;
    op.inputs = inputs;
    op.function = graph_.Intern(*std::move(function));
    sdfg::Tensor result = graph_.tensors[inputs[0]];
    result.role = sdfg::TensorRole::kIntermediate;
    result.name = name;
    op.outputs = {graph_.AddTensor(std::move(result))};
    initial_.tensors.emplace_back();
    const TensorId output = op.outputs[0];
    graph_.AddOperator(std::move(op));
    return output;
  }
  ComputedTensor Run(TensorId tensor, bool perturbed = true) {
    GraphRuns runs(graph_, limits_);
    const absl::StatusOr<ComputedTensors> computed = runs.Run(initial_, {tensor}, perturbed);
    EXPECT_TRUE(computed.ok()) << computed.status();
    return computed.ok() ? computed->at(tensor) : ComputedTensor{};
  }

  sdfg::Graph graph_;
  InitialValues initial_;
  RunLimits limits_;
};

TEST_F(SmallGraph, ComputesInDoubles) {
  const TensorId x = Input(DType::kFloat32, {1, 2, 3});
  EXPECT_EQ(Run(Apply("add", {x, x}), false).values.doubles, (std::vector<double>{2, 4, 6}));
}

TEST_F(SmallGraph, RoundingIsThatOfTheTensorsTypes) {
  for (const auto& [dtype, spacing] :
       {std::make_pair(DType::kFloat32, 0x1p-23), std::make_pair(DType::kBFloat16, 0x1p-7)}) {
    const TensorId x = Input(dtype, {1, 2, 3});
    const ComputedTensor sum = Run(Apply("add", {x, x}));
    for (int64_t i = 0; i < 3; ++i) {
      const double relative = std::sqrt(sum.changes[i]) / sum.values.At(i);
      EXPECT_LE(relative, 3 * spacing);
      EXPECT_GE(sum.changes[0] + sum.changes[1] + sum.changes[2], spacing * spacing / 4);
    }
  }
}

// x - x is 0 in every type; (x + x) - (x + x) computed twice is not.
TEST_F(SmallGraph, CancellationLeavesWhatItsOperandsWereRoundedBy) {
  const TensorId x = Input(DType::kFloat32, {1, 2, 3});
  const TensorId once = Apply("add", {x, x}), again = Apply("add", {x, x});
  const ComputedTensor same = Run(Apply("sub", {once, once}));
  EXPECT_EQ(same.changes, (std::vector<double>{0, 0, 0}));
  const ComputedTensor noise = Run(Apply("sub", {once, again}));
  EXPECT_EQ(noise.values.doubles, (std::vector<double>{0, 0, 0}));
  EXPECT_GT(noise.changes[0] + noise.changes[1] + noise.changes[2], 0x1p-48);
}

TEST_F(SmallGraph, WhatIsOnlyMovedIsNotRounded) {
  const TensorId x = Input(DType::kFloat32, {1, 2, 3}, sdfg::TensorRole::kBuffer);
  EXPECT_EQ(Run(Apply("identity", {x})).changes, (std::vector<double>{0, 0, 0}));
}

TEST_F(SmallGraph, ValuesThatAreGivenInsteadAreTaken) {
  const TensorId x = Input(DType::kFloat32, {1, 2, 3});
  const TensorId sum = Apply("add", {x, x}), twice = Apply("add", {sum, sum});
  initial_.instead[sum] = Values::Zeros({3}, DType::kFloat32, DType::kFloat64);
  EXPECT_EQ(Run(twice).values.doubles, (std::vector<double>{0, 0, 0}));
}

TEST_F(SmallGraph, BeyondTheLimitsNothingIsRun) {
  const TensorId x = Input(DType::kFloat32, {1, 2, 3});
  Apply("add", {x, x});
  limits_.elements = 5;
  EXPECT_TRUE(absl::IsResourceExhausted(GraphRuns(graph_, limits_).CheckCost()));
}

}  // namespace
}  // namespace planproof::anchor
