#include "frontend/torch/strided_parts.h"

#include <gtest/gtest.h>

#include <limits>

namespace planproof::frontend::torch {
namespace {

constexpr int64_t kToItsEnd = std::numeric_limits<int64_t>::max();

Strided ThreeRowsOfFour() { return Contiguous(0, {3, 4}); }

TEST(StridedParts, ASliceIsLimitedToItsDimension) {
  EXPECT_EQ(Sliced(ThreeRowsOfFour(), 0, -5, kToItsEnd, 1), ThreeRowsOfFour());
  EXPECT_EQ(Sliced(ThreeRowsOfFour(), 0, -2, kToItsEnd, 1), (Strided{4, {2, 4}, {4, 1}}));
  EXPECT_EQ(Sliced(ThreeRowsOfFour(), 1, 1, -1, 1), (Strided{1, {3, 2}, {4, 1}}));
  EXPECT_EQ(Sliced(ThreeRowsOfFour(), -1, 0, 9, 3), (Strided{0, {3, 2}, {4, 3}}));
  EXPECT_EQ(Sliced(ThreeRowsOfFour(), 0, 7, kToItsEnd, 1)->shape, (sdfg::Shape{0, 4}));
  EXPECT_EQ(Sliced(ThreeRowsOfFour(), 0, 2, 1, 1)->shape, (sdfg::Shape{0, 4}));
  EXPECT_EQ(Sliced(ThreeRowsOfFour(), 0, 0, -9, 1)->shape, (sdfg::Shape{0, 4}));
}

TEST(StridedParts, WhatPyTorchRefusesGivesNothing) {
  EXPECT_FALSE(Sliced(ThreeRowsOfFour(), 2, 0, 1, 1));
  EXPECT_FALSE(Sliced(ThreeRowsOfFour(), 0, 0, 1, 0));
  EXPECT_FALSE(Sliced(Contiguous(0, {}), 0, 0, 1, 1));
  EXPECT_FALSE(Selected(ThreeRowsOfFour(), 0, 3));
  EXPECT_FALSE(Selected(ThreeRowsOfFour(), 0, -4));
  EXPECT_FALSE(Expanded(ThreeRowsOfFour(), {3, 5}));
  EXPECT_FALSE(Expanded(ThreeRowsOfFour(), {4}));
  EXPECT_FALSE(Permuted(ThreeRowsOfFour(), {0, 0}));
  EXPECT_FALSE(ShapeOfAsMany({5, -1}, 12));
  EXPECT_FALSE(ShapeOfAsMany({3, 3}, 12));
  EXPECT_FALSE(ShapeOfAsMany({-1, -1}, 12));
}

TEST(StridedParts, ASelectionDropsItsDimension) {
  EXPECT_EQ(Selected(ThreeRowsOfFour(), 0, -1), (Strided{8, {4}, {1}}));
  EXPECT_EQ(Selected(ThreeRowsOfFour(), -1, 2), (Strided{2, {3}, {4}}));
}

TEST(StridedParts, AnExpansionRepeatsWhatIsOne) {
  EXPECT_EQ(Expanded(Contiguous(0, {3, 1}), {2, -1, 5}), (Strided{0, {2, 3, 5}, {0, 1, 0}}));
}

TEST(StridedParts, ADimensionOfATensorWithoutAnyIsItsOnlyOne) {
  EXPECT_EQ(DimensionOf(0, 0), 0);
  EXPECT_EQ(DimensionOf(-1, 0), 0);
  EXPECT_FALSE(DimensionOf(1, 0));
  EXPECT_EQ(DimensionOf(-3, 3), 0);
  EXPECT_FALSE(DimensionOf(-4, 3));
}

TEST(StridedParts, SequencesAreComparedWhateverTheirShape) {
  EXPECT_TRUE(SameSequence(ThreeRowsOfFour(), Contiguous(0, {2, 6})));
  EXPECT_TRUE(SameSequence(ThreeRowsOfFour(), Contiguous(0, {12})));
  EXPECT_FALSE(SameSequence(ThreeRowsOfFour(), *Permuted(ThreeRowsOfFour(), {1, 0})));
  EXPECT_FALSE(SameSequence(ThreeRowsOfFour(), Contiguous(1, {12})));
  EXPECT_FALSE(SameSequence(ThreeRowsOfFour(), Contiguous(0, {11})));
}

}  // namespace
}  // namespace planproof::frontend::torch
