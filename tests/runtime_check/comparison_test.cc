// Errors against expected round-off.
#include "runtime_check/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace planproof::runtime_check {
namespace {

constexpr double kEpsilon = 0x1p-7;

Values Numbers(sdfg::Shape shape, const std::vector<double>& elements) {
  Values values = Values::Zeros(std::move(shape), sdfg::DType::kFloat64, sdfg::DType::kFloat64);
  for (size_t i = 0; i < elements.size(); ++i) values.Set(static_cast<int64_t>(i), elements[i]);
  return values;
}

// Two ranks hold half of four elements each.
const std::vector<sdfg::IndexMap> kHalves = {{0, {{.dim = 0, .scale = 2}, {.dim = 1}}}};

Measure Against(const Values& plan, const Values& model, const std::vector<double>& changes,
                double operand_magnitude = 0, double spacing = 0) {
  const Reference reference{&model, &changes, operand_magnitude, 0, kEpsilon, spacing};
  return Compare(plan, 1, kHalves, reference);
}

TEST(Comparison, EqualTensorsHaveNoError) {
  const Values model = Numbers({4}, {3, 4, 0, -12});
  const Measure measure = Against(Numbers({2, 2}, {3, 4, 0, -12}), model, {0, 0, 0, 0});
  EXPECT_EQ(measure.error, 0);
  EXPECT_EQ(measure.ratio, 0);
  EXPECT_EQ(measure.scale, 13);
  EXPECT_FALSE(measure.alarm);
}

TEST(Comparison, ErrorAndExpectationAreRelativeFrobeniusNorms) {
  const Values model = Numbers({4}, {3, 4, 0, -12});
  const Measure measure = Against(Numbers({2, 2}, {3, 4, 0, -12.13}), model, {0, 0, 0.25, 1.44});
  EXPECT_NEAR(measure.error, 0.01, 1e-12);
  EXPECT_NEAR(measure.expectation, 0.1, 1e-6);  // sqrt(0.25 + 1.44) / 13
  EXPECT_NEAR(measure.ratio, 0.1, 1e-6);
  EXPECT_FALSE(measure.alarm);
  EXPECT_EQ(measure.parallel_index, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(measure.logical_index, std::vector<int64_t>{3});
}

TEST(Comparison, TheExpectationIsNoLessThanEpsilon) {
  const Values model = Numbers({4}, {3, 4, 0, -12});
  const Measure measure = Against(Numbers({2, 2}, {3, 4, 0, -12}), model, {0, 0, 0, 0});
  EXPECT_NEAR(measure.expectation, kEpsilon, 1e-12);
}

// Numbers below the smallest normal one are further apart than epsilon times themselves.
TEST(Comparison, TheExpectationIsNoLessThanTheSpacingOfSmallNumbers) {
  const Values model = Numbers({4}, {1e-6, 0, 0, 0});
  const Measure measure = Against(Numbers({2, 2}, {1.1e-6, 0, 0, 0}), model, {0, 0, 0, 0}, 0, 1e-7);
  EXPECT_NEAR(measure.expectation, 0.2, 1e-9);  // sqrt(4) 1e-7 / 1e-6
  EXPECT_FALSE(measure.alarm);
}

TEST(Comparison, AnErrorBeyondTheBoundAlarmsWhereItIs) {
  const Values model = Numbers({4}, {1, 1, 1, 1});
  const double bound = RatioBound(1, Roundings::kMany) * kEpsilon * 2;  // of the norm, which is 2
  const Measure below = Against(Numbers({2, 2}, {1, 1, 1, 1 + 0.99 * bound}), model, {0, 0, 0, 0});
  EXPECT_FALSE(below.alarm);
  EXPECT_TRUE(below.instances.empty());
  const Measure above = Against(Numbers({2, 2}, {1, 1, 1, 1 + 1.01 * bound}), model, {0, 0, 0, 0});
  EXPECT_TRUE(above.alarm);
  EXPECT_EQ(above.instances, std::vector<int64_t>{1});
}

TEST(Comparison, FewDifferentValuesAreGivenMoreRoom) {
  EXPECT_EQ(RatioBound(1, Roundings::kMany), 24);
  EXPECT_EQ(RatioBound(1, Roundings::kFew), 12);
  EXPECT_LT(RatioBound(1'000'000, Roundings::kMany), 4.1);
  const auto bound = [](const std::vector<double>& model) {
    return Against(Numbers({2, 2}, model), Numbers({4}, model), {0, 0, 0, 0}).bound;
  };
  EXPECT_EQ(bound({1, 2, 3, 4}), RatioBound(4, Roundings::kMany));
  EXPECT_EQ(bound({1, 2, 2, -1}), RatioBound(2, Roundings::kMany));
}

TEST(Comparison, NotANumberAlarmsUnlessItIsTheModels) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const Values model = Numbers({4}, {1, 1, 1, 1});
  EXPECT_TRUE(Against(Numbers({2, 2}, {1, nan, 1, 1}), model, {0, 0, 0, 0}).alarm);
  EXPECT_TRUE(Against(Numbers({2, 2}, {1, 1, 1, infinity}), model, {0, 0, 0, 0}).alarm);
  const Values undefined = Numbers({4}, {1, nan, 1, 1});
  const Measure measure = Against(Numbers({2, 2}, {1, 1, 1, 1}), undefined, {0, 0, 0, 0});
  EXPECT_FALSE(measure.defined);
  EXPECT_FALSE(measure.alarm);
  // Both have no value: nothing was compared.
  EXPECT_FALSE(Against(Numbers({2, 2}, {1, nan, 1, 1}), undefined, {0, 0, 0, 0}).defined);
  const Values beyond = Numbers({4}, {infinity, infinity, infinity, infinity});
  EXPECT_FALSE(
      Against(Numbers({2, 2}, {infinity, infinity, infinity, infinity}), beyond, {0, 0, 0, 0})
          .defined);
  const Values mask = Numbers({4}, {1, -infinity, 1, 1});
  EXPECT_FALSE(Against(Numbers({2, 2}, {1, -infinity, 1, 1}), mask, {0, 0, 0, 0}).alarm);
  EXPECT_TRUE(Against(Numbers({2, 2}, {1, 0, 1, 1}), mask, {0, 0, 0, 0}).alarm);
}

TEST(Comparison, NumbersWhoseSquaresOverflowAreCompared) {
  const Values model = Numbers({4}, {1e200, 1e200, 0, 1e200});
  const Measure measure = Against(Numbers({2, 2}, {1e200, 2e200, 0, 1e200}), model, {0, 0, 0, 0});
  EXPECT_NEAR(measure.error, std::sqrt(1.0 / 3), 1e-12);
  EXPECT_TRUE(measure.alarm);
}

// Beyond long doubles' squares made doubles, nothing can be said: that is no pass.
TEST(Comparison, ScalesThatOverflowAreNotDefined) {
  const Values model = Numbers({4}, {1.7e308, 1.7e308, 1.7e308, 1});
  EXPECT_FALSE(
      Against(Numbers({2, 2}, {1.7e308, 1.7e308, 1.7e308, 2}), model, {0, 0, 0, 0}).defined);
  const double infinity = std::numeric_limits<double>::infinity();
  const Values one = Numbers({4}, {1, 1, 1, 1});
  EXPECT_FALSE(Against(Numbers({2, 2}, {1, 1, 1, 2}), one, {0, 0, 0, infinity}).defined);
}

TEST(Comparison, ATensorThatRoundingMayChangeByItselfIsBlind) {
  const Values model = Numbers({4}, {1, 2, 3, 4});
  EXPECT_FALSE(Against(Numbers({2, 2}, {1, 2, 3, 4}), model, {0, 0, 0, 0}).blind);
  const Measure measure = Against(Numbers({2, 2}, {0, 0, 0, 0}), model, {1, 1, 1, 1});
  EXPECT_TRUE(measure.blind);
  EXPECT_FALSE(measure.alarm);
}

// Where the model has zeros only, round-off is that of what they are computed from.
TEST(Comparison, ZerosAreComparedOnTheScaleOfOperands) {
  const Values model = Numbers({4}, {0, 0, 0, 0});
  EXPECT_FALSE(Against(Numbers({2, 2}, {0, 0.01, 0, 0}), model, {0, 0, 0, 0}, 10).alarm);
  EXPECT_TRUE(Against(Numbers({2, 2}, {0, 5, 0, 0}), model, {0, 0, 0, 0}, 10).alarm);
  EXPECT_TRUE(Against(Numbers({2, 2}, {0, 1e-9, 0, 0}), model, {0, 0, 0, 0}, 0).alarm);
}

// Where everything cancels, elements are rounding: their own size is no scale.
TEST(Comparison, WhatCancelsIsComparedOnTheScaleOfItsTerms) {
  const Values model = Numbers({4}, {1e-3, 0, -1e-3, 0}), plan = Numbers({2, 2}, {0.1, 0, 0, -0.1});
  const std::vector<double> changes(4, 0);
  Reference reference{&model, &changes, 0, 0, kEpsilon, 0};
  EXPECT_TRUE(Compare(plan, 1, kHalves, reference).alarm);
  reference.cancelled_magnitude = 10;
  const Measure measure = Compare(plan, 1, kHalves, reference);
  EXPECT_EQ(measure.scale, 20);
  EXPECT_FALSE(measure.alarm);
  EXPECT_TRUE(Compare(Numbers({2, 2}, {3, 3, 3, 3}), 1, kHalves, reference).alarm);
}

// Two ranks hold one and three of four elements: what is compared is the same.
TEST(Comparison, PartsOfAnySizesAreComparedAsOne) {
  const Values model = Numbers({4}, {3, 4, 0, -12}), first = Numbers({1}, {3}),
               second = Numbers({3}, {4, 0, -12.13});
  const std::vector<double> changes = {0, 0, 0.25, 1.44};
  const Reference reference{&model, &changes, 0, 0, kEpsilon, 0};
  const std::vector<Part> parts = {{&first, {{0, {{.dim = 0}}}}}, {&second, {{1, {{.dim = 0}}}}}};
  const Measure measure = CompareParts(parts, reference);
  const Measure whole = Against(Numbers({2, 2}, {3, 4, 0, -12.13}), model, changes);
  EXPECT_EQ(measure.error, whole.error);
  EXPECT_EQ(measure.expectation, whole.expectation);
  EXPECT_EQ(measure.part, 1);
  EXPECT_EQ(measure.parallel_index, std::vector<int64_t>{2});
  EXPECT_EQ(measure.logical_index, std::vector<int64_t>{3});
}

TEST(Comparison, OneStepOfACoarserGridIsExpected) {
  const Values model = Numbers({4}, {1e-3, 0, 0, 0}), plan = Numbers({2, 2}, {1e-3, 1e-3, 0, 0});
  const std::vector<double> changes(4, 0);
  Reference reference{&model, &changes, 0, 0, kEpsilon, 0};
  EXPECT_TRUE(Compare(plan, 1, kHalves, reference).alarm);
  reference.step = 1e-3;
  const Measure measure = Compare(plan, 1, kHalves, reference);
  EXPECT_NEAR(measure.ratio, 1, 1e-9);
  // Of a replica each.
  const std::vector<Part> parts = {{&model, {{0, {{.dim = 0}}}}}, {&model, {{0, {{.dim = 0}}}}}};
  EXPECT_NEAR(CompareParts(parts, reference).expectation, 1, 1e-9);
}

// An expectation in which one element outweighs all others is that of one value.
TEST(Comparison, ValuesCountByTheirShareOfTheChange) {
  const Values model = Numbers({4}, {1e-3, 2e-3, 3e-3, 4e-3});
  const std::vector<double> even(4, 1), uneven = {1, 0, 0, 0}, none(4, 0);
  EXPECT_EQ(EffectiveValues({&model, &even}), 4);
  EXPECT_EQ(EffectiveValues({&model, &uneven}), 1);
  EXPECT_EQ(EffectiveValues({&model, &none, 0, 0, kEpsilon, 1}), 4);
  EXPECT_EQ(EffectiveValues({&model, &none}), 1);
  Reference reference{&model, &even, 0, 0, kEpsilon, 0};
  reference.most_values = 2;
  EXPECT_EQ(Compare(Numbers({2, 2}, {1, 2, 3, 4}), 1, kHalves, reference).bound,
            RatioBound(2, Roundings::kMany));
}

TEST(Comparison, ChangesAreMeanSquares) {
  std::vector<double> changes(2, 0);
  const double infinity = std::numeric_limits<double>::infinity();
  AddChanges(Numbers({2}, {1, 1}), Numbers({2}, {3, infinity}), 2, &changes);
  AddChanges(Numbers({2}, {1, 1}), Numbers({2}, {1, 2}), 2, &changes);
  EXPECT_EQ(changes, (std::vector<double>{2, 0.5}));
}

TEST(Comparison, DisagreementIsMeasuredAsErrorsAre) {
  Measure measure;
  measure.scale = 10;  // the norm, or that of operands
  measure.expectation = 0.01;
  EXPECT_EQ(RatioOf({}, measure), 0);
  EXPECT_NEAR(RatioOf({.elements = 1, .squares = 4}, measure), 20, 1e-12);
}

}  // namespace
}  // namespace planproof::runtime_check
