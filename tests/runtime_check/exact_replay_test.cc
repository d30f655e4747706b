// Replays in narrow types beside which the same inputs are replayed in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime_check/cancellation.h"
#include "runtime_check/executor.h"
#include "runtime_check/replay.h"
#include "runtime_check/rounding.h"
#include "sdfg/operator_library.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::runtime_check {
namespace {

using sdfg::DType;
using sdfg::TensorId;
using shape_reduction::Instantiate;
using shape_reduction::SmallProblem;

constexpr DType kNarrow[] = {DType::kBFloat16, DType::kFloat16, DType::kFloat8E4M3,
                             DType::kFloat8E5M2};

absl::StatusOr<ReplayReport> Replayed(SmallProblem* small, const ReplayOptions& options) {
  small->problem.lineage.resize(small->problem.parallel.tensors.size());
  small->Check();
  const absl::StatusOr<Inputs> inputs = RandomInputs(small->problem, options.arithmetic, 1);
  if (!inputs.ok()) return inputs.status();
  Programs programs;
  return Replay(small->problem, *inputs, options, &programs);
}

sdfg::IndexFunction Finished(sdfg::IndexFunctionBuilder* builder) {
  sdfg::IndexFunction function;
  const absl::Status status = builder->Finish(&function);
  EXPECT_TRUE(status.ok()) << status;
  return function;
}

// y[i] = x[i] * factor + offset.
sdfg::IndexFunction Affine(const sdfg::Shape& shape, solver::Rational factor,
                           solver::Rational offset = solver::Rational(0)) {
  sdfg::IndexFunctionBuilder builder("affine");
  const int x = builder.AddInput("x", shape, DType::kFloat32);
  const int y = builder.AddOutput("y", shape, DType::kFloat32);
  std::vector<sdfg::ExprId> at;
  for (const sdfg::VarId dim : builder.OutputDims(y)) at.push_back(builder.Index(dim));
  const sdfg::ExprId product =
      builder.Binary(sdfg::Op::kMul, builder.Element(x, at), builder.Real(std::move(factor)));
  builder.SetBody(y, builder.Binary(sdfg::Op::kAdd, product, builder.Real(std::move(offset))));
  return Finished(&builder);
}

// Two stages; the first of the plan multiplies by 1 + 1/50, the model by 1.
absl::StatusOr<ReplayReport> SlightlyWrong(const ReplayOptions& options, bool wrong = true) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {100});
  const TensorId h = small.Apply(&small.problem.logical, Affine({100}, solver::Rational(1)), {x});
  const TensorId y = small.Apply(&small.problem.logical, Instantiate("exp", {{100}}), {h});
  const TensorId held = small.Slice(x, {0}, {100});
  const TensorId first =
      small.Apply(&small.problem.parallel,
                  Affine({100}, wrong ? solver::Rational(51, 50) : solver::Rational(1)), {held}, 0);
  small.Claim(first, h, {0});
  const TensorId second =
      small.Apply(&small.problem.parallel, Instantiate("exp", {{100}}), {first}, 0);
  small.Require(second, y, {0});
  return Replayed(&small, options);
}

// 2 % are less than a number of 8 bits is rounded by.
TEST(ExactReplay, WhatRoundingHidesIsFoundInFloat64AtItsStage) {
  for (const DType dtype : {DType::kFloat8E4M3, DType::kFloat8E5M2}) {
    for (const bool by_stage : {false, true}) {
      const auto alone = SlightlyWrong({.arithmetic = dtype, .by_stage = by_stage});
      ASSERT_TRUE(alone.ok()) << alone.status();
      EXPECT_EQ(alone->alarms, 0);
      EXPECT_FALSE(alone->tensors[0].exact.has_value());
      const auto report = SlightlyWrong({.arithmetic = dtype, .by_stage = by_stage, .exact = true});
      ASSERT_TRUE(report.ok()) << report.status();
      ASSERT_EQ(report->first, 0);
      EXPECT_EQ(report->alarms, by_stage ? 1 : 2);
      EXPECT_EQ(report->alarms_in_type, 0);
      EXPECT_EQ(report->alarms_exact, report->alarms);
      const TensorReport& first = report->tensors[0];
      EXPECT_EQ(first.finding, Finding::kDiffers);
      EXPECT_FALSE(first.alarms_in_type);
      EXPECT_EQ(first.devices, std::vector<int>{0});
      EXPECT_LE(first.measure.ratio, first.measure.bound);
      ASSERT_TRUE(first.exact.has_value());
      EXPECT_TRUE(first.exact->alarms);
      EXPECT_GT(first.exact->measure.ratio, 1e12);
      EXPECT_NEAR(first.exact->measure.error, 0.02, 1e-6);
    }
  }
}

