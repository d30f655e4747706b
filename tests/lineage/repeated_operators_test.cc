// Which operators of a model are one, and which only look alike.
#include "lineage/repeated_operators.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "sdfg/operator_library.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::lineage {
namespace {

using sdfg::kNone;
using sdfg::TensorId;
using shape_reduction::Instantiate;

class RepeatedOperators : public testing::Test {
 protected:
  TensorId Apply(const char* function, std::vector<TensorId> operands) {
    std::vector<sdfg::Shape> shapes(operands.size(), {4});
    return small_.Apply(&small_.problem.logical, Instantiate(function, shapes), operands);
  }
  std::optional<Problem> Merged() {
    small_.Check();
    std::optional<Problem> merged = WithoutRepeatedOperators(small_.problem);
    EXPECT_TRUE(!merged.has_value() || merged->logical.Check().ok());
    return merged;
  }
  static sdfg::IndexFunction OfTwoVectors(const char* name, const sdfg::Attributes& attributes) {
    sdfg::Operand operand;
    operand.shape = {4};
    operand.dtype = sdfg::DType::kFloat32;
    auto function =
        sdfg::OperatorLibrary::BuiltIn().Instantiate(name, {operand, operand}, attributes);
    EXPECT_TRUE(function.ok()) << function.status();
    return function.ok() ? *function : sdfg::IndexFunction();
  }
  // What computes the model's tensor of which the first slice is required.
  static const sdfg::Operator& Required(const Problem& problem, size_t k = 0) {
    const TensorId id = problem.required[k].lineage.logical;
    return problem.logical.operators[problem.logical.tensors[id].producer];
  }

  shape_reduction::SmallProblem small_;
  const TensorId x_ = small_.Logical("x", {4}), y_ = small_.Logical("y", {4});
  const TensorId part_ = small_.Slice(x_, {0}, {4});
};

TEST_F(RepeatedOperators, InputsOnWhichTheModelWasRunStayThoseOfTheirTensors) {
  Apply("exp", {x_});
  const TensorId again = Apply("exp", {x_});
  const TensorId z = small_.Logical("z", {4});
  small_.Require(part_, Apply("add", {again, z}), {0});
  small_.problem.sample =
      std::make_shared<const SampledInputs>(SampledInputs{{{x_, {1, 2, 3, 4}}, {z, {5, 6, 7, 8}}}});
  const std::optional<Problem> merged = Merged();
  ASSERT_TRUE(merged.has_value());
  const TensorId last = Required(*merged).inputs[1];
  EXPECT_EQ(merged->logical.tensors[last].name, "z");
  EXPECT_NE(last, z);
  EXPECT_EQ(merged->sample->elements.at(last), (std::vector<double>{5, 6, 7, 8}));
}

TEST_F(RepeatedOperators, WhatIsComputedAgainIsTheFirst) {
  const TensorId first = Apply("exp", {x_}), again = Apply("exp", {x_});
  const TensorId sum = Apply("add", {first, again});
  small_.Require(part_, sum, {0});
  const std::optional<Problem> merged = Merged();
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(merged->logical.operators.size(), 2);
  EXPECT_EQ(merged->logical.tensors.size(), small_.problem.logical.tensors.size() - 1);
  const sdfg::Operator& add = Required(*merged);
  EXPECT_EQ(add.name, Required(small_.problem).name);
  EXPECT_EQ(add.inputs[0], add.inputs[1]);
}

TEST_F(RepeatedOperators, AWholeLayerIsOne) {
  const TensorId sum = Apply("add", {Apply("neg", {Apply("exp", {x_})}), y_});
  const TensorId again = Apply("add", {Apply("neg", {Apply("exp", {x_})}), y_});
  small_.Require(part_, Apply("mul", {sum, again}), {0});
  const std::optional<Problem> merged = Merged();
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(merged->logical.operators.size(), 4);
  EXPECT_EQ(Required(*merged).inputs[0], Required(*merged).inputs[1]);
}

// Inputs behind what is left out get other numbers: a premise of one must not become another's.
TEST_F(RepeatedOperators, WhatIsSaidOfTensorsIsSaidOfThemUnderTheirNewNumbers) {
  const TensorId first = Apply("exp", {x_}), again = Apply("exp", {x_});
  const TensorId positive = small_.Logical("positive", {4}), any = small_.Logical("any", {4});
  const TensorId slice = small_.Slice(any, {0}, {4});
  small_.Claim(part_, again, {0});
  small_.Require(part_, again, {0});
  small_.Require(slice, Apply("mul", {positive, any}), {0});
  small_.problem.premises.push_back({positive, Problem::InputPremise::Kind::kPositive});
  small_.problem.recorded[any] = std::vector<solver::Rational>(4, solver::Rational(3));
  const std::optional<Problem> merged = Merged();
  ASSERT_TRUE(merged.has_value());
  const auto name = [&](TensorId t) { return merged->logical.tensors[t].name; };
  EXPECT_EQ(name(merged->lineage[part_].logical), small_.problem.logical.tensors[first].name);
  EXPECT_EQ(merged->required[0].lineage.logical, merged->lineage[part_].logical);
  EXPECT_EQ(name(merged->lineage[slice].logical), "any");
  EXPECT_EQ(name(Required(*merged, 1).inputs[0]), "positive");
  EXPECT_EQ(name(Required(*merged, 1).inputs[1]), "any");
  EXPECT_EQ(name(merged->premises[0].tensor), "positive");
  ASSERT_EQ(merged->recorded.size(), 1);
  EXPECT_EQ(name(merged->recorded.begin()->first), "any");
}

TEST_F(RepeatedOperators, AResultThatOnlyTheSecondHasIsKept) {
  const TensorId first = Apply("exp", {x_}), again = Apply("exp", {x_});
  sdfg::Graph& model = small_.problem.logical;
  model.operators[model.tensors[first].producer].outputs = {kNone};
  model.tensors[first].producer = kNone;
  model.tensors[first].role = sdfg::TensorRole::kInput;
  small_.Require(part_, again, {0});
  const std::optional<Problem> merged = Merged();
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(merged->logical.operators.size(), 1);
  EXPECT_EQ(Required(*merged).outputs[0], merged->required[0].lineage.logical);
}

TEST_F(RepeatedOperators, SumsAndProductsOfTwoAreOneInEitherOrder) {
  for (const char* function : {"add", "mul"}) {
    const TensorId one = Apply(function, {x_, y_}), other = Apply(function, {y_, x_});
    small_.Require(part_, Apply("sub", {one, other}), {0});
  }
  const std::optional<Problem> merged = Merged();
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(merged->logical.operators.size(), 4);
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(Required(*merged, k).inputs[0], Required(*merged, k).inputs[1]);
  }
}

