// Random inputs honour premises and types; witnesses are written out in full.
#include "runtime_check/full_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "runtime_check/rounding.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::runtime_check {
namespace {

using sdfg::DType;
using sdfg::TensorId;
using sdfg::TensorRole;
using Kind = lineage::Problem::InputPremise::Kind;
using shape_reduction::SmallProblem;

TEST(FullInputs, SeedsDecide) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {100});
  const auto first = RandomInputs(small.problem, DType::kFloat64, 3);
  const auto again = RandomInputs(small.problem, DType::kFloat64, 3);
  const auto other = RandomInputs(small.problem, DType::kFloat64, 4);
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_EQ((*first)[x].doubles, (*again)[x].doubles);
  EXPECT_NE((*first)[x].doubles, (*other)[x].doubles);
  const std::set<double> different((*first)[x].doubles.begin(), (*first)[x].doubles.end());
  EXPECT_GT(different.size(), 95u) << "every element has a value of its own";
  for (const double value : different) EXPECT_LE(std::fabs(value), 1);
}

TEST(FullInputs, PremisesAndTypesHold) {
  SmallProblem small;
  const TensorId positive = small.Logical("positive", {200});
  const TensorId variance = small.Logical("variance", {200});
  const TensorId ids = small.Logical("ids", {200}, TensorRole::kInput, DType::kInt64);
  const TensorId labels = small.Logical("labels", {200}, TensorRole::kInput, DType::kUInt8);
  const TensorId mask = small.Logical("mask", {200}, TensorRole::kInput, DType::kBool);
  small.problem.premises = {{positive, Kind::kPositive},
                            {variance, Kind::kNonNegative},
                            {ids, Kind::kIntegerRange, 5, 9}};
  const auto inputs = RandomInputs(small.problem, DType::kFloat64, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  for (int64_t i = 0; i < 200; ++i) {
    EXPECT_GT((*inputs)[positive].At(i), 0);
    EXPECT_GE((*inputs)[variance].At(i), 0);
    EXPECT_GE((*inputs)[ids].integers[i], 5);
    EXPECT_LT((*inputs)[ids].integers[i], 9);
    EXPECT_GE((*inputs)[labels].integers[i], 0);
    EXPECT_LE((*inputs)[labels].integers[i], 255);
    EXPECT_TRUE((*inputs)[mask].At(i) == 0 || (*inputs)[mask].At(i) == 1);
  }
  const std::vector<int64_t>& drawn = (*inputs)[ids].integers;
  EXPECT_EQ(std::set<int64_t>(drawn.begin(), drawn.end()).size(), 4u);
  const double truths =
      std::accumulate((*inputs)[mask].doubles.begin(), (*inputs)[mask].doubles.end(), 0.0);
  EXPECT_TRUE(truths > 50 && truths < 150);
}

TEST(FullInputs, PremisesThatContradictAreAnError) {
  SmallProblem small;
  const TensorId ids = small.Logical("ids", {4}, TensorRole::kInput, DType::kInt64);
  small.problem.premises = {{ids, Kind::kIntegerRange, 0, 5}, {ids, Kind::kIntegerRange, 5, 9}};
  EXPECT_EQ(RandomInputs(small.problem, DType::kFloat64, 0).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(FullInputs, RecordedElementsAreTaken) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {2});
  small.problem.recorded[x] = {solver::Rational(1, 4), solver::Rational(-7)};
  const auto inputs = RandomInputs(small.problem, DType::kFloat64, 0);
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ((*inputs)[x].doubles, (std::vector<double>{0.25, -7}));
}

TEST(FullInputs, RealNumbersAreOfTheTypeAndOthersExact) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {500});
  const TensorId ids = small.Logical("ids", {500}, TensorRole::kInput, DType::kInt64);
  small.problem.premises = {{ids, Kind::kIntegerRange, 1'000'000'007, 2'000'000'011}};
  const auto inputs = RandomInputs(small.problem, DType::kBFloat16, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  for (const float value : (*inputs)[x].floats)
    EXPECT_EQ(Round(FormatOf(DType::kBFloat16), value), value);
  EXPECT_TRUE(std::any_of((*inputs)[ids].integers.begin(), (*inputs)[ids].integers.end(),
                          [](int64_t id) { return id % 1024 != 0; }));
}

