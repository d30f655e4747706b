// The place named is the first that lacks a result, whatever lies behind it.
#include "diagnosis/relations_end.h"

#include <gtest/gtest.h>

#include "lineage/multiple.h"
#include "sdfg/operator_library.h"

namespace planproof::diagnosis {
namespace {

using lineage::LineageKind;
using sdfg::DType;
using sdfg::TensorId;

constexpr int64_t kWidth = 8;

TensorId Input(const std::string& name, sdfg::Graph* graph) {
  sdfg::Tensor tensor;
  tensor.name = name;
  tensor.shape = {kWidth};
  tensor.dtype = DType::kFloat32;
  tensor.role = sdfg::TensorRole::kInput;
  return graph->AddTensor(tensor);
}

TensorId Apply(const std::string& function, const std::vector<TensorId>& operands,
               const std::string& result, sdfg::Graph* graph) {
  sdfg::Tensor tensor;
  tensor.name = result;
  tensor.shape = {kWidth};
  tensor.dtype = DType::kFloat32;
  const sdfg::Operand type{.shape = {kWidth}, .dtype = DType::kFloat32};
  sdfg::Operator op;
  op.name = function;
  op.function = graph->Intern(*sdfg::OperatorLibrary::BuiltIn().Instantiate(
      function, std::vector<sdfg::Operand>(operands.size(), type), {}));
  op.inputs = operands;
  op.outputs = {graph->AddTensor(tensor)};
  graph->AddOperator(op);
  return op.outputs[0];
}

lineage::Lineage Whole(TensorId logical) {
  return {.kind = LineageKind::kFull,
          .logical = logical,
          .map = {{.constant = 0, .terms = {{.dim = 0}}}}};
}

// The model: z = exp(-x) * w, tensors x, w, -x, exp(-x), z in this order. The plan computes what
// `functions` say in place of neg, exp and mul.
class RelationsEndTest : public ::testing::Test {
 protected:
  enum : TensorId { kX, kW, kNegated, kExponential, kProduct };

  lineage::Problem Plan(const std::vector<std::string>& functions) {
    lineage::Problem problem;
    Build({"neg", "exp", "mul"}, &problem.logical);
    Build(functions, &problem.parallel);
    problem.lineage.resize(problem.parallel.tensors.size());
    problem.lineage[kX] = Whole(kX);
    problem.lineage[kW] = Whole(kW);
    problem.required.push_back({kProduct, Whole(kProduct), "z"});
    return problem;
  }

 private:
  static void Build(const std::vector<std::string>& functions, sdfg::Graph* graph) {
    const TensorId x = Input("x", graph), w = Input("w", graph);
    const TensorId a = Apply(functions[0], {x}, "a", graph);
    const TensorId b = Apply(functions[1], {a}, "b", graph);
    Apply(functions[2], {b, w}, "c", graph);
  }
};

TEST_F(RelationsEndTest, NothingWhereAllIsThere) {
  lineage::Problem problem = Plan({"neg", "exp", "mul"});
  for (const TensorId t : {kNegated, kExponential, kProduct}) problem.lineage[t] = Whole(t);
  EXPECT_FALSE(WhereRelationsEnd(problem).has_value());
}

TEST_F(RelationsEndTest, TheFirstOperatorWithOperandsAndWithoutResult) {
  lineage::Problem problem = Plan({"neg", "sin", "mul"});
  problem.lineage[kNegated] = Whole(kNegated);
  const auto end = WhereRelationsEnd(problem);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->logical, problem.logical.tensors[kExponential].producer);
  ASSERT_FALSE(end->nearest.empty());
  EXPECT_EQ(end->nearest[0], problem.parallel.tensors[kExponential].producer);
  EXPECT_EQ(end->difference, "reads a = a[0:8]");
}

TEST_F(RelationsEndTest, TheLastOperatorWhereOnlyItsResultIsMissing) {
  lineage::Problem problem = Plan({"neg", "exp", "sub"});
  for (const TensorId t : {kNegated, kExponential}) problem.lineage[t] = Whole(t);
  const auto end = WhereRelationsEnd(problem);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->logical, problem.logical.tensors[kProduct].producer);
}

TEST_F(RelationsEndTest, ARequiredOutputThatIsAnotherTensorIsMissing) {
  lineage::Problem problem = Plan({"neg", "exp", "mul"});
  for (const TensorId t : {kNegated, kExponential}) problem.lineage[t] = Whole(t);
  problem.lineage[kProduct] = Whole(kExponential);
  const auto end = WhereRelationsEnd(problem);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->logical, problem.logical.tensors[kProduct].producer);
}

TEST_F(RelationsEndTest, WhatARightOutputDependsOnIsRight) {
  lineage::Problem problem = Plan({"neg", "exp", "sub"});
  problem.names_tell = false;
  problem.required.insert(problem.required.begin(), {kExponential, Whole(kExponential), "b"});
  const auto unknown = WhereRelationsEnd(problem);
  ASSERT_TRUE(unknown.has_value());
  EXPECT_EQ(unknown->logical, problem.logical.tensors[kExponential].producer);
  const auto end = WhereRelationsEnd(problem, {true, false});
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->logical, problem.logical.tensors[kProduct].producer);
}

TEST_F(RelationsEndTest, SaysWhatIsReadInsteadOfTheOperand) {
  lineage::Problem problem = Plan({"neg", "exp", "mul"});
  problem.lineage[kNegated] = Whole(kNegated);
  problem.lineage[kExponential] = Whole(kExponential);
  sdfg::Operator& product = problem.parallel.operators.back();
  product.inputs = {kExponential, kNegated};
  const auto end = WhereRelationsEnd(problem);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->difference, "reads a instead of w");
}

