// Tensors that are too large for their values: ranks' sketches against the reference's.
#include "anchor/held_sketches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "anchor/sketch.h"
#include "runtime_check/values.h"

namespace planproof::anchor {
namespace {

using runtime_check::Values;
using testing::HasSubstr;
using testing::IsEmpty;

// Rows [start, start + 4) of an [8, 4] matrix, of which one may hold those from `held` on.
class SketchedRows : public testing::Test {
 protected:
  SketchedRows() {
    tensor_.name = "w";
    tensor_.elements = 32;
    tensor_.sketch =
        HeldSketchOf("w", Rows(0, 8), {{0, {{0, 1, 1, 0}}}, {0, {{1, 1, 1, 0}}}}, {8, 4});
  }
  static Values Rows(int64_t start, int64_t count) {
    Values values = Values::Zeros({count, 4}, sdfg::DType::kFloat64, sdfg::DType::kFloat64);
    for (int64_t i = 0; i < values.size(); ++i)
      values.Set(i, std::sin(static_cast<double>(start * 4 + i)));
    return values;
  }
  void Add(int64_t start, int64_t held) {
    SketchedTensor::Part& part = tensor_.parts.emplace_back();
    part.rank = static_cast<int32_t>(tensor_.parts.size()) - 1;
    part.elements = 16;
    part.map = {{start, {{0, 1, 1, 0}}}, {0, {{1, 1, 1, 0}}}};
    part.sketch = HeldSketchOf("w", Rows(held, 4), part.map, {8, 4});
  }
  std::vector<stages::RecordedDifference> Differences() {
    return DifferencesOf(tensor_, &compared_);
  }
  SketchedTensor tensor_;
  bool compared_ = false;
};

TEST_F(SketchedRows, PartsThatAreTheWholeDoNotDiffer) {
  Add(0, 0);
  Add(4, 4);
  Add(0, 0);
  EXPECT_THAT(Differences(), IsEmpty());
  EXPECT_TRUE(compared_);
}

TEST_F(SketchedRows, PartZeroEverywhereDiffers) {
  Add(0, 0);
  Add(4, 0);
  const auto differences = Differences();
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_THAT(differences[0].text, HasSubstr("signed sum of what ranks 0, 1 hold is"));
}

TEST_F(SketchedRows, ExchangedPartsDiffer) {
  Add(0, 4);
  Add(4, 0);
  EXPECT_EQ(Differences().size(), 1u);
}

TEST_F(SketchedRows, ReplicasThatDifferAreNamed) {
  Add(0, 0);
  Add(4, 4);
  Add(4, 0);
  const auto differences = Differences();
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].ranks, (std::vector<int32_t>{2}));
  EXPECT_THAT(differences[0].text, HasSubstr("rank 1 holds of the same part"));
}

TEST_F(SketchedRows, WhatIsNotAllOfItIsNotCompared) {
  Add(0, 4);
  EXPECT_THAT(Differences(), IsEmpty());
  EXPECT_FALSE(compared_);
}

}  // namespace
}  // namespace planproof::anchor
