// What inference answers is taken as far as a problem can have it, and changes nothing else.
#include "stages/inferred_relations.h"

#include <gtest/gtest.h>

#include "lineage/multiple.h"
#include "sdfg/operator_library.h"
#include "stages/problem_check.h"
#include "strategy/verify.h"

namespace planproof::stages {
namespace {

using lineage::LineageKind;
using lineage::Provenance;
using sdfg::DType;
using sdfg::TensorId;

constexpr int64_t kElements = 8;
constexpr TensorId kInput = 0, kNegated = 1, kResult = 2;

void Apply(const std::string& function, TensorId operand, const std::string& result,
           sdfg::Graph* graph) {
  sdfg::Tensor tensor;
  tensor.name = result;
  tensor.shape = {kElements};
  tensor.dtype = DType::kFloat32;
  sdfg::Operator op;
  op.name = function;
  op.function = graph->Intern(*sdfg::OperatorLibrary::BuiltIn().Instantiate(
      function, {{.shape = {kElements}, .dtype = DType::kFloat32}}, {}));
  op.inputs = {operand};
  op.outputs = {graph->AddTensor(tensor)};
  graph->AddOperator(op);
}

std::vector<sdfg::IndexMap> AtConstant(int64_t constant) {
  return {{.constant = constant, .terms = {{.dim = 0}}}};
}

// z = exp(-x) on both sides; of -x nothing is said.
lineage::Problem Exponential() {
  lineage::Problem problem;
  for (sdfg::Graph* graph : {&problem.logical, &problem.parallel}) {
    sdfg::Tensor x;
    x.name = "x";
    x.shape = {kElements};
    x.dtype = DType::kFloat32;
    x.role = sdfg::TensorRole::kInput;
    graph->AddTensor(x);
    Apply("neg", kInput, "y", graph);
    Apply("exp", kNegated, "z", graph);
  }
  problem.lineage.resize(3);
  problem.lineage[kInput] = {.kind = LineageKind::kFull, .logical = kInput, .map = AtConstant(0)};
  problem.required.push_back(
      {kResult, {.kind = LineageKind::kFull, .logical = kResult, .map = AtConstant(0)}, "z"});
  return problem;
}

TEST(WithRelations, AGuessBecomesALineageOfItsOwnProvenance) {
  const lineage::Problem completed =
      WithRelations(Exponential(), {{kNegated, kNegated, 1, AtConstant(0)}});
  EXPECT_EQ(completed.lineage[kNegated].kind, LineageKind::kFull);
  EXPECT_EQ(completed.lineage[kNegated].provenance, Provenance::kInferred);
  EXPECT_EQ(completed.lineage[kNegated].logical, kNegated);
  EXPECT_EQ(completed.lineage[kInput].provenance, Provenance::kGiven);
  EXPECT_TRUE(CheckProblem(completed).ok());
}

TEST(WithRelations, AMultipleIsAddedOnce) {
  const lineage::Problem completed = WithRelations(
      Exponential(), {{kNegated, kInput, -1, AtConstant(0)}, {kResult, kInput, -1, AtConstant(0)}});
  EXPECT_EQ(completed.logical.tensors.size(), 4u);
  EXPECT_EQ(completed.lineage[kNegated].logical, completed.lineage[kResult].logical);
  const lineage::Multiple multiple =
      lineage::AsMultiple(completed.logical, completed.lineage[kNegated].logical);
  EXPECT_EQ(multiple.of, kInput);
  EXPECT_EQ(multiple.factor, solver::Rational(-1));
}

TEST(WithRelations, WhatTheProblemCannotHaveIsPassedOver) {
  const lineage::Problem problem = Exponential();
  const InferredRelation wrong[] = {
      {kNegated, kNegated, 1, AtConstant(1)},   // beyond the end
      {kNegated, kNegated, 1, AtConstant(-1)},  // before the beginning
      {kNegated, kNegated, 1, {}},              // no index
      {kNegated, kNegated, 1, {{.constant = 0, .terms = {{.dim = 1}}}}},
      {kNegated, kNegated, 1, {{.constant = 0, .terms = {{.dim = -1}}}}},
      {kNegated, kNegated, 1, {{.constant = 0, .terms = {{.dim = 0, .gate = {.dim = 7}}}}}},
      {kNegated, kNegated, 0, AtConstant(0)},  // 0 times anything
      {kNegated, 17, 1, AtConstant(0)},
      {kNegated, -1, 1, AtConstant(0)},
      {17, kNegated, 1, AtConstant(0)},
      {-1, kNegated, 1, AtConstant(0)},
      {kInput, kNegated, 1, AtConstant(0)},  // an input: the specification says what it is
  };
  for (const InferredRelation& relation : wrong) {
    const lineage::Problem completed = WithRelations(problem, {relation});
    EXPECT_EQ(completed.lineage[kNegated].kind, LineageKind::kNone);
    EXPECT_EQ(completed.lineage[kInput].logical, kInput);
    EXPECT_EQ(completed.logical.tensors.size(), problem.logical.tensors.size());
  }
}

TEST(RequiredRelations, AreThoseOfUnrelatedTensorsThatAreRead) {
  lineage::Problem problem = Exponential();
  EXPECT_TRUE(RequiredRelations(problem).empty());  // nothing reads z
  const lineage::Lineage own = {
      .kind = LineageKind::kFull, .logical = kNegated, .map = AtConstant(0)};
  problem.required.push_back({kNegated, own, "y"});
  const std::vector<InferredRelation> expected = {{kNegated, kNegated, 1, AtConstant(0)}};
  EXPECT_EQ(RequiredRelations(problem), expected);
  lineage::Problem stated = problem;
  stated.lineage[kNegated] = own;
  EXPECT_TRUE(RequiredRelations(stated).empty());
  problem.required[1].lineage.kind = LineageKind::kPartialSum;
  EXPECT_TRUE(RequiredRelations(problem).empty());
}

// It is claimed like any other: where y is not the model's, what is computed from it proves
// nothing.
TEST(RequiredRelations, AreNotBelieved) {
  for (const bool right : {true, false}) {
    lineage::Problem problem = Exponential();
    if (!right) {
      problem.parallel.operators[0].function =
          problem.parallel.Intern(*sdfg::OperatorLibrary::BuiltIn().Instantiate(
              "abs", {{.shape = {kElements}, .dtype = DType::kFloat32}}, {}));
    }
    problem.required.push_back(
        {kNegated, {.kind = LineageKind::kFull, .logical = kNegated, .map = AtConstant(0)}, "y"});
    VerifyOptions options;
    options.jobs = 1;
    const Result result =
        strategy::Verify(WithRelations(problem, RequiredRelations(problem)), options);
    EXPECT_EQ(result.verdict, right ? Verdict::kProved : Verdict::kRefuted);
  }
}

TEST(WithRelations, WhatIsStatedStays) {
  lineage::Problem problem = Exponential();
  problem.lineage[kNegated] = {
      .kind = LineageKind::kFull, .logical = kNegated, .map = AtConstant(0)};
  const lineage::Problem completed =
      WithRelations(problem, {{kNegated, kResult, 1, AtConstant(0)}});
  EXPECT_EQ(completed.lineage[kNegated].logical, kNegated);
  EXPECT_EQ(completed.lineage[kNegated].provenance, Provenance::kGiven);
}

// A multiple is read without a check of its own whether the index is inside: the lineage that
// mentions it was checked, and this is where a claim would lie if it were not.
TEST(WithRelations, AMultipleOutsideOfItsTensorIsNoLineage) {
  lineage::Problem problem = Exponential();
  const lineage::Problem completed =
      WithRelations(problem, {{kNegated, kInput, -1, AtConstant(3)}});
  EXPECT_EQ(completed.lineage[kNegated].kind, LineageKind::kNone);
  // The same in a problem that was made by hand.
  problem.lineage[kNegated] = {.kind = LineageKind::kFull,
                               .logical = lineage::AddMultiple(kInput, -1, &problem.logical),
                               .map = AtConstant(3)};
  EXPECT_FALSE(CheckProblem(problem).ok());
  VerifyOptions options;
  options.jobs = 1;
  EXPECT_EQ(strategy::Verify(problem, options).verdict, Verdict::kMalformed);
}

}  // namespace
}  // namespace planproof::stages
