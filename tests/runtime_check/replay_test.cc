// Replays of small problems with one fault each.
#include "runtime_check/replay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime_check/executor.h"
#include "runtime_check/rounding.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::runtime_check {
namespace {

using sdfg::DType;
using sdfg::TensorId;
using shape_reduction::Instantiate;
using shape_reduction::SmallProblem;

absl::StatusOr<ReplayReport> ReplayOnce(const lineage::Problem& problem, const Inputs& inputs,
                                        const ReplayOptions& options) {
  Programs programs;
  return Replay(problem, inputs, options, &programs);
}

// y = exp(x) of 6 elements; two devices have parts of it.
struct TwoParts {
  SmallProblem small;
  TensorId x, y;

  TwoParts() {
    x = small.Logical("x", {6});
    y = small.Apply(&small.problem.logical, Instantiate("exp", {{6}}), {x});
  }
  // A device computes `op` of the elements from `start`, and holds the elements from `claimed`.
  TensorId Part(const char* op, int64_t start, int64_t length, int64_t claimed,
                sdfg::Device device) {
    const TensorId part = small.Slice(x, {start}, {length}, device);
    const TensorId result =
        small.Apply(&small.problem.parallel, Instantiate(op, {{length}}), {part}, device);
    small.Require(result, y, {claimed});
    return result;
  }
  absl::StatusOr<ReplayReport> Run(ReplayOptions options = {}) {
    small.problem.lineage.resize(small.problem.parallel.tensors.size());
    small.Check();
    const absl::StatusOr<Inputs> inputs = RandomInputs(small.problem, options.arithmetic, 1);
    if (!inputs.ok()) return inputs.status();
    return ReplayOnce(small.problem, *inputs, options);
  }
};

TEST(Replay, ARightPlanHasNoAlarmInAnyType) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kBFloat16, DType::kFloat16,
                            DType::kFloat8E4M3, DType::kFloat8E5M2}) {
    TwoParts plan;
    plan.Part("exp", 0, 3, 0, 0);
    plan.Part("exp", 3, 3, 3, 1);
    const auto report = plan.Run({.arithmetic = dtype});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->alarms, 0);
    EXPECT_EQ(report->first, -1);
    EXPECT_EQ(report->tensors.size(), 2u);
  }
}

TEST(Replay, ADifferenceIsFoundWhereItIs) {
  TwoParts plan;
  plan.Part("exp", 0, 3, 0, 0);
  const TensorId wrong = plan.Part("sin", 3, 3, 3, 1);
  const auto report = plan.Run();
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->alarms, 1);
  const TensorReport& first = report->tensors[report->first];
  EXPECT_EQ(first.finding, Finding::kDiffers);
  EXPECT_EQ(first.parallel, wrong);
  EXPECT_EQ(first.devices, std::vector<int>{1});
  EXPECT_EQ(first.required, "exp.1");
}

TEST(Replay, AnotherSliceIsADifference) {
  TwoParts plan;
  plan.Part("exp", 0, 3, 0, 0);
  plan.Part("exp", 2, 3, 3, 1);
  const auto report = plan.Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->alarms, 1);
}

TEST(Replay, WhatNoDeviceHoldsIsOmitted) {
  TwoParts plan;
  plan.Part("exp", 0, 3, 0, 0);
  plan.Part("exp", 4, 2, 4, 1);
  const auto report = plan.Run();
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->alarms, 1);
  const TensorReport& first = report->tensors[report->first];
  EXPECT_EQ(first.finding, Finding::kOmitted);
  EXPECT_EQ(first.elements, 1);
  EXPECT_EQ(first.index, std::vector<int64_t>{3});
}