witness::Witness Blocks() {
  witness::Tensor x;
  x.name = "x";
  x.dtype = DType::kFloat32;
  // Two digits of the first dimension, of which the second is cut; three blocks of the other.
  x.dims = {{{{2, {0}}, {3, {0, 2}}}}, {{{5, {0, 1, 4}}}}};
  x.reals = {1, 2, 3, 4, 5, 6};
  witness::Tensor ids;
  ids.name = "ids";
  ids.dtype = DType::kInt64;
  ids.dims = {{{{4, {0, 3}}}}};
  ids.is_integer = true;
  ids.integers = {7, 1'000'000'007};
  witness::Witness witness;
  witness.inputs = {x, ids};
  return witness;
}

TEST(FullInputs, AWitnessIsWrittenOut) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {6, 5});
  const TensorId ids = small.Logical("ids", {4}, TensorRole::kInput, DType::kInt64);
  const witness::Witness witness = Blocks();
  const auto inputs = InputsOf(witness, small.problem, DType::kFloat32);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      EXPECT_EQ((*inputs)[x].At(i * 5 + j),
                witness.inputs[0].reals[witness.inputs[0].Offset({i, j})]);
    }
  }
  EXPECT_EQ((*inputs)[ids].integers, (std::vector<int64_t>{7, 7, 7, 1'000'000'007}));
}

TEST(FullInputs, AWitnessOfAnotherModelIsAnError) {
  const auto code = [](SmallProblem& small) {
    return InputsOf(Blocks(), small.problem, DType::kFloat64).status().code();
  };
  SmallProblem other_shape, lacks, more;
  other_shape.Logical("x", {6, 6});
  other_shape.Logical("ids", {4}, TensorRole::kInput, DType::kInt64);
  lacks.Logical("x", {6, 5});
  more.Logical("x", {6, 5});
  more.Logical("ids", {4}, TensorRole::kInput, DType::kInt64);
  more.Logical("y", {1});
  EXPECT_EQ(code(other_shape), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(lacks), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(more), absl::StatusCode::kInvalidArgument);
}

TEST(FullInputs, APerturbationIsOneEpsilonOfRealInputsOnly) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {300});
  const TensorId ids = small.Logical("ids", {300}, TensorRole::kInput, DType::kInt64);
  const TensorId mask = small.Logical("mask", {300}, TensorRole::kInput, DType::kBool);
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kBFloat16}) {
    const auto inputs = RandomInputs(small.problem, dtype, 1);
    ASSERT_TRUE(inputs.ok());
    const Inputs changed = Perturbed(*inputs, small.problem, dtype, Perturbation::kByElement, 0);
    EXPECT_EQ(changed[ids].integers, (*inputs)[ids].integers);
    EXPECT_EQ(changed[mask].floats, (*inputs)[mask].floats);
    int up = 0, moved = 0;
    for (int64_t i = 0; i < 300; ++i) {
      const double before = (*inputs)[x].At(i), change = changed[x].At(i) - before;
      // One step of the type, which is up to twice as far as epsilon times the number.
      EXPECT_LE(std::fabs(change), 2 * EpsilonOf(dtype) * std::fabs(before));
      moved += change != 0 ? 1 : 0;
      up += change * before > 0 ? 1 : 0;
    }
    EXPECT_GT(moved, 250);
    EXPECT_TRUE(up > 100 && up < 200) << up;
  }
}

TEST(FullInputs, EqualElementsArePerturbedAlikeByValue) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {64});
  Inputs inputs(1);
  inputs[x] = Values::Zeros({64}, DType::kFloat32, DType::kFloat64);
  for (int64_t i = 0; i < 64; ++i) inputs[x].Set(i, static_cast<double>(i % 8 + 1));
  const auto different = [&](Perturbation perturbation) {
    const Inputs changed = Perturbed(inputs, small.problem, DType::kFloat64, perturbation, 1);
    return std::set<double>(changed[x].doubles.begin(), changed[x].doubles.end()).size();
  };
  EXPECT_EQ(different(Perturbation::kByValue), 8u);
  EXPECT_EQ(different(Perturbation::kByElement), 16u);
  EXPECT_NE(
      Perturbed(inputs, small.problem, DType::kFloat64, Perturbation::kByValue, 1)[x].doubles,
      Perturbed(inputs, small.problem, DType::kFloat64, Perturbation::kByValue, 2)[x].doubles);
}

}  // namespace
}  // namespace planproof::runtime_check
