// Numbers that refute are those of the constants that were recorded.
#include "shape_reduction/recorded_values.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "shape_reduction/input_choice.h"
#include "shape_reduction/input_premises.h"
#include "shape_reduction/witness.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::DType;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::TensorId;

// The sum of x, or 5 without looking at it.
IndexFunction SumOrFive(bool sum, int64_t extent) {
  IndexFunctionBuilder builder("f");
  builder.AddInput("x", {extent}, DType::kFloat32);
  const int y = builder.AddOutput("y", sdfg::Shape{}, DType::kFloat32);
  const sdfg::VarId k = builder.AddVar("k", extent);
  builder.SetBody(
      y, builder.Reduce(sdfg::Op::kSum, k,
                        sum ? builder.Element(0, {builder.Index(k)}) : builder.Real({5, extent})));
  IndexFunction function;
  EXPECT_TRUE(builder.Finish(&function).ok());
  return function;
}

// The model adds up a constant, the plan says 5.
SmallProblem SumIsFive(const std::vector<int64_t>& recorded) {
  SmallProblem small;
  const auto extent = static_cast<int64_t>(recorded.size());
  const TensorId x = small.Logical("x", {extent}, sdfg::TensorRole::kBuffer);
  const TensorId held = small.Slice(x, {0}, {extent});
  const TensorId sum = small.Apply(&small.problem.logical, SumOrFive(true, extent), {x});
  const TensorId five = small.Apply(&small.problem.parallel, SumOrFive(false, extent), {held}, 0);
  small.Require(five, sum, {});
  small.Check();
  for (int64_t value : recorded) small.problem.recorded[x].emplace_back(value);
  return small;
}

TEST(RecordedValues, WhatDiffersForOtherValuesOnlyIsNotRefuted) {
  EXPECT_EQ(SearchWitness(SumIsFive({4, -1, 2}).problem, {}).outcome, Witness::Outcome::kNone);
  EXPECT_EQ(SearchWitness(SumIsFive({4, -1, 3}).problem, {}).outcome, Witness::Outcome::kConfirmed);
}

TEST(RecordedValues, EachElementIsABlock) {
  const SmallProblem small = SumIsFive({4, -1, 2});
  const BlockTensorPtr<double> values = RecordedTensor(small.problem, 0);
  ASSERT_NE(values, nullptr);
  EXPECT_EQ(values->values, (std::vector<double>{4, -1, 2}));
  ProgramCache programs;
  const InputChooser chooser(small.problem, &programs);
  for (const uint64_t seed : {1, 2, 3}) {
    EXPECT_EQ(chooser.Choose(seed, OptionsOfSeed(seed))[0]->values, values->values);
  }
}

TEST(RecordedValues, OtherValuesAreRefused) {
  const SmallProblem small = SumIsFive({4, -1, 2});
  auto values = std::make_shared<BlockTensor<double>>(*RecordedTensor(small.problem, 0));
  EXPECT_TRUE(AreAsRecorded(small.problem, 0, *values));
  EXPECT_EQ(UnmetPremise(small.problem, {values, nullptr}), "");
  values->values[1] = -2;
  EXPECT_FALSE(AreAsRecorded(small.problem, 0, *values));
  EXPECT_EQ(UnmetPremise(small.problem, {values, nullptr}), "x is not as recorded");
}

}  // namespace
}  // namespace planproof::shape_reduction
