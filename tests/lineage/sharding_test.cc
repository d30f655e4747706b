#include "lineage/sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lineage/cover.h"

namespace planproof::lineage {
namespace {

using testing::HasSubstr;

const std::vector<sdfg::Axis> kMesh = {{"dp", 2}, {"tp", 3}, {"cp", 2}};

TEST(EqualPartsTest, TheInnermostAxisStepsFromOnePartToTheNext) {
  const auto parts = EqualParts(5, {4, 12}, kMesh, {0, 1}, {{1, {0, 1}}});
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(parts->shape, (sdfg::Shape{2, 3, 4, 2}));
  EXPECT_EQ(parts->lineage.logical, 5);
  // dp 1, tp 2 holds columns 10 and 11.
  int64_t first = 0;
  const std::vector<int64_t> at = {1, 2, 0, 0};
  for (const IndexTerm& term : parts->lineage.map[1].terms) first += term.scale * at[term.dim];
  EXPECT_EQ(first, 10);
}

TEST(EqualPartsTest, PartsCoverTheTensorWhateverCutsIt) {
  for (const std::vector<CutDimension>& cuts :
       {std::vector<CutDimension>{}, {{0, {1}}}, {{0, {2, 0}}}, {{1, {1}}, {0, {0, 2}}}}) {
    const auto parts = EqualParts(0, {12, 6}, kMesh, {0, 1, 2}, cuts);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_TRUE(CheckCoverOf({12, 6}, {{"rank", parts->lineage.map, parts->shape, 3, false}}).ok());
  }
}

TEST(EqualPartsTest, WhatIsNoCutIsRefused) {
  const auto said = [](const std::vector<sdfg::AxisId>& axes,
                       const std::vector<CutDimension>& cuts) {
    return std::string(EqualParts(0, {4, 12}, kMesh, axes, cuts).status().message());
  };
  EXPECT_THAT(said({1}, {{0, {1}}}),
              HasSubstr("extent 4 does not divide into equal parts over tp"));
  EXPECT_THAT(said({0}, {{2, {0}}}), HasSubstr("dimension 2 does not exist"));
  EXPECT_THAT(said({0}, {{-1, {0}}}), HasSubstr("does not exist"));
  EXPECT_THAT(said({0, 2}, {{0, {0}}, {0, {2}}}), HasSubstr("cut twice"));
  EXPECT_THAT(said({0}, {{0, {0}}, {1, {0}}}), HasSubstr("axis dp cuts two dimensions"));
  EXPECT_THAT(said({0}, {{1, {1}}}), HasSubstr("the tensor does not vary over it"));
}

}  // namespace
}  // namespace planproof::lineage