// A tensor of two ranks, of which the second has another value.
ReplayReport Ranks(int64_t step, int64_t local) {
  SmallProblem small;
  lineage::Problem& problem = small.problem;
  const TensorId x = small.Logical("x", {4});
  const TensorId y = small.Apply(&problem.logical, Instantiate("exp", {{4}}), {x});
  problem.parallel.axes = {{"tp", 2}};
  problem.parallel.axis_device_stride = {1};
  sdfg::Tensor held = problem.logical.tensors[x];
  held.shape = {2, local};
  held.axes = {0};
  held.device = 4;
  held.role = sdfg::TensorRole::kInput;
  const TensorId in = problem.parallel.AddTensor(held);
  held.name = "y";
  held.role = sdfg::TensorRole::kIntermediate;
  const TensorId out = problem.parallel.AddTensor(held);
  // Rank 1 adds 1 to what the model has.
  sdfg::IndexFunctionBuilder builder("exp");
  const int operand = builder.AddInput("x", {2, local}, DType::kFloat32);
  const int result = builder.AddOutput("y", sdfg::Shape{2, local}, DType::kFloat32);
  const auto dims = builder.OutputDims(result);
  const sdfg::ExprId rank = builder.Index(dims[0]);
  const sdfg::ExprId value =
      builder.Unary(sdfg::Op::kExp, builder.Element(operand, {rank, builder.Index(dims[1])}));
  builder.SetBody(result,
                  builder.Binary(sdfg::Op::kAdd, value, builder.Unary(sdfg::Op::kPosition, rank)));
  sdfg::IndexFunction function;
  EXPECT_TRUE(builder.Finish(&function).ok());
  sdfg::Operator op;
  op.name = "exp";
  op.lifted = false;
  op.inputs = {in};
  op.outputs = {out};
  op.function = problem.parallel.Intern(std::move(function));
  problem.parallel.AddOperator(std::move(op));
  lineage::Lineage lineage;
  lineage.kind = lineage::LineageKind::kFull;
  lineage.logical = x;
  lineage.map = {{0, {{.dim = 0, .scale = step}, {.dim = 1}}}};
  if (step == 0) lineage.map = {{0, {{.dim = 1}}}};
  problem.lineage = {lineage, {}};
  lineage.logical = y;
  problem.required.push_back({out, lineage, "y"});
  small.Check();
  const auto inputs = RandomInputs(problem, DType::kFloat64, 0);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  const auto report = ReplayOnce(problem, *inputs, {});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : ReplayReport();
}

TEST(Replay, ReplicasThatDifferAreAFindingOfTheirOwn) {
  const ReplayReport report = Ranks(0, 4);
  ASSERT_EQ(report.alarms, 2);
  EXPECT_EQ(report.tensors[0].finding, Finding::kDiffers);
  ASSERT_EQ(report.tensors[0].at.size(), 1u);
  EXPECT_EQ(report.tensors[0].at[0].coordinates, std::vector<int64_t>{1});
  EXPECT_EQ(report.tensors[0].devices, std::vector<int>{5});
  EXPECT_EQ(report.tensors[1].finding, Finding::kReplicasDiffer);
  EXPECT_EQ(report.tensors[1].elements, 4);
}

TEST(Replay, OverlapsThatDifferAreAFindingOfTheirOwn) {
  const ReplayReport report = Ranks(1, 3);
  ASSERT_EQ(report.alarms, 2);
  EXPECT_EQ(report.tensors[1].finding, Finding::kOverlapsDiffer);
  EXPECT_EQ(report.tensors[1].elements, 2);
  EXPECT_EQ(report.tensors[1].index, std::vector<int64_t>{1});
}

// What two parallel tensors say of one output, each as it should be where it is compared alone.
TEST(Replay, CopiesInTwoTensorsAreComparedWithEachOther) {
  TwoParts copies;
  copies.Part("exp", 0, 6, 0, 0);
  const TensorId wrong = copies.Part("sin", 0, 6, 0, 1);
  auto report = copies.Run();
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->alarms, 2);
  EXPECT_EQ(report->tensors.back().finding, Finding::kReplicasDiffer);
  EXPECT_EQ(report->tensors.back().parallel, wrong);
  EXPECT_EQ(report->tensors.back().elements, 6);
  TwoParts overlap;
  overlap.Part("exp", 0, 4, 0, 0);
  overlap.Part("sin", 2, 4, 2, 1);
  report = overlap.Run();
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->alarms, 2);
  EXPECT_EQ(report->tensors.back().finding, Finding::kOverlapsDiffer);
  EXPECT_EQ(report->tensors.back().elements, 2);
  EXPECT_EQ(report->tensors.back().index, std::vector<int64_t>{2});
}

