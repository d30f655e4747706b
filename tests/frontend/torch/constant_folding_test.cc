#include "frontend/torch/constant_folding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "frontend/torch/graph_writer.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::DType;
using sdfg::TensorId;
using solver::Rational;
using testing::ElementsAre;

class ConstantFolding : public testing::Test {
 protected:
  const sdfg::OperatorLibrary& library = sdfg::OperatorLibrary::BuiltIn();
  sdfg::Graph graph;
  FunctionTable functions;
  GraphWriter writer{&graph, &library, 0, &functions};
  ListedElements listed;

  TensorId Tensor(sdfg::Shape shape) {
    return writer.AddTensor("x", std::move(shape), DType::kFloat32, sdfg::TensorRole::kBuffer);
  }
  TensorId Constant(ExactElements elements) {
    const TensorId tensor = Tensor({static_cast<int64_t>(elements.size())});
    listed[tensor] = std::move(elements);
    return tensor;
  }
  TensorId Apply(const std::string& name, const std::vector<Argument>& arguments,
                 const sdfg::Attributes& attributes = {}) {
    return writer.Apply(name, arguments, attributes).value()[0];
  }
  TensorId Sum(TensorId tensor) {
    return Apply("sum", {Argument::Of(tensor)}, {{"dim", std::vector<int64_t>{0}}});
  }
  TensorId ToInteger(TensorId tensor) {
    return Apply("to", {Argument::Of(tensor)}, {{"dtype", std::string("int32")}});
  }
  std::set<TensorId> Fold() { return FoldConstants(library, listed, &graph).value(); }
  // The number that the tensor is, if its function says so.
  std::optional<Rational> NumberOf(TensorId tensor) const {
    const sdfg::IndexFunction& function = *graph.operators[graph.tensors[tensor].producer].function;
    const sdfg::Node& body = function.nodes[function.outputs[0].body];
    if (body.op == sdfg::Op::kReal) return body.real;
    if (body.op == sdfg::Op::kIntConst) return Rational(body.value);
    return std::nullopt;
  }
};

TEST_F(ConstantFolding, ASumOfAConstantIsANumber) {
  const TensorId constant = Constant({1, 0, Rational(1, 2)});
  const TensorId sum = Sum(constant);
  EXPECT_THAT(Fold(), ElementsAre(constant));
  EXPECT_EQ(NumberOf(sum), Rational(3, 2));
}

TEST_F(ConstantFolding, WhatDependsOnDataIsNot) {
  const TensorId constant = Constant({1, 0}), data = Tensor({2});
  const TensorId mixed = Sum(Apply("mul", {Argument::Of(constant), Argument::Of(data)}));
  const TensorId other = Sum(data);
  EXPECT_TRUE(Fold().empty());
  EXPECT_EQ(NumberOf(mixed), std::nullopt);
  EXPECT_EQ(NumberOf(other), std::nullopt);
}

TEST_F(ConstantFolding, WhatHasDimensionsStaysAFunctionOfTheConstant) {
  const TensorId constant = Constant({1, 1});
  const TensorId twice = Apply("mul", {Argument::Of(constant), Argument::Number(2)});
  EXPECT_TRUE(Fold().empty());
  EXPECT_EQ(NumberOf(twice), std::nullopt);
}

TEST_F(ConstantFolding, AWholeNumberIsConvertedToItself) {
  const TensorId constant = Constant({1, 0, 1});
  const TensorId number = ToInteger(Sum(constant));
  EXPECT_THAT(Fold(), ElementsAre(constant));
  EXPECT_EQ(NumberOf(number), Rational(2));
}

TEST_F(ConstantFolding, AFractionIsNotTruncated) {
  const TensorId number = ToInteger(Sum(Constant({Rational(5, 2), 1})));
  Fold();
  EXPECT_EQ(NumberOf(number), std::nullopt);
}

// PyTorch has 0.9999999999999999 of 1 / 49 * 49, and so 0.
TEST_F(ConstantFolding, AWholeNumberThatIsComputedOfFractionsIsNotTruncated) {
  const TensorId constant = Constant({49});
  const TensorId inverse = Apply("div", {Argument::Number(1), Argument::Of(constant)});
  const TensorId one = Apply("mul", {Argument::Of(inverse), Argument::Of(constant)});
  const TensorId number = ToInteger(Sum(one));
  Fold();
  EXPECT_EQ(NumberOf(number), std::nullopt);
}

TEST_F(ConstantFolding, ANumberBeyondTheTypeIsNotConverted) {
  const TensorId number = ToInteger(Sum(Constant({int64_t{1} << 31, 0})));
  Fold();
  EXPECT_EQ(NumberOf(number), std::nullopt);
}

TEST_F(ConstantFolding, AQuotientByZeroIsNoNumber) {
  const TensorId sum = Sum(Constant({1, -1}));
  const TensorId quotient =
      Sum(Apply("div", {Argument::Number(1), Argument::Of(Constant({0, 1}))}));
  Fold();
  EXPECT_EQ(NumberOf(sum), Rational(0));
  EXPECT_EQ(NumberOf(quotient), std::nullopt);
}

}  // namespace
}  // namespace planproof::frontend::torch