// x + 2 y is not y + 2 x, and a row that is added to every row of a matrix is not a column.
TEST_F(RepeatedOperators, WhereTheOperandsAreReadInDifferentWaysTheirOrderCounts) {
  sdfg::Graph* model = &small_.problem.logical;
  const auto scaled = OfTwoVectors("add", {{"alpha", sdfg::AttributeValue(int64_t{2})}});
  small_.Apply(model, scaled, {x_, y_});
  small_.Apply(model, scaled, {y_, x_});
  const auto outer =
      OfTwoVectors("einsum", {{"equation", sdfg::AttributeValue(std::string("a,b->ab"))}});
  small_.Apply(model, outer, {x_, y_});
  small_.Apply(model, outer, {y_, x_});
  EXPECT_FALSE(Merged().has_value());
}

// A plan would be related to the wrong one if any of these were taken for another.
// a[a[i]] + b[a[i]]: the first operand says where both are read.
TEST_F(RepeatedOperators, WhereAnOperandSaysWhereBothAreReadTheirOrderCounts) {
  const sdfg::Shape shape = {4};
  const auto at_first = [&](bool of_data) {
    sdfg::IndexFunctionBuilder builder("both");
    for (const char* name : {"a", "b"}) builder.AddInput(name, shape, sdfg::DType::kInt64);
    const int output = builder.AddOutput("y", shape, sdfg::DType::kFloat32);
    sdfg::ExprId at = builder.Index(builder.OutputDims(output)[0]);
    if (of_data) at = builder.IntElement(0, {at});
    builder.SetBody(
        output, builder.Binary(sdfg::Op::kAdd, builder.Element(0, {at}), builder.Element(1, {at})));
    sdfg::IndexFunction function;
    EXPECT_TRUE(builder.Finish(&function).ok());
    return function;
  };
  const auto integers = [&](const char* name) {
    return small_.Logical(name, shape, sdfg::TensorRole::kInput, sdfg::DType::kInt64);
  };
  const TensorId a = integers("a"), b = integers("b");
  for (const bool of_data : {true, false}) {
    small_.Apply(&small_.problem.logical, at_first(of_data), {a, b});
    small_.Apply(&small_.problem.logical, at_first(of_data), {b, a});
    EXPECT_EQ(Merged().has_value(), !of_data);
  }
}

TEST_F(RepeatedOperators, OtherFunctionsOperandsAndOrdersOfThemAreOthers) {
  for (const TensorId t : {Apply("exp", {x_}), Apply("exp", {y_}), Apply("neg", {x_}),
                           Apply("sub", {x_, y_}), Apply("sub", {y_, x_})}) {
    small_.Require(part_, t, {0});
  }
  EXPECT_FALSE(Merged().has_value());
}

TEST_F(RepeatedOperators, ElementsOfOtherPlacesAreOthers) {
  sdfg::Graph* model = &small_.problem.logical;
  const TensorId whole = small_.Logical("w", {8});
  small_.Apply(model, shape_reduction::RowsOf(8, 0, 2), {whole});
  small_.Apply(model, shape_reduction::RowsOf(8, 4, 2), {whole});
  EXPECT_FALSE(Merged().has_value());
}

TEST_F(RepeatedOperators, ResultsOfOtherTypesAreOthers) {
  const TensorId first = Apply("exp", {x_}), again = Apply("exp", {x_});
  small_.problem.logical.tensors[again].dtype = sdfg::DType::kFloat64;
  small_.Require(part_, Apply("add", {first, again}), {0});
  EXPECT_FALSE(Merged().has_value());
}

}  // namespace
}  // namespace planproof::lineage
