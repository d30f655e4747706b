// What a tensor is read as follows from types, not from names or forms.
#include "stages/relations.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/plan/read_plan.h"
#include "sdfg/collectives.h"
#include "sdfg/operator_library.h"
#include "stages/claim_table.h"
#include "stages/proof_search.h"
#include "stages/static_checks.h"
#include "strategy/verify.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::stages {
namespace {

using sdfg::DType;
using sdfg::OperatorKind;
using sdfg::TensorId;

// y = exp(x) and z = 2 y, computed alike.
struct Doubled : shape_reduction::SmallProblem {
  TensorId x, y, z, px, py, pz;

  Doubled() {
    x = Logical("x", {8});
    y = Apply(&problem.logical, shape_reduction::Instantiate("exp", {{8}}), {x});
    z = Apply(&problem.logical, Twice(), {y});
    px = Slice(x, {0}, {8});
    py = Apply(&problem.parallel, shape_reduction::Instantiate("exp", {{8}}), {px}, 0);
    Claim(py, y, {0});
    pz = Apply(&problem.parallel, Twice(), {py}, 0);
    Claim(pz, z, {0});
    Require(pz, z, {0});
  }

  static sdfg::IndexFunction Twice() {
    sdfg::IndexFunctionBuilder builder("twice");
    const int input = builder.AddInput("x", {8}, DType::kFloat32);
    const int output = builder.AddOutput("y", sdfg::Shape{8}, DType::kFloat32);
    const sdfg::ExprId element =
        builder.Element(input, {builder.Index(builder.OutputDims(output)[0])});
    builder.SetBody(output,
                    builder.Binary(sdfg::Op::kMul, builder.Real(solver::Rational(2)), element));
    sdfg::IndexFunction function;
    EXPECT_TRUE(builder.Finish(&function).ok());
    return function;
  }
};

TEST(Relations, AnInputIsGivenAndALineageIsAssumedUntilItsClaimIsProved) {
  Doubled plan;
  Relations relations(plan.problem);
  EXPECT_EQ(relations.StateOf(plan.px), RelationState::kGiven);
  EXPECT_EQ(relations.StateOf(plan.py), RelationState::kAssumed);
  ClaimTable table(plan.problem, ConeOfRequired(plan.problem));
  VerifyOptions options;
  options.jobs = 1;
  ProofSearch search(plan.problem, options, &table, &relations);
  ASSERT_TRUE(search.DecideAll());
  EXPECT_EQ(relations.StateOf(plan.py), RelationState::kAssumed);  // what rests on it is open
  ASSERT_TRUE(search.RequiredProved());
  EXPECT_EQ(relations.StateOf(plan.py), RelationState::kProved);
  EXPECT_EQ(relations.StateOf(plan.pz), RelationState::kProved);
  EXPECT_EQ(relations.StateOf(plan.px), RelationState::kGiven);
}

TEST(Relations, WhatIsGivenUpIsReadByItsDefinition) {
  Doubled plan;
  Relations relations(plan.problem);
  EXPECT_EQ(relations.Of({kParallel, plan.py}).kind, sdfg::Representation::Kind::kAlias);
  relations.GiveUp(plan.py);
  EXPECT_FALSE(relations.Related(plan.py));
  EXPECT_NE(relations.Of({kParallel, plan.py}).kind, sdfg::Representation::Kind::kAlias);
}

// It used to be told by its form: a product with a constant that nothing reads.
TEST(Relations, OnlyWhatAReaderMakesForAFactorIsAMultiple) {
  Doubled plan;
  EXPECT_EQ(Relations(plan.problem).MultipleOf(plan.z), sdfg::kNone);
  plan.problem.logical.operators.back().kind = OperatorKind::kMultiple;
  EXPECT_EQ(Relations(plan.problem).MultipleOf(plan.z), plan.y);
}

// The sum over two devices, of tensors on devices 0 and 1.
struct Summed : shape_reduction::SmallProblem {
  sdfg::Operator* sum = nullptr;
  Summed() {
    const TensorId x = Logical("x", {8});
    const TensorId a = Slice(x, {0}, {8}, 0), b = Slice(x, {0}, {8}, 1);
    Apply(&problem.parallel, *sdfg::AllReduce({8}, DType::kFloat32, 2, sdfg::ReduceKind::kSum),
          {a, b}, 0);
    sum = &problem.parallel.operators.back();
  }
};

TEST(Residence, OperandsOfTheGroupsRanksMayLieThere) {
  Summed plan;
  EXPECT_EQ(CheckResidence(plan.problem.parallel, 9).size(), 1u);
  plan.sum->group = {0, 1};
  EXPECT_TRUE(CheckResidence(plan.problem.parallel, 9).empty());
  plan.sum->group = {0, 5};
  EXPECT_EQ(CheckResidence(plan.problem.parallel, 9).size(), 1u);
}

// The values would be right, and where they are needed nothing is.
TEST(Residence, AResultLiesOnADeviceThatTakesPart) {
  Summed plan;
  plan.sum->group = {0, 1};
  plan.problem.parallel.tensors[plan.sum->outputs[0]].device = 1;
  EXPECT_TRUE(CheckResidence(plan.problem.parallel, 9).empty());
  plan.problem.parallel.tensors[plan.sum->outputs[0]].device = 2;
  const std::vector<Violation> found = CheckResidence(plan.problem.parallel, 9);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].verdict, Verdict::kMalformed);
  EXPECT_NE(found[0].cause.find("held on device 2, which takes no part"), std::string::npos);
}