// A finding that is about no tensor by itself may be of the run in float64 only.
TEST(ExactReplay, CopiesThatDifferByLessThanRoundingAreFoundInFloat64) {
  SmallProblem small;
  const solver::Rational one(1);
  const TensorId x = small.Logical("x", {100});
  const TensorId y = small.Apply(&small.problem.logical, Affine({100}, one), {x});
  for (const int device : {0, 1}) {
    const TensorId held = small.Slice(x, {0}, {100}, device);
    const sdfg::IndexFunction function =
        Affine({100}, device == 0 ? one : solver::Rational(51, 50));
    small.Require(small.Apply(&small.problem.parallel, function, {held}, device), y, {0});
  }
  const auto report = Replayed(&small, {.arithmetic = DType::kFloat8E5M2, .exact = true});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->tensors.size(), 3u);
  EXPECT_EQ(report->alarms, 2);
  EXPECT_EQ(report->alarms_in_type, 0);
  EXPECT_EQ(report->tensors[0].finding, Finding::kNone);
  EXPECT_EQ(report->tensors[1].finding, Finding::kDiffers);
  const TensorReport& copies = report->tensors[2];
  EXPECT_EQ(copies.finding, Finding::kReplicasDiffer);
  EXPECT_GT(copies.elements, 90);
  EXPECT_EQ(copies.ratio, 0);
  EXPECT_GT(copies.exact->ratio, 1e12);
  EXPECT_TRUE(copies.exact->alarms);
}

TEST(ExactReplay, ARightPlanHasNoAlarmInAnyType) {
  for (const DType dtype : kNarrow) {
    for (const bool by_stage : {false, true}) {
      const auto report =
          SlightlyWrong({.arithmetic = dtype, .by_stage = by_stage, .exact = true}, false);
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_EQ(report->alarms, 0);
      EXPECT_EQ(report->alarms_exact, 0);
    }
  }
}

TEST(ExactReplay, InFloat64ThereIsNothingBeside) {
  const auto report = SlightlyWrong({.exact = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->alarms, 2);
  EXPECT_FALSE(report->tensors[0].exact.has_value());
}

TEST(ExactReplay, BothRunsAreWithinTheLimit) {
  const auto alone = SlightlyWrong({.arithmetic = DType::kBFloat16});
  const auto both = SlightlyWrong({.arithmetic = DType::kBFloat16, .exact = true});
  ASSERT_TRUE(alone.ok() && both.ok());
  EXPECT_EQ(both->cost.work, 2 * alone->cost.work);
  EXPECT_EQ(
      SlightlyWrong(
          {.arithmetic = DType::kBFloat16, .exact = true, .work_limit = 1.5 * alone->cost.work})
          .status()
          .code(),
      absl::StatusCode::kResourceExhausted);
}

// The plan adds 64 and subtracts it again: right over the reals, but in between little is left of a
// number in a narrow type.
TEST(ExactReplay, AFaultOfPrecisionIsFoundInTheTypeAlone) {
  for (const DType dtype : kNarrow) {
    SmallProblem small;
    const solver::Rational one(1), shift(64);
    const TensorId x = small.Logical("x", {100});
    const TensorId y = small.Apply(&small.problem.logical, Affine({100}, one), {x});
    sdfg::Graph* const plan = &small.problem.parallel;
    const TensorId shifted =
        small.Apply(plan, Affine({100}, one, shift), {small.Slice(x, {0}, {100})}, 0);
    small.Require(small.Apply(plan, Affine({100}, one, -shift), {shifted}, 0), y, {0});
    const auto report = Replayed(&small, {.arithmetic = dtype, .by_stage = true, .exact = true});
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->first, 0) << sdfg::DTypeName(dtype);
    EXPECT_TRUE(report->tensors[0].alarms_in_type);
    EXPECT_FALSE(report->tensors[0].exact->alarms);
    EXPECT_EQ(report->alarms_exact, 0);
  }
}

