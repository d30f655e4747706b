// Inputs that were recorded are tried as a sample, and believed of nothing: premises, values and
// shapes are checked at them as at all others.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "shape_reduction/recorded_values.h"
#include "shape_reduction/replay.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::TensorId;
using Kind = lineage::Problem::InputPremise::Kind;

// A logarithm of a logarithm, five times: it has a value beyond 3.8 million, which is farther than
// inputs are chosen.
class FarSample : public testing::Test {
 protected:
  FarSample() {
    x_ = small_.Logical("x", {4});
    small_.Require(Compute(&small_.problem.parallel, small_.Slice(x_, {0}, {4}), 0),
                   Compute(&small_.problem.logical, x_, -1), {0});
    small_.Check();
  }
  TensorId Compute(sdfg::Graph* graph, TensorId x, int device) {
    const auto apply = [&](const char* function, const std::vector<TensorId>& operands) {
      return small_.Apply(graph,
                          Instantiate(function, std::vector<sdfg::Shape>(operands.size(), {4})),
                          operands, device);
    };
    TensorId y = apply("log", {x});
    for (int k = 0; k < 4; ++k) y = apply("log", {y});
    return y;
  }
  Sample::Outcome Tried(std::vector<double> x) {
    const lineage::SampledInputs recorded{{{x_, std::move(x)}}};
    return FindSample(small_.problem, 4, 30, &recorded).outcome;
  }

  SmallProblem small_;
  TensorId x_ = sdfg::kNone;
};

TEST_F(FarSample, IsFoundWhereItWasRecordedAlone) {
  EXPECT_NE(FindSample(small_.problem, 4, 30).outcome, Sample::Outcome::kFound);
  EXPECT_EQ(Tried({1e300, 1e250, 1e280, 1e260}), Sample::Outcome::kFound);
}

TEST_F(FarSample, ARecordedValueThatAnOperatorDoesNotTakeIsNoSample) {
  EXPECT_NE(Tried({1e300, 1e250, -1, 1e260}), Sample::Outcome::kFound);
  EXPECT_NE(Tried({1e300, 1e250, 2, 1e260}), Sample::Outcome::kFound);
}

TEST_F(FarSample, ARecordedValueThatAPremiseExcludesIsNoSample) {
  small_.problem.premises.push_back({x_, Kind::kNoTie});
  EXPECT_EQ(Tried({1e300, 1e250, 1e280, 1e260}), Sample::Outcome::kFound);
  EXPECT_NE(Tried({1e300, 1e250, 1e300, 1e260}), Sample::Outcome::kFound);
}

TEST_F(FarSample, WhatIsNotFiniteIsNoSample) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_NE(Tried({1e300, infinity, 1e280, 1e260}), Sample::Outcome::kFound);
  EXPECT_NE(Tried({1e300, std::nan(""), 1e280, 1e260}), Sample::Outcome::kFound);
}

TEST_F(FarSample, ElementsThatAreNotThoseOfTheInputAreNotTried) {
  EXPECT_NE(Tried({1e300, 1e250, 1e280}), Sample::Outcome::kFound);
  EXPECT_FALSE(InputsOf(small_.problem, lineage::SampledInputs{}));
}

TEST(RecordedSample, WholeNumbersHaveNoFraction) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {2}, sdfg::TensorRole::kInput, sdfg::DType::kInt64);
  EXPECT_TRUE(InputsOf(small.problem, lineage::SampledInputs{{{x, {3, -4}}}}));
  EXPECT_FALSE(InputsOf(small.problem, lineage::SampledInputs{{{x, {3, 0.5}}}}));
  EXPECT_FALSE(InputsOf(small.problem, lineage::SampledInputs{{{x, {3, 0x1p60}}}}));
}

}  // namespace
}  // namespace planproof::shape_reduction