TEST(Residence, AnAttributeCalledRanksSaysNothingAboutDevices) {
  Summed plan;
  plan.sum->attributes = {{"ranks", "0,1"}};
  EXPECT_EQ(CheckResidence(plan.problem.parallel, 9).size(), 1u);
}

Verdict VerdictOf(const std::string& plan) {
  const auto file = plan::ParsePlanFile(plan, "plan.json");
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return Verdict::kUnknown;
  const auto problem =
      plan::BuildProblemFromFiles({{"plan.json", *file}}, sdfg::OperatorLibrary::BuiltIn());
  EXPECT_TRUE(problem.ok()) << problem.status();
  VerifyOptions options;
  options.jobs = 1;
  return problem.ok() ? strategy::Verify(*problem, options).verdict : Verdict::kUnknown;
}

// The maximum of two masks is -infinity at two places. A tensor that nothing required is computed
// from is said to be it, and is not claimed: that does not make it a number in the model's choice.
TEST(Relations, WhatIsNotClaimedIsNotKnownToBeANumber) {
  const std::string masks = R"json(
    {"op": "hid", "in": ["x"], "out": "s1"}, {"op": "hid", "in": ["z"], "out": "s2"},
    {"op": "maximum", "in": ["s1", "s2"], "out": "L"},)json";
  for (const char* lineage : {"{}", R"json({"L": {}})json"}) {
    const std::string plan = absl::StrCat(R"json({"planproof": 1,
      "operators": ["op hid(x[i]) -> y[i] = where(i < 2, -inf, x[i])",
                    "op pick(m, x) -> y = where(exp(m) > 0, x, 7 * x)",
                    "op same(x) -> y = x * 1"],
      "specification": {"inputs": {"x": [4], "z": [4]}, "outputs": {"y": {}}, "operators": [)json",
                                          masks, R"json(
        {"op": "pick", "in": ["L", "x"], "out": "y"}]},
      "plan": {"mesh": {}, "programs": [{"inputs": {"x": {}, "z": {}}, "operators": [)json",
                                          masks, R"json(
        {"op": "same", "in": ["x"], "out": "y"}], "lineage": )json",
                                          lineage, "}]}}");
    EXPECT_NE(VerdictOf(plan), Verdict::kProved) << lineage;
  }
}

// A row that is masked as a whole has a maximum of -infinity, which the model asks for: that rows
// are not is a premise, and does not answer it.
TEST(Relations, APremiseDoesNotSayThatAMaximumIsANumber) {
  const auto program = [](const char* number) {
    return absl::StrCat(R"json(
      {"op": "masked", "in": ["c", "x"], "out": "s"}, {"op": "top", "in": "s", "out": "m"},
      {"op": "least", "in": "m", "out": "n"},
      {"op": "fix", "in": ["m", "n"], "out": "y", "attrs": {"v": )json",
                        number, "}}");
  };
  for (const char* condition : {"m == n", "m <= n", "not (n < m)"}) {
    const std::string plan = absl::StrCat(R"json({"planproof": 1, "operators": [
          "op masked(c, x) ties none -> y = where(c > 0, x, -inf)",
          "op least(x) ties none -> y: like x = where(0 < 1, -inf, x)",
          "op top(x[a, j]) ties none -> m[a] = max(j: x[a, j])",
          "op fix(m, n) {v: real = 0} ties none -> y = where()json",
                                          condition, R"json(, v, m)"],
        "specification": {"inputs": {"x": [4, 6], "c": [4, 6]}, "outputs": {"y": {}},
          "operators": [)json",
                                          program("0"), R"json(]},
        "plan": {"mesh": {}, "programs": [{"inputs": {"x": {}, "c": {}}, "operators": [)json",
                                          program("7"), "]}]}}");
    EXPECT_NE(VerdictOf(plan), Verdict::kProved) << condition;
  }
}

}  // namespace
}  // namespace planproof::stages
