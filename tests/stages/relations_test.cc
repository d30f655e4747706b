// What a tensor is read as follows from types, not from names or forms.
#include "stages/relations.h"

#include <gtest/gtest.h>

#include "sdfg/collectives.h"
#include "stages/claim_table.h"
#include "stages/proof_search.h"
#include "stages/static_checks.h"
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

}  // namespace
}  // namespace planproof::stages
