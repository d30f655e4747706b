// Wrong plans are refuted with a place and a cause; premises need a common sample; operands lie
// where they are used.
#include "strategy/refutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/exceptions.h"
#include "sdfg/collectives.h"
#include "stages/static_checks.h"
#include "strategy/finite_sample.h"
#include "strategy/verify.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::strategy {
namespace {

using sdfg::DType;
using sdfg::TensorId;
using shape_reduction::Instantiate;
using shape_reduction::SmallProblem;
using testing::ElementsAre;
using testing::HasSubstr;

stages::Result Decide(SmallProblem& small) {
  small.Check();
  stages::VerifyOptions options;
  options.jobs = 1;
  return Verify(small.problem, options);
}

// x [8, 16] times w [4, 16] on two devices that hold half of the columns each. `terms` are the
// products on the devices.
struct RowParallel : SmallProblem {
  TensorId y;
  std::vector<TensorId> terms;

  RowParallel() {
    const TensorId x = Logical("x", {8, 16});
    const TensorId w = Logical("w", {4, 16}, sdfg::TensorRole::kParameter);
    y = Apply(&problem.logical, Instantiate("linear", {{8, 16}, {4, 16}}), {x, w});
    for (int rank : {0, 1}) {
      const TensorId xs = Slice(x, {0, 8 * rank}, {8, 8}, rank);
      const TensorId ws = Slice(w, {0, 8 * rank}, {4, 8}, rank);
      terms.push_back(
          Apply(&problem.parallel, Instantiate("linear", {{8, 8}, {4, 8}}), {xs, ws}, rank));
    }
  }