TEST_F(RelationsEndTest, WhatResultsAreComputedFromIsThere) {
  // Of -x no tensor is known, as of masked scores; of what is computed from it one is.
  lineage::Problem problem = Plan({"neg", "exp", "sub"});
  problem.lineage[kExponential] = Whole(kExponential);
  const auto end = WhereRelationsEnd(problem);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->logical, problem.logical.tensors[kProduct].producer);
}

TEST_F(RelationsEndTest, TheSameOperatorOfTheSameOperandsMayGiveTerms) {
  const lineage::Problem problem = Plan({"neg", "sin", "mul"});
  const auto end = WhereRelationsEnd(problem);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->logical, problem.logical.tensors[kExponential].producer);
  ASSERT_FALSE(end->nearest.empty());
  EXPECT_EQ(end->nearest[0], problem.parallel.tensors[kExponential].producer);
  EXPECT_EQ(end->difference, "reads terms of a");
}

TEST_F(RelationsEndTest, TermsAreTheEndWhereNothingElseIs) {
  const lineage::Problem problem = Plan({"neg", "exp", "mul"});
  lineage::Problem known = problem;
  known.lineage[kNegated] = Whole(kNegated);
  known.lineage[kExponential] = Whole(kExponential);
  const auto end = WhereRelationsEnd(known);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->logical, problem.logical.tensors[kProduct].producer);
  EXPECT_EQ(end->nearest[0], problem.parallel.tensors[kProduct].producer);
}

TEST_F(RelationsEndTest, SaysWhereAFactorComesIn) {
  lineage::Problem problem = Plan({"neg", "exp", "mul"});
  problem.lineage[kNegated] = Whole(lineage::AddMultiple(kNegated, 2, &problem.logical));
  const auto end = WhereRelationsEnd(problem);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->logical, problem.logical.tensors[kExponential].producer);
  EXPECT_EQ(end->difference.find("reads 2 times a since neg"), 0U) << end->difference;
}

// One rank has -x and another, for the tensor of that name, sin x.
TEST_F(RelationsEndTest, AResultThatIsNotWhatItsNameSaysIsFoundThoughAnotherRankHasIt) {
  lineage::Problem problem = Plan({"sin", "exp", "mul"});
  sdfg::Graph& plan = problem.parallel;
  const TensorId right = Apply("neg", {kX}, "1:a", &plan);
  const TensorId product = Apply("mul", {kProduct, right}, "d", &plan);
  problem.lineage.resize(plan.tensors.size());
  problem.lineage[right] = Whole(kNegated);
  problem.required[0].parallel = product;
  const auto end = WhereRelationsEnd(problem);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->logical, problem.logical.tensors[kNegated].producer);
  ASSERT_FALSE(end->nearest.empty());
  EXPECT_EQ(end->nearest[0], plan.tensors[kNegated].producer);
}

TEST_F(RelationsEndTest, SaysSinceWhereATensorIsNoneOfTheModel) {
  lineage::Problem problem = Plan({"sin", "cos", "sub"});
  for (const TensorId t : {kNegated, kExponential}) problem.parallel.tensors[t].name += "_";
  // The model's operands are all there, by other names.
  const TensorId a = Apply("neg", {kX}, "p", &problem.parallel);
  const TensorId b = Apply("exp", {a}, "q", &problem.parallel);
  const TensorId product = Apply("mul", {b, kExponential}, "c_", &problem.parallel);
  problem.lineage.resize(problem.parallel.tensors.size());
  problem.lineage[a] = Whole(kNegated);
  problem.lineage[b] = Whole(kExponential);
  problem.required[0].parallel = product;
  const auto end = WhereRelationsEnd(problem);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->logical, problem.logical.tensors[kProduct].producer);
  EXPECT_NE(end->difference.find("no tensor of the model since sin"), std::string::npos)
      << end->difference;
}

// Sums one after the other, and a product among them.
TEST_F(RelationsEndTest, AmongEqualOperatorsTheOtherOneIsNamed) {
  lineage::Problem problem = Plan({"neg", "exp", "mul"});
  sdfg::Graph& plan = problem.parallel;
  plan.operators.clear();
  for (const TensorId t : {kNegated, kExponential, kProduct}) problem.lineage[t] = {};
  // The model's exp(-x) and w are there.
  const TensorId b = Apply("exp", {Apply("neg", {kX}, "p", &plan)}, "q", &plan);
  TensorId sum = b;
  for (const char* function : {"add", "add", "sub", "add", "add"}) {
    sum = Apply(function, {sum, kW}, "sum", &plan);
  }
  problem.lineage.resize(plan.tensors.size());
  problem.lineage[plan.operators[0].outputs[0]] = Whole(kNegated);
  problem.lineage[b] = Whole(kExponential);
  problem.required[0].parallel = sum;
  const auto end = WhereRelationsEnd(problem);
  ASSERT_TRUE(end.has_value());
  ASSERT_FALSE(end->nearest.empty());
  EXPECT_EQ(plan.operators[end->nearest[0]].name, "sub");
  EXPECT_EQ(end->difference, "is another function than those beside it");
}

TEST_F(RelationsEndTest, AnotherFunctionUnderTheSameNameIsNamed) {
  lineage::Problem problem = Plan({"neg", "sin", "mul"});
  problem.lineage[kNegated] = Whole(kNegated);
  problem.parallel.operators[1].name = "exp";
  problem.parallel.tensors[kExponential].name = "e";
  const auto end = WhereRelationsEnd(problem);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->logical, problem.logical.tensors[kExponential].producer);
  ASSERT_FALSE(end->nearest.empty());
  EXPECT_EQ(end->nearest[0], problem.parallel.tensors[kExponential].producer);
  EXPECT_EQ(end->difference, "is another function of the same operands");
}

}  // namespace
}  // namespace planproof::diagnosis