TEST(Replay, OperatorsAreCompiledOnce) {
  TwoParts plan;
  plan.Part("exp", 0, 3, 0, 0);
  plan.Part("exp", 3, 3, 3, 1);
  plan.small.problem.lineage.resize(plan.small.problem.parallel.tensors.size());
  plan.small.Check();
  const auto inputs = RandomInputs(plan.small.problem, DType::kFloat64, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  Programs checked, run;
  ASSERT_TRUE(CheckLimits(plan.small.problem, {}, &checked).ok());
  const int compiled = checked.compiled();
  EXPECT_GT(compiled, 1);
  ASSERT_TRUE(Replay(plan.small.problem, *inputs, {}, &checked).ok());
  EXPECT_EQ(checked.compiled(), compiled);
  ASSERT_TRUE(Replay(plan.small.problem, *inputs, {}, &run).ok());
  EXPECT_EQ(run.compiled(), compiled);
}

// Three operators one after another, each of which the plan claims; the first of them is `first`.
absl::StatusOr<ReplayReport> Chain(const char* first, bool by_stage,
                                   DType dtype = DType::kFloat32) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {50});
  const TensorId part = small.Slice(x, {0}, {50});
  TensorId logical = x, parallel = part;
  for (int i = 0; i < 3; ++i) {
    logical = small.Apply(&small.problem.logical, Instantiate("exp", {{50}}), {logical});
    parallel = small.Apply(&small.problem.parallel, Instantiate(i == 0 ? first : "exp", {{50}}),
                           {parallel}, 0);
    if (i < 2) small.Claim(parallel, logical, {0});
  }
  small.Require(parallel, logical, {0});
  small.problem.lineage.resize(small.problem.parallel.tensors.size());
  small.Check();
  const auto inputs = RandomInputs(small.problem, dtype, 1);
  if (!inputs.ok()) return inputs.status();
  return ReplayOnce(small.problem, *inputs, {.arithmetic = dtype, .by_stage = by_stage});
}

TEST(Replay, ByStageAWrongOperatorAlarmsAlone) {
  const auto whole = Chain("sin", false), by_stage = Chain("sin", true);
  ASSERT_TRUE(whole.ok() && by_stage.ok()) << whole.status() << by_stage.status();
  EXPECT_EQ(whole->alarms, 3);
  EXPECT_EQ(by_stage->alarms, 1);
  EXPECT_EQ(by_stage->first, 0);
  EXPECT_EQ(by_stage->tensors.size(), 3u);
}

TEST(Replay, ByStageTheExpectationAndItsBoundAreThoseOfTheStage) {
  const auto whole = Chain("exp", false), by_stage = Chain("exp", true);
  ASSERT_TRUE(whole.ok() && by_stage.ok()) << whole.status() << by_stage.status();
  EXPECT_EQ(by_stage->alarms, 0);
  const Measure &accumulated = whole->tensors[2].measure, &own = by_stage->tensors[2].measure;
  EXPECT_GT(accumulated.expectation, 10 * EpsilonOf(DType::kFloat32));
  EXPECT_GT(accumulated.expectation, 1.5 * own.expectation);
  // Sums are added up in float32 in either case.
  EXPECT_EQ(own.bound, accumulated.bound);
  for (const bool stage : {false, true}) {
    const auto narrow = Chain("exp", stage, DType::kFloat16);
    ASSERT_TRUE(narrow.ok()) << narrow.status();
    EXPECT_EQ(narrow->alarms, 0);
    EXPECT_EQ(narrow->tensors[0].measure.bound,
              RatioBound(50, stage ? Roundings::kFew : Roundings::kMany));
  }
}

// exp(exp(exp(x))) changes by up to 40 times what x does.
TEST(Replay, TheExpectationIsWhatTheModelMakesOfSmallChanges) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {50});
  const auto thrice = [&](sdfg::Graph* graph, TensorId at, sdfg::Device device) {
    for (int i = 0; i < 3; ++i) at = small.Apply(graph, Instantiate("exp", {{50}}), {at}, device);
    return at;
  };
  const TensorId y = thrice(&small.problem.logical, x, -1);
  const TensorId part = small.Slice(x, {0}, {50});
  small.Require(thrice(&small.problem.parallel, part, 0), y, {0});
  small.Check();
  for (const DType dtype : {DType::kFloat64, DType::kFloat32}) {
    const auto inputs = RandomInputs(small.problem, dtype, 1);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const auto report = ReplayOnce(small.problem, *inputs, {.arithmetic = dtype});
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->tensors.size(), 1u);
    const double times = report->tensors[0].measure.expectation / EpsilonOf(dtype);
    EXPECT_TRUE(times > 10 && times < 45) << times;
  }
}

