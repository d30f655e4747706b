#include "stages/problem_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdfg/operator_library.h"

namespace planproof::stages {
namespace {

using sdfg::DType;
using sdfg::TensorId;
using testing::HasSubstr;

// y = -x on both sides, all of it on device 0.
lineage::Problem Negation(DType logical_type, DType parallel_type) {
  lineage::Problem problem;
  auto add = [&](sdfg::Graph* graph, DType type) {
    sdfg::Tensor x;
    x.name = "x";
    x.shape = {8};
    x.dtype = type;
    x.role = sdfg::TensorRole::kInput;
    const TensorId input = graph->AddTensor(x);
    x.name = "y";
    x.role = sdfg::TensorRole::kIntermediate;
    const TensorId output = graph->AddTensor(x);
    sdfg::Operator op;
    op.name = "neg";
    op.function = graph->Intern(*sdfg::OperatorLibrary::BuiltIn().Instantiate(
        "neg", {{.shape = {8}, .dtype = DType::kFloat32}}, {}));
    op.inputs = {input};
    op.outputs = {output};
    graph->AddOperator(op);
  };
  add(&problem.logical, logical_type);
  add(&problem.parallel, parallel_type);
  for (TensorId id : {0, 1}) {
    lineage::Lineage own;
    own.kind = lineage::LineageKind::kFull;
    own.logical = id;
    own.map = {{.constant = 0, .terms = {{.dim = 0}}}};
    problem.lineage.push_back(own);
  }
  problem.required.push_back({1, problem.lineage[1], "y"});
  return problem;
}

TEST(CheckProblem, AcceptsARightLineage) {
  EXPECT_TRUE(CheckProblem(Negation(DType::kFloat32, DType::kFloat32)).ok());
  EXPECT_TRUE(CheckProblem(Negation(DType::kFloat32, DType::kBFloat16)).ok());
}

TEST(CheckProblem, RealsAreNoPartOfIntegers) {
  const absl::Status status = CheckProblem(Negation(DType::kInt64, DType::kFloat32));
  EXPECT_THAT(std::string(status.message()), HasSubstr("element type"));
}

// What a tensor is would be taken from the wrong operator.
TEST(CheckProblem, ATensorThatNamesAnotherOperatorIsRefused) {
  for (const bool of_model : {false, true}) {
    lineage::Problem problem = Negation(DType::kFloat32, DType::kFloat32);
    sdfg::Graph& graph = of_model ? problem.logical : problem.parallel;
    graph.tensors[1].producer = 1;
    EXPECT_THAT(std::string(CheckProblem(problem).message()), HasSubstr("is not the result of"));
    graph.tensors[1].producer = 0;
    graph.tensors[1].producer_output = 1;
    EXPECT_THAT(std::string(CheckProblem(problem).message()), HasSubstr("is not the result of"));
  }
}

TEST(CheckProblem, AnOperatorThatReadsOutsideIsRefused) {
  lineage::Problem problem = Negation(DType::kFloat32, DType::kFloat32);
  sdfg::IndexFunction function = *problem.parallel.operators[0].function;
  for (sdfg::Node& node : function.nodes) {
    if (node.op != sdfg::Op::kElement) continue;
    function.nodes[node.args[0]] = {.op = sdfg::Op::kIntConst, .value = 8};
  }
  problem.parallel.operators[0].function =
      std::make_shared<const sdfg::IndexFunction>(std::move(function));
  EXPECT_THAT(std::string(CheckProblem(problem).message()), HasSubstr("whose extent is"));
}

TEST(CheckProblem, AMapThatLeavesTheLogicalTensorIsNoLineage) {
  lineage::Problem problem = Negation(DType::kFloat32, DType::kFloat32);
  problem.lineage[0].map[0].constant = 1;
  EXPECT_THAT(std::string(CheckProblem(problem).message()), HasSubstr("covers 1 to 8"));
}

// The ends of two terms of one dimension do not add up, so each index has to be looked at.
TEST(CheckProblem, TermsOfOneDimensionAreAddedUp) {
  lineage::Problem problem = Negation(DType::kFloat32, DType::kFloat32);
  // i / 2 + 4 (i % 2): a permutation of 0..7.
  problem.lineage[0].map[0].terms = {{.dim = 0, .div = 2}, {.dim = 0, .scale = 4, .mod = 2}};
  EXPECT_TRUE(CheckProblem(problem).ok()) << CheckProblem(problem);
  problem.lineage[0].map[0].terms = {{.dim = 0, .div = 2}, {.dim = 0, .scale = 5, .mod = 2}};
  EXPECT_THAT(std::string(CheckProblem(problem).message()), HasSubstr("covers 0 to 8"));
}

}  // namespace
}  // namespace planproof::stages
