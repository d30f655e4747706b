// Rows in the order of their places: what they are as a tensor, and which rows are taken from them.
#include "frontend/torch/rows_in_place.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "sdfg/dense_evaluator.h"

namespace planproof::frontend::torch {
namespace {

// Set 0 has places 0 and 2, set 1 has place 1.
Choice OneSetAtEachPlace() {
  Choice choice;
  choice.sets = 2;
  choice.places = 3;
  choice.chosen = {true, false, true, false, true, false};
  return choice;
}

RowLabel Label(int64_t set, int64_t place) { return {{0, set}, place}; }

RowTensor Rows(std::vector<RowLabel> labels, bool zero) {
  RowTensor rows;
  rows.layout = *RowLayout::Of(labels, {OneSetAtEachPlace()});
  rows.rows = std::move(labels);
  rows.zero = zero;
  return rows;
}

sdfg::Tensor Numbers(sdfg::Shape shape) {
  sdfg::Tensor tensor;
  tensor.shape = std::move(shape);
  tensor.dtype = sdfg::DType::kFloat32;
  return tensor;
}

const std::vector<RowLabel>& InPlace() {
  static const auto* const labels =
      new std::vector<RowLabel>{Label(0, 0), Label(1, 1), Label(0, 2)};
  return *labels;
}

std::vector<double> Values(const sdfg::IndexFunction& function,
                           const std::vector<sdfg::DenseTensor>& inputs) {
  return sdfg::EvaluateDense(function, inputs).value()[0].data;
}

TEST(RowsInPlace, TheRowThatIsChosenAtEachPlace) {
  const auto function =
      InOrderOfPlaces(Numbers({3}), Rows(InPlace(), false), OneSetAtEachPlace(), true);
  ASSERT_TRUE(function.has_value());
  EXPECT_EQ(Values(*function, {{{6}, {1, 2, 3, 4, 5, 6}}, {{6}, {1, 0, 1, 0, 1, 0}}}),
            (std::vector<double>{1, 5, 3}));
}

TEST(RowsInPlace, WithoutAMaskWhereTheOthersAreZero) {
  const auto function =
      InOrderOfPlaces(Numbers({3}), Rows(InPlace(), true), OneSetAtEachPlace(), false);
  ASSERT_TRUE(function.has_value());
  EXPECT_EQ(Values(*function, {{{6}, {1, 0, 3, 0, 5, 0}}}), (std::vector<double>{1, 5, 3}));
}

TEST(RowsInPlace, NothingWhereTheOthersAreNotZeroAndNobodyKnowsTheMask) {
  EXPECT_FALSE(InOrderOfPlaces(Numbers({3}), Rows(InPlace(), false), OneSetAtEachPlace(), false));
}

TEST(RowsInPlace, NothingInAnotherOrder) {
  const RowTensor rows = Rows({Label(0, 0), Label(0, 2), Label(1, 1)}, true);
  EXPECT_FALSE(InOrderOfPlaces(Numbers({3}), rows, OneSetAtEachPlace(), true));
}

TEST(RowsInPlace, NothingOfSomeSetsOnly) {
  const RowTensor rows = Rows({Label(0, 0), Label(0, 2)}, true);
  EXPECT_FALSE(InOrderOfPlaces(Numbers({2}), rows, OneSetAtEachPlace(), true));
}

TEST(RowsInPlace, LabelsOfRowsThatGoWhereAPermutationSays) {
  const auto labels = RowsOfPlaces({2, 0, 1}, 0, OneSetAtEachPlace());
  ASSERT_TRUE(labels.has_value());
  EXPECT_EQ(*labels, (std::vector<RowLabel>{Label(1, 1), Label(0, 2), Label(0, 0)}));
}

TEST(RowsInPlace, NoLabelsOfRowsThatGoToOnePlace) {
  EXPECT_FALSE(RowsOfPlaces({2, 0, 0}, 0, OneSetAtEachPlace()));
  EXPECT_FALSE(RowsOfPlaces({2, 0, 3}, 0, OneSetAtEachPlace()));
  EXPECT_FALSE(RowsOfPlaces({1, 0}, 0, OneSetAtEachPlace()));
}

TEST(RowsInPlace, NoLabelsWhereTwoSetsOrNoneAreChosenAtAPlace) {
  Choice two = OneSetAtEachPlace(), none = two;
  two.chosen[3] = true;
  none.chosen[4] = false;
  EXPECT_FALSE(RowsOfPlaces({2, 0, 1}, 0, two));
  EXPECT_FALSE(RowsOfPlaces({2, 0, 1}, 0, none));
}

TEST(RowsInPlace, RowsTakenFromPlacesAreZeroWhereNothingIsChosen) {
  const auto function = ChosenOfPlaces(Numbers({3}), OneSetAtEachPlace());
  ASSERT_TRUE(function.has_value());
  EXPECT_EQ(Values(*function, {{{3}, {7, 8, 9}}, {{6}, {1, 0, 1, 0, 1, 0}}}),
            (std::vector<double>{7, 0, 9, 0, 8, 0}));
}

}  // namespace
}  // namespace planproof::frontend::torch
