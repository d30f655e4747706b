// Inputs that were recorded are tried as a sample and as a counterexample, and believed of nothing:
// premises, values and shapes are checked at them as at all others.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "shape_reduction/input_choice.h"
#include "shape_reduction/recorded_values.h"
#include "shape_reduction/replay.h"
#include "shape_reduction/witness.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::TensorId;
using Kind = lineage::Problem::InputPremise::Kind;

lineage::Problem RanOn(const SmallProblem& small, TensorId input, std::vector<double> elements) {
  lineage::Problem problem = small.problem;
  problem.sample = std::make_shared<const lineage::SampledInputs>(
      lineage::SampledInputs{{{input, std::move(elements)}}});
  return problem;
}

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
    return FindSample(RanOn(small_, x_, std::move(x)), 4, 30).outcome;
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
  EXPECT_FALSE(SampledInputsOf(small_.problem));
  small_.problem.sample = std::make_shared<const lineage::SampledInputs>();
  EXPECT_FALSE(SampledInputsOf(small_.problem));
}

// Twice as much as the model has, where it has a value.
class FarDifference : public FarSample {
 protected:
  FarDifference() {
    sdfg::Graph* plan = &small_.problem.parallel;
    const TensorId y = small_.problem.required[0].parallel;
    small_.problem.required[0].parallel =
        small_.Apply(plan, Instantiate("add", {{4}, {4}}), {y, y}, 0);
    small_.Check();
  }
  Witness::Outcome Refuted(std::vector<double> x) {
    return SearchWitness(RanOn(small_, x_, std::move(x)), {}).outcome;
  }
};

TEST_F(FarDifference, IsFoundWhereItWasRecordedAlone) {
  EXPECT_NE(SearchWitness(small_.problem, {}).outcome, Witness::Outcome::kConfirmed);
  EXPECT_EQ(Refuted({1e300, 1e250, 1e280, 1e260}), Witness::Outcome::kConfirmed);
}

TEST_F(FarDifference, ARecordedValueThatIsExcludedRefutesNothing) {
  EXPECT_NE(Refuted({1e300, 1e250, -1, 1e260}), Witness::Outcome::kConfirmed);
  EXPECT_NE(Refuted({1e300, 1e250, 1e280}), Witness::Outcome::kConfirmed);
  small_.problem.premises.push_back({x_, Kind::kNoTie});
  EXPECT_NE(Refuted({1e300, 1e250, 1e300, 1e260}), Witness::Outcome::kConfirmed);
}

// Blocks of one value say more than numbers that differ everywhere.
TEST(RecordedSample, WhatDiffersForOthersIsNotShownOnRecordedInputs) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {4});
  const TensorId held = small.Slice(x, {0}, {4});
  const TensorId y = small.Apply(&small.problem.logical, Instantiate("exp", {{4}}), {x});
  small.Require(small.Apply(&small.problem.parallel, Instantiate("sin", {{4}}), {held}, 0), y, {0});
  small.Check();
  const Witness witness = SearchWitness(RanOn(small, x, {1.25, 2.5, 3.75, 5}), {});
  EXPECT_EQ(witness.outcome, Witness::Outcome::kConfirmed);
  EXPECT_NE(witness.seed, kRecordedSeed);
}

TEST_F(FarDifference, IsShownOnRecordedInputsWithinTheAttemptsOfAQuickSearch) {
  WitnessOptions quick;
  quick.attempts = 1;
  quick.localise = false;
  EXPECT_EQ(SearchWitness(RanOn(small_, x_, {1e300, 1e250, 1e280, 1e260}), quick).seed,
            kRecordedSeed);
}

TEST_F(FarSample, WhatIsEqualWhereItWasRecordedIsNotRefuted) {
  const Witness witness = SearchWitness(RanOn(small_, x_, {1e300, 1e250, 1e280, 1e260}), {});
  EXPECT_EQ(witness.outcome, Witness::Outcome::kNone);
  EXPECT_EQ(witness.attempts, 1);
}

TEST(RecordedSample, WholeNumbersHaveNoFraction) {
  SmallProblem small;
  const TensorId x = small.Logical("x", {2}, sdfg::TensorRole::kInput, sdfg::DType::kInt64);
  EXPECT_TRUE(SampledInputsOf(RanOn(small, x, {3, -4})));
  EXPECT_FALSE(SampledInputsOf(RanOn(small, x, {3, 0.5})));
  EXPECT_FALSE(SampledInputsOf(RanOn(small, x, {3, 0x1p60})));
}

}  // namespace
}  // namespace planproof::shape_reduction