// y[i] = (x[i] + shift) - shift.
sdfg::IndexFunction ThereAndBack(int64_t size, const solver::Rational& shift) {
  sdfg::IndexFunctionBuilder builder("there_and_back");
  const int x = builder.AddInput("x", {size}, DType::kFloat32);
  const int y = builder.AddOutput("y", sdfg::Shape{size}, DType::kFloat32);
  const sdfg::ExprId there =
      builder.Binary(sdfg::Op::kAdd, builder.Element(x, {builder.Index(builder.OutputDims(y)[0])}),
                     builder.Real(shift));
  builder.SetBody(y, builder.Binary(sdfg::Op::kAdd, there, builder.Real(-shift)));
  return Finished(&builder);
}

// What cancels within one operator of the model is rounded where a plan computes it by two.
TEST(ExactReplay, AnOperatorInWhichMuchCancelsMayBeSplit) {
  for (const DType dtype : kNarrow) {
    for (const bool exact : {false, true}) {
      SmallProblem small;
      const solver::Rational one(1), shift(64);
      const TensorId x = small.Logical("x", {100});
      const TensorId y = small.Apply(&small.problem.logical, ThereAndBack(100, shift), {x});
      sdfg::Graph* const plan = &small.problem.parallel;
      const TensorId there =
          small.Apply(plan, Affine({100}, one, shift), {small.Slice(x, {0}, {100})}, 0);
      small.Require(small.Apply(plan, Affine({100}, one, -shift), {there}, 0), y, {0});
      const auto report = Replayed(&small, {.arithmetic = dtype, .exact = exact});
      ASSERT_TRUE(report.ok()) << report.status();
      // In FP8 an error of 1 is hardly more than rounding in any case.
      if (exact || !IsScaledFloat(dtype)) {
        EXPECT_EQ(report->alarms, exact ? 0 : 1) << sdfg::DTypeName(dtype);
      }
    }
  }
}

// y[i] = x[i] / sqrt(v[i] + eps).
sdfg::IndexFunction OverRoot(int64_t size, solver::Rational eps) {
  sdfg::IndexFunctionBuilder builder("over_root");
  const int x = builder.AddInput("x", {size}, DType::kFloat32);
  const int v = builder.AddInput("v", {size}, DType::kFloat32);
  const int y = builder.AddOutput("y", sdfg::Shape{size}, DType::kFloat32);
  const sdfg::ExprId at = builder.Index(builder.OutputDims(y)[0]);
  const sdfg::ExprId sum =
      builder.Binary(sdfg::Op::kAdd, builder.Element(v, {at}), builder.Real(std::move(eps)));
  builder.SetBody(y, builder.Binary(sdfg::Op::kMul, builder.Element(x, {at}),
                                    builder.Pow(sum, solver::Rational(-1, 2))));
  return Finished(&builder);
}

// As an optimizer does: the model divides by a root of squares that the type rounds to 0. The plan
// scales them before, and is nearer to what the model is without rounding than the model.
TEST(ExactReplay, WhereTheModelItselfIsLostRoundingMayDoAnything) {
  constexpr int64_t kSize = 50;
  SmallProblem small;
  sdfg::Graph *const model = &small.problem.logical, *const plan = &small.problem.parallel;
  const sdfg::IndexFunction square = Instantiate("mul", {{kSize}, {kSize}}),
                            inverse = Instantiate("div", {{kSize}, {kSize}});
  const TensorId x = small.Logical("x", {kSize}), one = small.Logical("one", {kSize});
  const solver::Rational eps(1, int64_t{1} << 50), factor(int64_t{1} << 13);
  const TensorId sign =
      small.Apply(model, OverRoot(kSize, eps), {x, small.Apply(model, square, {x, x})});
  const TensorId y = small.Apply(model, inverse, {one, sign});
  const TensorId scaled =
      small.Apply(plan, Affine({kSize}, factor), {small.Slice(x, {0}, {kSize})}, 0);
  const TensorId held = small.Apply(plan, OverRoot(kSize, eps * factor * factor),
                                    {scaled, small.Apply(plan, square, {scaled, scaled}, 0)}, 0);
  small.Require(small.Apply(plan, inverse, {small.Slice(one, {0}, {kSize}), held}, 0), y, {0});
  small.problem.lineage.resize(small.problem.parallel.tensors.size());
  small.Check();
  Inputs inputs(small.problem.logical.tensors.size());
  inputs[x] = inputs[one] = Values::Zeros({kSize}, DType::kFloat32, DType::kFloat16);
  for (int64_t i = 0; i < kSize; ++i) {
    inputs[x].Set(i, std::ldexp(0.5 + static_cast<double>(i) / 128, -13));
    inputs[one].Set(i, 1);
  }
  for (const bool exact : {false, true}) {
    Programs programs;
    const auto report =
        Replay(small.problem, inputs, {.arithmetic = DType::kFloat16, .exact = exact}, &programs);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->alarms, exact ? 0 : 1);
    EXPECT_EQ(report->alarms_exact, 0);
    EXPECT_EQ(report->blind, exact ? 1 : 0);
  }
}

