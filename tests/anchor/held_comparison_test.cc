// What ranks hold, and what is said of it where it is not what it should be.
#include "anchor/held_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace planproof::anchor {
namespace {

using frontend::RecordedRole;
using runtime_check::Values;
using sdfg::DType;
using testing::HasSubstr;
using testing::IsEmpty;

double LargestOf(const Values& values) {
  double largest = 0;
  for (int64_t i = 0; i < values.size(); ++i) largest = std::max(largest, std::fabs(values.At(i)));
  return largest;
}

double Number(int64_t i) { return std::sin(0.7 * static_cast<double>(i + 1)); }

Values Whole(sdfg::Shape shape) {
  Values values = Values::Zeros(std::move(shape), DType::kFloat32, DType::kFloat64);
  for (int64_t i = 0; i < values.size(); ++i) values.Set(i, static_cast<float>(Number(i)));
  return values;
}

sdfg::IndexMap From(int32_t dim, int64_t start) { return {start, {{dim, 1, 1, 0}}}; }

// A matrix of which ranks hold rows.
class HeldRows : public testing::Test {
 protected:
  HeldRows() {
    tensor_.name = "w";
    tensor_.dtype = DType::kFloat32;
    tensor_.whole = Whole({8, 4});
  }

  // `rows`: those of the whole that the rank has, where its place is [start, start + rows).
  void Add(int64_t start, const std::vector<int64_t>& rows, DType dtype = DType::kFloat32) {
    HeldTensor::Part& part = tensor_.parts.emplace_back();
    part.rank = static_cast<int32_t>(tensor_.parts.size()) - 1;
    part.dtype = dtype;
    part.map = {From(0, start), From(1, 0)};
    part.values = Values::Zeros({static_cast<int64_t>(rows.size()), 4}, dtype, DType::kFloat64);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (int64_t j = 0; j < 4; ++j)
        part.values.doubles[i * 4 + j] = tensor_.whole.doubles[rows[i] * 4 + j];
    }
  }
  std::string Cause() {
    const auto differences = DifferencesOf(tensor_, {});
    return differences.empty() ? "" : differences[0].cause + "; " + differences[0].usual;
  }

  HeldTensor tensor_;
};

TEST_F(HeldRows, WhatIsHeldAsSaidDoesNotDiffer) {
  Add(0, {0, 1, 2, 3});
  Add(4, {4, 5, 6, 7});
  Add(4, {4, 5, 6, 7});
  EXPECT_THAT(DifferencesOf(tensor_, {}), IsEmpty());
}

TEST_F(HeldRows, AnotherPartIsNamed) {
  Add(0, {0, 1, 2, 3});
  Add(4, {0, 1, 2, 3});
  const auto differences = DifferencesOf(tensor_, {});
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].ranks, (std::vector<int32_t>{1}));
  EXPECT_EQ(differences[0].index, (std::vector<int64_t>{4, 0}));
  EXPECT_THAT(differences[0].cause, HasSubstr("the part of rank 0"));
  EXPECT_THAT(differences[0].text, HasSubstr("parameter w at [4, 0] is "));
}

TEST_F(HeldRows, ZerosAreNamed) {
  Add(0, {0, 1});
  for (double& number : tensor_.parts[0].values.doubles) number = 0;
  EXPECT_THAT(Cause(), HasSubstr("rank 0 holds zeros"));
}

// What has not been made yet counts as zeros, and is said to be no more than that.
TEST_F(HeldRows, AStateThatIsNotThereYetIsNamed) {
  Add(0, {0, 1});
  tensor_.parts[0].absent = true;
  for (double& number : tensor_.parts[0].values.doubles) number = 0;
  EXPECT_THAT(Cause(), HasSubstr("rank 0 had no such state before its first iteration"));
  tensor_.whole = Values::Zeros({8, 4}, DType::kFloat32, DType::kFloat64);
  EXPECT_THAT(DifferencesOf(tensor_, {}), IsEmpty());
}

TEST_F(HeldRows, WhatRoundingExplainsIsNoDifference) {
  Add(0, {0, 1});
  tensor_.parts[0].values.doubles[2] += 2e-7;
  EXPECT_EQ(DifferencesOf(tensor_, {}).size(), 1u);
  tensor_.parts[0].allowed = RoundingOfLoading(tensor_.whole, DType::kFloat32);
  EXPECT_THAT(DifferencesOf(tensor_, {}), IsEmpty());
  tensor_.parts[0].values.doubles[2] += 1e-5;
  EXPECT_EQ(DifferencesOf(tensor_, {}).size(), 1u);
}

// A matrix of 4 columns has rank 4 at most: what an adapter adds to it is a sum of 4 products,
// which two programs round 5 times with the addition.
TEST_F(HeldRows, LoadingRoundsOncePerProductThatAMatrixCanHave) {
  const double spacing = 0x1p-23 * std::fabs(LargestOf(tensor_.whole));
  const auto differs = [&](double by) {
    tensor_.parts.clear();
    Add(0, {0, 1});
    tensor_.parts[0].allowed = RoundingOfLoading(tensor_.whole, DType::kFloat32);
    double& smallest = tensor_.parts[0].values.doubles[2];
    smallest += by;
    return !DifferencesOf(tensor_, {}).empty();
  };
  EXPECT_FALSE(differs(4.9 * spacing));
  EXPECT_TRUE(differs(6.1 * spacing));  // one more is that of the numbers' type
  Values vector = Whole({8});
  EXPECT_EQ(RoundingOfLoading(vector, DType::kFloat32), 0x1p-23 * LargestOf(vector));
  EXPECT_EQ(RoundingOfLoading(vector, DType::kInt64), 0);
  EXPECT_EQ(RoundingOfLoading(vector, DType::kBFloat16), 0x1p-7 * LargestOf(vector));
}