  void Finish(int rank, TensorId result) {
    Claim(result, y, {0, 0});
    Require(result, y, {0, 0});
    problem.parallel.tensors[result].name = "y@" + std::to_string(rank);
  }
  TensorId Reduce(int rank, int count, std::vector<TensorId> inputs) {
    const TensorId sum = Apply(
        &problem.parallel, *sdfg::AllReduce({8, 4}, DType::kFloat32, count, sdfg::ReduceKind::kSum),
        inputs, rank);
    problem.parallel.operators.back().group = {0, 1};
    return sum;
  }
};

TEST(Refutation, ACorrectSumIsNotRefuted) {
  RowParallel plan;
  for (int rank : {0, 1}) plan.Finish(rank, plan.Reduce(rank, 2, plan.terms));
  EXPECT_EQ(Decide(plan).verdict, stages::Verdict::kProved);
}

TEST(Refutation, AMissingSumIsNamedWithItsRanks) {
  RowParallel plan;
  for (int rank : {0, 1}) {
    sdfg::IndexFunction copy = *sdfg::Copy({8, 4}, DType::kFloat32);
    const TensorId same =
        plan.Apply(&plan.problem.parallel, std::move(copy), {plan.terms[rank]}, rank);
    plan.Finish(rank, same);
    plan.problem.parallel.tensors[same].name = "y";
  }
  const stages::Result result = Decide(plan);
  ASSERT_EQ(result.verdict, stages::Verdict::kRefuted);
  const stages::Violation& v = result.violations[0];
  EXPECT_THAT(v.cause, HasSubstr("sum over ranks 0, 1 missing"));
  EXPECT_THAT(v.devices, ElementsAre(0, 1));
  EXPECT_NE(v.witness_logical, v.witness_parallel);
  EXPECT_FALSE(v.witness_inputs.empty());
}

// One rank goes on with its own term, although another one adds up both.
TEST(Refutation, ASumThatOneRankLeavesOutIsNamed) {
  RowParallel plan;
  const TensorId z =
      plan.Apply(&plan.problem.logical, Instantiate("silu", {{8, 4}}), {plan.y}, sdfg::kNone);
  const TensorId kept =
      plan.Apply(&plan.problem.parallel, *sdfg::Copy({8, 4}, DType::kFloat32), {plan.terms[1]}, 1);
  const TensorId sums[] = {plan.Reduce(0, 2, plan.terms), kept};
  for (int rank : {0, 1}) {
    const TensorId made =
        plan.Apply(&plan.problem.parallel, Instantiate("silu", {{8, 4}}), {sums[rank]}, rank);
    plan.Claim(made, z, {0, 0});
    plan.Require(made, z, {0, 0});
  }
  const stages::Result result = Decide(plan);
  ASSERT_EQ(result.verdict, stages::Verdict::kRefuted);
  EXPECT_THAT(result.violations[0].cause,
              HasSubstr("keeps what rank 1 holds where a sum over ranks 0, 1 is needed"));
  EXPECT_THAT(result.violations[0].devices, ElementsAre(1));
}

// The average of two tensors, of which each rank gives its own.
TEST(Refutation, AMissingAverageIsNamedWithItsRanks) {
  SmallProblem plan;
  const std::vector<TensorId> x = {plan.Logical("a", {8}), plan.Logical("b", {8})};
  const TensorId y = plan.Apply(
      &plan.problem.logical, *sdfg::AllReduce({8}, DType::kFloat32, 2, sdfg::ReduceKind::kAvg), x);
  for (int rank : {0, 1}) {
    const TensorId held = plan.Slice(x[rank], {0}, {8}, rank);
    const TensorId same =
        plan.Apply(&plan.problem.parallel, *sdfg::Copy({8}, DType::kFloat32), {held}, rank);
    plan.Claim(same, y, {0});
    plan.Require(same, y, {0});
    plan.problem.parallel.tensors[same].name = "y";
  }
  const stages::Result result = Decide(plan);
  ASSERT_EQ(result.verdict, stages::Verdict::kRefuted);
  EXPECT_THAT(result.violations[0].cause, HasSubstr("average over ranks 0, 1 missing"));
}

TEST(Refutation, ATermAddedTwiceIsNamed) {
  RowParallel plan;
  plan.Finish(0, plan.Reduce(0, 3, {plan.terms[0], plan.terms[1], plan.terms[1]}));
  const stages::Result result = Decide(plan);
  ASSERT_EQ(result.verdict, stages::Verdict::kRefuted);
  EXPECT_THAT(result.violations[0].cause, HasSubstr("counted once too often"));
}

TEST(Refutation, AFactorIsNamedWithTheGroupOfThatSize) {
  RowParallel plan;
  const TensorId sum = plan.Reduce(0, 2, plan.terms);
  const TensorId same = plan.Reduce(1, 2, plan.terms);
  plan.Finish(0, plan.Reduce(0, 2, {sum, same}));
  const stages::Result result = Decide(plan);
  ASSERT_EQ(result.verdict, stages::Verdict::kRefuted);
  EXPECT_THAT(result.violations[0].cause,
              HasSubstr("2 times too large = size of the group of ranks 0,1"));
  EXPECT_THAT(result.violations[0].cause, HasSubstr("all_reduce over ranks 0, 1 is one too many"));
}

// y[i] = sin(frequency * x[start + i]), of x [8].
sdfg::IndexFunction Wave(int64_t start, int64_t size, int64_t frequency) {
  sdfg::IndexFunctionBuilder builder("wave");
  const int x = builder.AddInput("x", sdfg::Shape{8}, DType::kFloat32);
  const int y = builder.AddOutput("y", sdfg::Shape{size}, DType::kFloat32);
  const sdfg::ExprId i = builder.Index(std::vector<sdfg::VarId>(builder.OutputDims(y))[0]);
  const sdfg::ExprId at = start == 0 ? i : builder.IntAdd(builder.Int(start), i);
  const sdfg::ExprId phase =
      builder.Binary(sdfg::Op::kMul, builder.Real(frequency), builder.Element(x, {at}));
  builder.SetBody(y, builder.Unary(sdfg::Op::kSin, phase));
  sdfg::IndexFunction function;
  EXPECT_TRUE(builder.Finish(&function).ok());
  return function;
}

// Where what a rank computes is written otherwise because it begins elsewhere, too.
TEST(Refutation, AConstantIsNamedInAFunctionOfAnotherForm) {
  SmallProblem plan;
  const TensorId x = plan.Logical("x", {8});
  const TensorId y = plan.Apply(&plan.problem.logical, Wave(0, 8, 3), {x});
  for (int rank : {0, 1}) {
    const TensorId whole = plan.Slice(x, {0}, {8}, rank);
    const TensorId made =
        plan.Apply(&plan.problem.parallel, Wave(4 * rank, 4, rank == 0 ? 3 : 5), {whole}, rank);
    plan.Claim(made, y, {4 * rank});
    plan.Require(made, y, {4 * rank});
  }
  const stages::Result result = Decide(plan);
  ASSERT_EQ(result.verdict, stages::Verdict::kRefuted);
  EXPECT_THAT(result.violations[0].cause,
              HasSubstr("a constant of wave is 5, in the model it is 3"));
}

TEST(Refutation, SwappedShardsAreNamed) {
  SmallProblem plan;
  const TensorId x = plan.Logical("x", {8});
  const TensorId y = plan.Apply(&plan.problem.logical, Instantiate("silu", {{8}}), {x});
  for (int rank : {0, 1}) {
    const TensorId part = plan.Slice(x, {4 - 4 * rank}, {4}, rank);
    const TensorId made =
        plan.Apply(&plan.problem.parallel, Instantiate("silu", {{4}}), {part}, rank);
    plan.Claim(made, y, {4 * rank});
    plan.Require(made, y, {4 * rank});
  }
  const stages::Result result = Decide(plan);
  ASSERT_EQ(result.verdict, stages::Verdict::kRefuted);
  EXPECT_THAT(result.violations[0].cause, HasSubstr("shards of ranks 0 and 1 are swapped"));
}

// |x| as sqrt(x^2), on one rank as sqrt(-x^2).
TEST(Refutation, AValueThatOnlyThePlanDoesNotHaveIsNamedWithItsRankAndOperator) {
  SmallProblem plan;
  const TensorId x = plan.Logical("x", {8});
  const TensorId y = plan.Apply(&plan.problem.logical, Instantiate("abs", {{8}}), {x});
  sdfg::Graph* graph = &plan.problem.parallel;
  for (int rank : {0, 1}) {
    const TensorId part = plan.Slice(x, {4 * rank}, {4}, rank);
    TensorId square = plan.Apply(graph, Instantiate("mul", {{4}, {4}}), {part, part}, rank);
    if (rank == 1) square = plan.Apply(graph, Instantiate("neg", {{4}}), {square}, rank);
    const TensorId made = plan.Apply(graph, Instantiate("sqrt", {{4}}), {square}, rank);
    plan.Claim(made, y, {4 * rank});
    plan.Require(made, y, {4 * rank});
  }
  const stages::Result result = Decide(plan);
  ASSERT_EQ(result.verdict, stages::Verdict::kRefuted);
  const stages::Violation& v = result.violations[0];
  EXPECT_THAT(v.devices, ElementsAre(1));
  EXPECT_THAT(v.message, HasSubstr("root of a negative number in sqrt"));
  EXPECT_EQ(v.witness_parallel, "undefined");
}

// sqrt(x)^2 for x, where the plan also says something wrong about sqrt(x).
SmallProblem SquareOfRoot() {
  SmallProblem plan;
  const TensorId x = plan.Logical("x", {8});
  sdfg::Graph* logical = &plan.problem.logical;
  const TensorId y = plan.Apply(logical, Instantiate("neg", {{8}}), {x});
  const TensorId other = plan.Apply(logical, Instantiate("exp", {{8}}), {x});
  sdfg::Graph* graph = &plan.problem.parallel;
  const TensorId in = plan.Slice(x, {0}, {8}, 0);
  const TensorId root = plan.Apply(graph, Instantiate("sqrt", {{8}}), {in}, 0);
  plan.Claim(root, other, {0});
  const TensorId square = plan.Apply(graph, Instantiate("mul", {{8}, {8}}), {root, root}, 0);
  const TensorId made = plan.Apply(graph, Instantiate("neg", {{8}}), {square}, 0);
  plan.Require(made, y, {0});
  return plan;
}

TEST(Refutation, APlanWithoutAValueWhereTheModelHasOneIsNoSubstitute) {
  SmallProblem plan = SquareOfRoot();
  const stages::Result result = Decide(plan);
  ASSERT_EQ(result.verdict, stages::Verdict::kRefuted);
  EXPECT_THAT(result.violations[0].message, HasSubstr("root of a negative number in sqrt"));
}

TEST(Refutation, AcceptedRestrictionsAreListedWithTheProof) {
  SmallProblem plan = SquareOfRoot();
  plan.Check();
  stages::VerifyOptions options;
  options.jobs = 1;
  options.accept_restrictions = true;
  const stages::Result result = Verify(plan.problem, options);
  EXPECT_EQ(result.verdict, stages::Verdict::kProved);
  ASSERT_EQ(result.restrictions.size(), 1u);
  EXPECT_EQ(result.restrictions[0], "sqrt: x[i0] >= 0");
}

TEST(Refutation, PremisesThatExcludeEachOtherLeaveThePlanUndecided) {
  SmallProblem plan;
  const TensorId x = plan.Logical("x", {4});
  const auto build = [&](sdfg::Graph* graph, TensorId in, int device) {
    const TensorId one = plan.Apply(graph, Instantiate("log", {{4}}), {in}, device);
    const TensorId minus = plan.Apply(graph, Instantiate("neg", {{4}}), {in}, device);
    const TensorId two = plan.Apply(graph, Instantiate("log", {{4}}), {minus}, device);
    return plan.Apply(graph, Instantiate("add", {{4}, {4}}), {one, two}, device);
  };
  const TensorId y = build(&plan.problem.logical, x, -1);
  const TensorId made = build(&plan.problem.parallel, plan.Slice(x, {0}, {4}), 0);
  plan.Require(made, y, {0});
  plan.Check();
  stages::Result result;
  EXPECT_FALSE(HasFiniteSample(plan.problem, stages::VerifyOptions(), &result));
  ASSERT_EQ(result.violations.size(), 1u);
  EXPECT_EQ(result.violations[0].verdict, stages::Verdict::kUnknown);
  EXPECT_EQ(result.violations[0].kind, "premises have no common sample");
}

TEST(Residence, AnOperandOfAnotherDeviceIsMalformedUnlessTheOperatorMovesIt) {
  SmallProblem plan;
  const TensorId x = plan.Logical("x", {8});
  const TensorId y = plan.Apply(&plan.problem.logical, Instantiate("silu", {{8}}), {x});
  const TensorId there = plan.Slice(x, {0}, {8}, 1);
  const TensorId made = plan.Apply(&plan.problem.parallel, Instantiate("silu", {{8}}), {there}, 0);
  plan.Require(made, y, {0});
  const stages::Result result = Decide(plan);
  EXPECT_EQ(result.verdict, stages::Verdict::kMalformed);
  ASSERT_FALSE(result.violations.empty());
  EXPECT_THAT(result.violations[0].cause, HasSubstr("used on device 0 but held on device 1"));
  plan.problem.parallel.operators[0].group = {1, 0};
  EXPECT_TRUE(stages::CheckResidence(plan.problem.parallel, 9).empty());
}

TEST(Residence, ACollectiveReadsAnOperandOfEveryParticipant) {
  RowParallel plan;
  plan.Finish(0, plan.Reduce(0, 2, {plan.terms[0], plan.terms[0]}));
  const stages::Result result = Decide(plan);
  EXPECT_EQ(result.verdict, stages::Verdict::kMalformed);
  ASSERT_FALSE(result.violations.empty());
  EXPECT_THAT(result.violations[0].cause, HasSubstr("rank 1"));
}

// Where numbers do not tell, the operators that single ranks run instead are suspected.
TEST(Refutation, ExceptionsOfAStageAreSuspected) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {8});
  sdfg::Graph& parallel = small.problem.parallel;
  parallel.axes = {{"dp", 4}, {"tp", 2}, {"microbatch", 2, sdfg::AxisKind::kMicrobatch}};
  parallel.axis_device_stride = {2, 1, 0};
  const TensorId held = small.Slice(x, {0}, {8}, 16);
  const TensorId usual = small.Apply(&parallel, *sdfg::Copy({8}, DType::kFloat32), {held}, 16);
  const TensorId chosen = small.Apply(&parallel, Instantiate("add", {{8}, {8}}), {held, usual}, 16);
  parallel.operators.back().kind = sdfg::OperatorKind::kRankOverride;
  parallel.operators.back().override_at = {{0, {3}}, {1, {1}}, {2, {1}}};
  const TensorId last = small.Apply(&parallel, *sdfg::Copy({8}, DType::kFloat32), {chosen}, 16);
  small.problem.lineage.resize(parallel.tensors.size());
  const diagnosis::Fault suspect = diagnosis::SuspectExceptions(small.problem, last);
  ASSERT_EQ(suspect.operators.size(), 1u);
  EXPECT_EQ(parallel.operators[suspect.operators[0]].outputs[0], chosen);
  EXPECT_THAT(suspect.devices, ElementsAre(23));
  EXPECT_EQ(suspect.microbatches, "1");
  EXPECT_THAT(diagnosis::SuspectOperands(small.problem, last), ElementsAre(x));
  // Before it there is none.
  EXPECT_THAT(diagnosis::SuspectExceptions(small.problem, usual).operators, testing::IsEmpty());
}

}  // namespace
}  // namespace planproof::strategy