// c[i,j] = u[i,j] - mean of column j.
sdfg::IndexFunction Centred(int64_t rows, int64_t columns) {
  sdfg::IndexFunctionBuilder builder("centred");
  const int u = builder.AddInput("u", {rows, columns}, DType::kFloat32);
  const int c = builder.AddOutput("c", sdfg::Shape{rows, columns}, DType::kFloat32);
  const auto dims = builder.OutputDims(c);
  const sdfg::VarId k = builder.AddVar("k", rows);
  const sdfg::ExprId column = builder.Index(dims[1]);
  const sdfg::ExprId sum =
      builder.Reduce(sdfg::Op::kSum, k, builder.Element(u, {builder.Index(k), column}));
  const sdfg::ExprId mean =
      builder.Binary(sdfg::Op::kMul, sum, builder.Real(solver::Rational(-1, rows)));
  builder.SetBody(c, builder.Binary(sdfg::Op::kAdd,
                                    builder.Element(u, {builder.Index(dims[0]), column}), mean));
  return Finished(&builder);
}

sdfg::IndexFunction Reduced(const std::string& name, const sdfg::Shape& shape) {
  sdfg::Operand operand;
  operand.shape = shape;
  operand.dtype = DType::kFloat32;
  const auto function = sdfg::OperatorLibrary::BuiltIn().Instantiate(
      name, {operand}, {{"dim", std::vector<int64_t>{0}}});
  EXPECT_TRUE(function.ok()) << function.status();
  return function.ok() ? *function : sdfg::IndexFunction();
}

constexpr int64_t kRows = 16, kColumns = 8;
const sdfg::Shape kMatrix = {kRows, kColumns};

// The sum of all differences to the mean, and its square. The plan has the mean as a tensor of its
// own, whose rounding is added up; one that is wrong has another factor in it.
absl::StatusOr<ReplayReport> SumOfDifferences(DType dtype, solver::Rational factor) {
  SmallProblem small;
  sdfg::Graph *const model = &small.problem.logical, *const plan = &small.problem.parallel;
  const sdfg::IndexFunction raised = Affine(kMatrix, solver::Rational(1), solver::Rational(8));
  const sdfg::IndexFunction square = Instantiate("mul", {{kColumns}, {kColumns}});
  const TensorId x = small.Logical("x", kMatrix);
  const TensorId u = small.Apply(model, raised, {x});
  const TensorId g = small.Apply(model, Reduced("sum", kMatrix),
                                 {small.Apply(model, Centred(kRows, kColumns), {u})});
  const TensorId squared = small.Apply(model, square, {g, g});
  const TensorId held = small.Apply(plan, raised, {small.Slice(x, {0, 0}, kMatrix)}, 0);
  TensorId mean = small.Apply(plan, Reduced("mean", kMatrix), {held}, 0);
  mean = small.Apply(plan, Affine({kColumns}, std::move(factor)), {mean}, 0);
  const TensorId differences =
      small.Apply(plan, Instantiate("sub", {kMatrix, {kColumns}}), {held, mean}, 0);
  const TensorId sum = small.Apply(plan, Reduced("sum", kMatrix), {differences}, 0);
  small.Require(sum, g, {0});
  small.Require(small.Apply(plan, square, {sum, sum}, 0), squared, {0});
  return Replayed(&small, {.arithmetic = dtype, .exact = true});
}

TEST(ExactReplay, RoundingOfWhatCancelsIsNoAlarm) {
  for (const DType dtype : kNarrow) {
    const auto report = SumOfDifferences(dtype, solver::Rational(1));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->alarms, 0) << sdfg::DTypeName(dtype);
    ASSERT_EQ(report->tensors.size(), 2u);
    // The scale is that of the differences, not of their sum.
    const Measure& own = report->tensors[0].measure;
    EXPECT_LT(own.error, own.bound * own.expectation);
    EXPECT_GT(own.scale, 16);
  }
}