// Runs that round differently: opposite steps in each of two iterations, and no more; a state as
// far from zero as its largest element, in opposite directions.
TEST(StepsApart, AreTwoStepsInEachIterationOfWarmup) {
  Values before = Whole({4}), after = before;
  after.doubles[1] += 0.25;
  after.doubles[2] -= 0.125;
  EXPECT_EQ(AllowedAfterSteps(RecordedRole::kParameter, before, after), 1);
  EXPECT_EQ(AllowedAfterSteps(RecordedRole::kBuffer, before, after), 1);
  EXPECT_EQ(AllowedAfterSteps(RecordedRole::kState, before, after), 2 * LargestOf(before));
  EXPECT_EQ(AllowedAfterSteps(RecordedRole::kState, before, before), 0);
}

// Means of a gradient whose terms cancel are rounding and nothing else, on each side another: what
// the runs show of the element that rounding changes most counts once for each iteration, as often
// as is expected of so few samples.
TEST(StepsApart, RoundingOfAStateIsThatOfTwoIterations) {
  ComputedTensor updated;
  updated.changes = {0x1p-40, 0x1p-60, 0, 0};
  EXPECT_EQ(RoundingOfSteps(updated), 2 * 0x1p-20 * (4 + 20.0 / 4));
  updated.changes = {0, 0, 0, 0};
  EXPECT_EQ(RoundingOfSteps(updated), 0);
  EXPECT_EQ(RoundingOfSteps(ComputedTensor()), 0);
}

TEST_F(HeldRows, RowsOfAMergedWeightAreNamed) {
  Add(0, {0, 1, 4, 5});
  EXPECT_THAT(Cause(),
              HasSubstr("places 0:2, 4:6 of dimension 0 of the whole, and its place is 0:4"));
  EXPECT_THAT(Cause(), HasSubstr("merged or converted weight"));
}

TEST_F(HeldRows, EverySecondRowIsNamed) {
  Add(0, {0, 2, 4, 6});
  EXPECT_THAT(Cause(), HasSubstr("places 0, 2 and on by 2 of dimension 0"));
}

TEST_F(HeldRows, ReplicasThatAreSeededApartAreNamed) {
  Add(0, {0, 1, 2, 3, 4, 5, 6, 7});
  Add(0, {0, 1, 2, 3, 4, 5, 6, 7});
  for (double& value : tensor_.parts[1].values.doubles) value = std::cos(value * 5 + 1);
  EXPECT_THAT(Cause(), HasSubstr("unrelated numbers: all 32 elements differ"));
  EXPECT_THAT(Cause(), HasSubstr("replicas are seeded apart, or not broadcast"));
}

TEST_F(HeldRows, ATransposedWeightIsNamed) {
  tensor_.whole = Whole({4, 4});
  Add(0, {0, 1, 2, 3});
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 4; ++j)
      tensor_.parts[0].values.doubles[i * 4 + j] = tensor_.whole.doubles[j * 4 + i];
  }
  EXPECT_THAT(Cause(), HasSubstr("its place transposed"));
}

TEST_F(HeldRows, AMultipleIsNamed) {
  Add(0, {0, 1, 2, 3});
  for (double& value : tensor_.parts[0].values.doubles) value *= 0.5;
  EXPECT_THAT(Cause(), HasSubstr("0.5 times its place"));
}

TEST_F(HeldRows, WhatAnotherTensorHasIsNamed) {
  HeldTensor other = tensor_;
  other.name = "v";
  for (double& value : other.whole.doubles) value = std::cos(value);
  Add(0, {0, 1, 2, 3});
  for (int64_t i = 0; i < 16; ++i) tensor_.parts[0].values.doubles[i] = other.whole.doubles[i];
  const auto differences = DifferencesOf(tensor_, {&tensor_, &other});
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_THAT(differences[0].cause, HasSubstr("what the reference has as v"));
}

TEST_F(HeldRows, AFewElementsAreCounted) {
  Add(0, {0, 1, 2, 3});
  tensor_.parts[0].values.doubles[5] += 0.25;
  EXPECT_THAT(Cause(), HasSubstr("1 of 16 elements that differ"));
  EXPECT_EQ(DifferencesOf(tensor_, {})[0].index, (std::vector<int64_t>{1, 1}));
}

TEST_F(HeldRows, ANarrowerTypeMayRound) {
  Add(0, {0, 1, 2, 3}, DType::kBFloat16);
  for (double& value : tensor_.parts[0].values.doubles) {
    uint32_t bits = 0;
    const auto single = static_cast<float>(value);
    std::memcpy(&bits, &single, 4);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    float rounded = 0;
    std::memcpy(&rounded, &bits, 4);
    value = rounded;
  }
  EXPECT_THAT(DifferencesOf(tensor_, {}), IsEmpty());
  tensor_.parts[0].values.doubles[7] *= 1 + 0x1p-6;
  EXPECT_EQ(DifferencesOf(tensor_, {}).size(), 1u);
}

TEST_F(HeldRows, TheLastBitCountsWhereNothingWasComputed) {
  Add(0, {0, 1, 2, 3});
  tensor_.parts[0].values.doubles[3] =
      std::nextafterf(static_cast<float>(tensor_.parts[0].values.doubles[3]), 2.0f);
  EXPECT_EQ(DifferencesOf(tensor_, {}).size(), 1u);
  tensor_.parts[0].allowed = 1e-3;  // after steps of warm-up
  EXPECT_THAT(DifferencesOf(tensor_, {}), IsEmpty());
}

}  // namespace
}  // namespace planproof::anchor
