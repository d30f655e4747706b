// Causes of what ranks hold: numbers are found transposed, scaled and added up, and chance is no
// cause.
#include "anchor/held_causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>

namespace planproof::anchor {
namespace {

using runtime_check::Values;
using sdfg::DType;
using testing::HasSubstr;
using Kind = HeldFinding::Kind;

double ValueOf(int64_t i) { return std::sin(0.7 * static_cast<double>(i + 1) * (1 + i % 5)); }

sdfg::IndexMap StartingAt(int32_t dim, int64_t start) { return {start, {{dim, 1, 1, 0}}}; }

// A matrix of which each rank holds as many rows.
class HeldMatrix : public testing::Test {
 protected:
  void Cut(int64_t rows, int64_t columns, int ranks) {
    tensor_.name = "w";
    tensor_.parts.clear();
    tensor_.dtype = DType::kFloat32;
    tensor_.whole = Values::Zeros({rows, columns}, DType::kFloat32, DType::kFloat64);
    for (int64_t i = 0; i < rows * columns; ++i)
      tensor_.whole.Set(i, static_cast<float>(ValueOf(i)));
    for (int rank = 0; rank < ranks; ++rank) {
      HeldTensor::Part& part = tensor_.parts.emplace_back();
      part.rank = rank;
      part.dtype = DType::kFloat32;
      part.map = {StartingAt(0, rank * rows / ranks), StartingAt(1, 0)};
      part.values = Values::Zeros({rows / ranks, columns}, DType::kFloat32, DType::kFloat64);
    }
  }
  // `number`: what the first rank holds at a row and column of its part.
  HeldFinding Found(const std::function<double(int64_t, int64_t)>& number,
                    const std::vector<const HeldTensor*>& others = {}) {
    Values& values = tensor_.parts[0].values;
    for (int64_t i = 0; i < values.size(); ++i)
      values.Set(i, static_cast<float>(number(i / values.shape[1], i % values.shape[1])));
    return FindHeld(tensor_, 0, others);
  }
  double At(int64_t row, int64_t column) const {
    return tensor_.whole.At(row * tensor_.whole.shape[1] + column);
  }

  HeldTensor tensor_;
};

TEST_F(HeldMatrix, RowsOfTheTransposedWholeAreFound) {
  Cut(8, 8, 2);
  const HeldFinding found = Found([&](int64_t i, int64_t j) { return At(j, i); });
  EXPECT_EQ(found.kind, Kind::kTransposed);
  EXPECT_EQ(found.text, "its place in the whole transposed");
}

// Whoever loads a weight of another shape transposed makes it fit by a reshape.
TEST_F(HeldMatrix, ATransposedMatrixThatWasReshapedIsFound) {
  Cut(6, 4, 1);
  const HeldFinding whole =
      Found([&](int64_t i, int64_t j) { return At((i * 4 + j) % 6, (i * 4 + j) / 6); });
  EXPECT_EQ(whole.kind, Kind::kTransposed) << whole.text;
  Cut(6, 4, 2);
  const HeldFinding part =
      Found([&](int64_t i, int64_t j) { return At((i * 4 + j) % 3, (i * 4 + j) / 3); });
  EXPECT_EQ(part.kind, Kind::kTransposed) << part.text;
  EXPECT_EQ(part.text, "its place transposed");
}

TEST_F(HeldMatrix, AScaledPartIsFoundInNarrowTypes) {
  Cut(8, 4, 2);
  tensor_.dtype = tensor_.parts[0].dtype = DType::kBFloat16;
  const auto narrow = [](double x) {  // 8 bits, to nearest
    const double unit = std::ldexp(1, std::ilogb(x) - 7);
    return unit * std::nearbyint(x / unit);
  };
  for (int64_t i = 0; i < tensor_.whole.size(); ++i)
    tensor_.whole.Set(i, narrow(tensor_.whole.At(i)));
  const HeldFinding found = Found([&](int64_t i, int64_t j) { return narrow(0.3 * At(i, j)); });
  EXPECT_EQ(found.kind, Kind::kMultiple);
  EXPECT_THAT(found.text, HasSubstr("times its place"));
}

TEST_F(HeldMatrix, AScaledPartOfAnotherRankIsFound) {
  Cut(8, 4, 2);
  const HeldFinding found = Found([&](int64_t i, int64_t j) { return -0.5 * At(i + 4, j); });
  EXPECT_EQ(found.kind, Kind::kMultiple);
  EXPECT_EQ(found.text, "-0.5 times the part of rank 1");
}

// Its first element says nothing of the factor.
TEST_F(HeldMatrix, APartWhoseFirstElementIsNoMultipleHasNoFactor) {
  Cut(8, 4, 2);
  const HeldFinding found =
      Found([&](int64_t i, int64_t j) { return i + j == 0 ? 3 * At(0, 0) : 2 * At(i, j); });
  EXPECT_EQ(found.kind, Kind::kUnrelated);
}

TEST_F(HeldMatrix, SumsWithOtherPartsAndTensorsAreFound) {
  Cut(8, 4, 2);
  EXPECT_EQ(Found([&](int64_t i, int64_t j) { return At(i, j) + At(i + 4, j); }).text,
            "its place plus the part of rank 1");
  HeldTensor other = tensor_;
  other.name = "v";
  for (int64_t i = 0; i < other.whole.size(); ++i)
    other.whole.Set(i, static_cast<float>(std::cos(3.0 * static_cast<double>(i))));
  const HeldFinding found =
      Found([&](int64_t i, int64_t j) { return At(i, j) + 0.25 * other.whole.At(i * 4 + j); },
            {&tensor_, &other});
  EXPECT_EQ(found.kind, Kind::kSum);
  EXPECT_EQ(found.text, "its place plus 0.25 times what the reference has as v");
}

TEST_F(HeldMatrix, TheSumOfAllPartsIsFound) {
  Cut(8, 4, 4);
  EXPECT_EQ(Found([&](int64_t i, int64_t j) {
              return At(i, j) + At(i + 2, j) + At(i + 4, j) + At(i + 6, j);
            }).text,
            "its place plus the parts of all other ranks");
}

TEST_F(HeldMatrix, OneNumberEverywhereIsSaid) {
  Cut(8, 4, 2);
  EXPECT_EQ(Found([](int64_t, int64_t) { return 1; }).text, "1 in all elements");
}

// Steps of warm-up have moved all elements: many that are nearly right are no accident, and few
// are.
TEST_F(HeldMatrix, WhatDiffersByStepsIsFoundWhereThereAreEnoughElements) {
  Cut(8, 8, 2);
  for (HeldTensor::Part& part : tensor_.parts) part.allowed = 0.1;
  const auto other = [&](int64_t i, int64_t j) { return At(i + 4, j) + 0.05 * ValueOf(i * j); };
  EXPECT_EQ(Found(other).kind, Kind::kOtherPart);
  Cut(2, 2, 2);
  tensor_.parts[0].allowed = 0.5;
  EXPECT_NE(Found([&](int64_t, int64_t j) { return At(1, j); }).kind, Kind::kOtherPart);
}

}  // namespace
}  // namespace planproof::anchor
