// Of two layers, of which no tensor between weights and results is the model's, the operator that
// one does otherwise.
#include "diagnosis/odd_operator.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnosis/operands.h"
#include "sdfg/operator_library.h"

namespace planproof::diagnosis {
namespace {

using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

constexpr int64_t kLength = 8;

// One layer: `functions` of the product of what it reads with its weight, and their sum.
class OddOperatorTest : public ::testing::Test {
 protected:
  struct Layer {
    TensorId product = kNone, first = kNone, second = kNone, sum = kNone;
  };

  TensorId AddSource(const std::string& name, sdfg::TensorRole role) {
    sdfg::Tensor tensor;
    tensor.name = name;
    tensor.shape = {kLength};
    tensor.dtype = sdfg::DType::kFloat32;
    tensor.role = role;
    return graph_.AddTensor(tensor);
  }

  TensorId Apply(const std::string& function, const std::vector<TensorId>& operands) {
    sdfg::Tensor tensor;
    tensor.name = "t" + std::to_string(graph_.tensors.size());
    tensor.shape = {kLength};
    tensor.dtype = sdfg::DType::kFloat32;
    const sdfg::Operand type{.shape = {kLength}, .dtype = sdfg::DType::kFloat32};
    sdfg::Operator op;
    op.name = function;
    op.function = graph_.Intern(*sdfg::OperatorLibrary::BuiltIn().Instantiate(
        function, std::vector<sdfg::Operand>(operands.size(), type), {}));
    op.inputs = operands;
    op.outputs = {graph_.AddTensor(tensor)};
    graph_.AddOperator(op);
    return op.outputs[0];
  }

  Layer AddLayer(TensorId read, const std::string& first, const std::string& second) {
    Layer layer;
    const TensorId weight =
        AddSource("w" + std::to_string(graph_.tensors.size()), sdfg::TensorRole::kParameter);
    layer.product = Apply("mul", {read, weight});
    layer.first = Apply(first, {layer.product});
    layer.second = Apply(second, {layer.first});
    layer.sum = Apply("add", {layer.first, layer.second});
    return layer;
  }

  std::optional<OddOperator> Find(const std::vector<TensorId>& right = {}) {
    lineage::Problem problem;
    problem.parallel = graph_;
    problem.lineage.resize(graph_.tensors.size());
    std::vector<bool> is_right(graph_.tensors.size(), false);
    for (const TensorId t : right) is_right[t] = true;
    return FindOddOperator(problem, std::vector<bool>(graph_.tensors.size(), true), is_right);
  }
  OperatorId Producer(TensorId t) const { return graph_.tensors[t].producer; }

  sdfg::Graph graph_;
  const TensorId x_ = AddSource("x", sdfg::TensorRole::kInput);
};

TEST_F(OddOperatorTest, NoneWhereLayersAreAlike) {
  const Layer one = AddLayer(x_, "exp", "neg");
  AddLayer(one.sum, "exp", "neg");
  EXPECT_FALSE(Find().has_value());
}

TEST_F(OddOperatorTest, AnotherFunction) {
  const Layer one = AddLayer(x_, "exp", "neg");
  const Layer two = AddLayer(one.sum, "exp", "sin");
  AddLayer(two.sum, "exp", "neg");
  const auto found = Find();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->odd, Producer(two.second));
  EXPECT_EQ(found->like, Producer(one.second));
  EXPECT_EQ(found->difference, "is another function than " + graph_.Describe(Producer(one.second)));
}

TEST_F(OddOperatorTest, AnotherOperandAndNotWhatIsComputedFromIt) {
  const Layer one = AddLayer(x_, "exp", "neg");
  const Layer two = AddLayer(one.sum, "exp", "neg");
  AddLayer(two.sum, "exp", "neg");
  graph_.operators[Producer(two.sum)].inputs[1] = two.product;
  const auto found = Find();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->odd, Producer(two.sum));
  EXPECT_EQ(found->difference, "reads " + graph_.tensors[two.product].name + " where " +
                                   graph_.Describe(Producer(one.sum)) + " reads " +
                                   graph_.tensors[one.second].name);
}

TEST_F(OddOperatorTest, OfTwoTheOneThatIsNotRight) {
  const Layer one = AddLayer(x_, "exp", "neg");
  const Layer two = AddLayer(one.sum, "exp", "sin");
  const auto found = Find(/*right=*/{one.first, one.second, one.sum});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->odd, Producer(two.second));
  EXPECT_EQ(found->like, Producer(one.second));
}

TEST_F(OddOperatorTest, NoneWhereTwoThingsDiffer) {
  const Layer one = AddLayer(x_, "exp", "neg");
  const Layer two = AddLayer(one.sum, "exp", "sin");
  graph_.operators[Producer(two.second)].inputs[0] = two.product;
  EXPECT_FALSE(Find(/*right=*/{one.first, one.second, one.sum}).has_value());
}

TEST_F(OddOperatorTest, WhatHasAnotherNameIsNoCounterpart) {
  const Layer one = AddLayer(x_, "exp", "neg");
  const Layer two = AddLayer(one.sum, "exp", "sin");
  graph_.tensors[two.second].name = "gate";
  EXPECT_FALSE(Find(/*right=*/{one.first, one.second, one.sum}).has_value());
  graph_.tensors[one.second].name = "gate";
  EXPECT_TRUE(Find(/*right=*/{one.first, one.second, one.sum}).has_value());
}

TEST_F(OddOperatorTest, StepsOfOneChainAreNoCounterparts) {
  const TensorId one = Apply("neg", {x_}), two = Apply("add", {one, x_});
  Apply("neg", {Apply("add", {two, x_})});
  EXPECT_FALSE(Find().has_value());
}

TEST_F(OddOperatorTest, WhatIsRightMakesOnlyTheOperandsThatItNeedsRight) {
  const Layer one = AddLayer(x_, "exp", "neg");
  std::vector<bool> right(graph_.tensors.size(), false);
  right[one.second] = true;
  right = WithOperands(graph_, right);
  EXPECT_TRUE(right[one.first]);
  EXPECT_TRUE(right[x_]);
  EXPECT_FALSE(right[one.sum]);
  const std::vector<bool> behind = NotRightBehind(graph_, Producer(one.sum), right);
  EXPECT_TRUE(behind[one.sum]);
  EXPECT_FALSE(behind[one.first]);
}

}  // namespace
}  // namespace planproof::diagnosis