TEST(Replay, LimitsAreSaidWithARemedy) {
  TwoParts plan;
  plan.Part("exp", 0, 3, 0, 0);
  plan.Part("exp", 3, 3, 3, 1);
  const absl::Status elements = plan.Run({.element_limit = 20}).status();
  EXPECT_EQ(elements.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(elements.message().find("24 elements in their tensors, more than the limit of 20"),
            std::string::npos)
      << elements;
  EXPECT_NE(elements.message().find("--element-limit"), std::string::npos);
  const absl::Status work = plan.Run({.work_limit = 20}).status();
  EXPECT_EQ(work.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(work.message().find("--work-limit"), std::string::npos);
  EXPECT_TRUE(plan.Run({.element_limit = 24}).ok());
}

// Nothing is in it, but there would be strides.
TEST(Replay, ExtentsBeyond64BitsAreRefused) {
  SmallProblem small;
  small.Logical("x", {0, int64_t{1} << 40, int64_t{1} << 40});
  Programs programs;
  const absl::Status status = CheckLimits(small.problem, {}, &programs);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(), "tensor x: its extents are beyond 64 bits");
}

// An id that is off by one is less than a number of 8 bits rounds by, but ids are not rounded.
TEST(Replay, IntegersAreComparedAsTheyAre) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {7}, sdfg::TensorRole::kInput, DType::kInt64);
  const TensorId held = small.Slice(x, {1}, {6});
  small.Require(held, x, {0});
  small.problem.lineage.resize(small.problem.parallel.tensors.size());
  small.Check();
  Inputs inputs(small.problem.logical.tensors.size());
  inputs[x] = Values::Zeros({7}, DType::kInt64, DType::kBFloat16);
  for (int64_t i = 0; i < 7; ++i) inputs[x].integers[i] = 1000 + i;
  const auto report = ReplayOnce(small.problem, inputs, {.arithmetic = DType::kBFloat16});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->alarms, 2);  // it differs, and no device holds the first
}

// One operator in float32; its first result.
float FirstOf(const char* op, const std::vector<std::vector<float>>& operands) {
  SmallProblem small;
  std::vector<sdfg::Shape> shapes;
  std::vector<TensorId> ids;
  for (const std::vector<float>& operand : operands) {
    shapes.push_back({1, static_cast<int64_t>(operand.size())});
    ids.push_back(small.Logical("x" + std::to_string(ids.size()), shapes.back()));
  }
  const TensorId made = small.Apply(&small.problem.logical, Instantiate(op, shapes), ids);
  std::vector<Values> tensors(small.problem.logical.tensors.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    tensors[ids[i]] = Values::Zeros(shapes[i], DType::kFloat32, DType::kFloat32);
    tensors[ids[i]].floats = operands[i];
  }
  Programs programs;
  EXPECT_TRUE(
      RunGraph(small.problem.logical, {.arithmetic = DType::kFloat32}, &programs, &tensors).ok());
  return tensors[made].floats[0];
}

TEST(Replay, ASumThatOverflowsIsInfinite) {
  const std::vector<float> large(64, 1e37F), ones(64, 1);
  EXPECT_EQ(FirstOf("linear", {large, ones}), std::numeric_limits<float>::infinity());
}

TEST(Replay, ALargerNumberThanNoneIsNone) {
  const float nan = std::nanf("");
  EXPECT_TRUE(std::isnan(FirstOf("maximum", {{1}, {nan}})));
  EXPECT_TRUE(std::isnan(FirstOf("maximum", {{nan}, {1}})));
}

TEST(Replay, AModelWithoutAValueCannotBeReplayed) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {6});
  const TensorId y = small.Apply(&small.problem.logical, Instantiate("log", {{6}}), {x});
  const TensorId held = small.Slice(x, {0}, {6});
  const TensorId result =
      small.Apply(&small.problem.parallel, Instantiate("exp", {{6}}), {held}, 0);
  small.Require(result, y, {0});
  small.Check();
  Inputs inputs(small.problem.logical.tensors.size());
  inputs[x] = Values::Zeros({6}, DType::kFloat32, DType::kFloat64);
  inputs[x].Set(3, -1);
  EXPECT_EQ(ReplayOnce(small.problem, inputs, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace planproof::runtime_check