TEST(ExactReplay, AFaultInWhatCancelsIsFoundInEveryType) {
  for (const DType dtype : kNarrow) {
    const auto report = SumOfDifferences(dtype, solver::Rational(1'000'001, 1'000'000));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->alarms_exact, 2) << sdfg::DTypeName(dtype);
    EXPECT_EQ(report->first, 0);
  }
}

std::vector<double> MagnitudesOf(const sdfg::IndexFunction& function,
                                 const std::vector<double>& operand, double* value) {
  SmallProblem small;
  const auto size = static_cast<int64_t>(operand.size());
  const TensorId x = small.Logical("x", {size});
  const TensorId y = small.Apply(&small.problem.logical, function, {x});
  std::vector<Values> tensors(small.problem.logical.tensors.size());
  tensors[x] = Values::Zeros({size}, DType::kFloat32, DType::kFloat64);
  tensors[x].doubles = operand;
  Programs programs;
  EXPECT_TRUE(RunGraph(small.problem.logical, {}, &programs, &tensors).ok());
  *value = tensors[y].doubles[0];
  const auto found = CancellationsOf(small.problem.logical, tensors, &programs, nullptr);
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? found->magnitudes : std::vector<double>(2);
}

TEST(Cancellation, ASumThatIsZeroHasTheMagnitudeOfItsTerms) {
  const sdfg::IndexFunction sum = Reduced("sum", {3});
  double value = 0;
  EXPECT_EQ(MagnitudesOf(sum, {1, 2, -3}, &value)[1], 6);
  EXPECT_NEAR(MagnitudesOf(sum, {0.1, 0.2, -0.3}, &value)[1], 0.6, 1e-15);
  EXPECT_NE(value, 0);
}

// The elements of a product of matrices, of which only norms are looked at as a rule.
TEST(Cancellation, AProductThatIsZeroHasTheMagnitudeOfItsTerms) {
  SmallProblem small;
  sdfg::Graph* const model = &small.problem.logical;
  const TensorId x = small.Logical("x", {4}), w = small.Logical("w", {1, 4});
  const TensorId y = small.Apply(model, Instantiate("linear", {{4}, {1, 4}}), {x, w});
  const TensorId z =
      small.Apply(model, Instantiate("linear", {{1}, {2, 1}}), {y, small.Logical("v", {2, 1})});
  std::vector<Values> tensors(model->tensors.size());
  const auto set = [&](TensorId id, std::vector<double> numbers) {
    tensors[id] = Values::Zeros(model->tensors[id].shape, DType::kFloat32, DType::kFloat64);
    tensors[id].doubles = std::move(numbers);
  };
  set(x, {0.1, 0.2, 0.3, -0.6});
  set(w, {1, 1, 1, 1});
  set(model->operators.back().inputs[1], {2, -3});
  Programs programs;
  ASSERT_TRUE(RunGraph(*model, {}, &programs, &tensors).ok());
  ASSERT_NE(tensors[y].doubles[0], 0);  // rounding
  const auto found = CancellationsOf(*model, tensors, &programs, nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_NEAR(found->magnitudes[y], 1.2, 1e-12);
  ASSERT_EQ(found->spreads[y].size(), 1u);
  EXPECT_NEAR(found->spreads[y][0], std::sqrt(0.01 + 0.04 + 0.09 + 0.36), 1e-6);
  // What is computed from it has the magnitudes that follow.
  EXPECT_NEAR(found->magnitudes[z], std::sqrt((2.4 * 2.4 + 3.6 * 3.6) / 2), 1e-12);
  // What does not cancel has none.
  set(x, {0.1, 0.2, 0.3, 0.6});
  ASSERT_TRUE(RunGraph(*model, {}, &programs, &tensors).ok());
  const auto none = CancellationsOf(*model, tensors, &programs, nullptr);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->magnitudes[y], 0);
  EXPECT_TRUE(none->spreads[y].empty());
  EXPECT_EQ(none->magnitudes[z], 0);
}

// What is small but no rounding keeps its own scale.
TEST(Cancellation, SmallNumbersAreNotTakenForRounding) {
  double value = 0;
  EXPECT_EQ(MagnitudesOf(Reduced("sum", {3}), {1e-30, 2e-30, 3e-30}, &value)[1], 0);
  EXPECT_EQ(MagnitudesOf(Reduced("sum", {3}), {1, -1, 1e-9}, &value)[1], 0);
  EXPECT_EQ(MagnitudesOf(Reduced("sum", {3}), {0, 0, 0}, &value)[1], 0);
}

}  // namespace
}  // namespace planproof::runtime_check
