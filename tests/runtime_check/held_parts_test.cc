// Parts by annotation and by the sizes that ranks hold.
#include "runtime_check/held_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace planproof::runtime_check {
namespace {

using dumps::SplitOrder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// dp 2, tp 2; rank = 2 dp + tp.
const Mesh kMesh = {{{"dp", 2}, {"tp", 2}}, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}};

dumps::TensorRule Rule(std::vector<dumps::Split> splits, std::vector<std::string> partial = {}) {
  dumps::TensorRule rule;
  rule.splits = std::move(splits);
  rule.partial = std::move(partial);
  return rule;
}

Parts Layout(const dumps::TensorRule& rule, const std::vector<Held>& held,
             const sdfg::Shape& whole) {
  const absl::StatusOr<Division> division = DivisionOf(&rule, kMesh, whole.size());
  EXPECT_TRUE(division.ok()) << division.status();
  return PartsOf(*division, kMesh, held, whole);
}

std::vector<Held> All(const sdfg::Shape& shape) {
  return {{0, shape}, {1, shape}, {2, shape}, {3, shape}};
}

// Where the elements of a part with one dimension lie.
std::vector<int64_t> Places(const HeldPart& part) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < part.shape[0]; ++i) places.push_back(part.map[0].ValueAt({i}));
  return places;
}

TEST(HeldParts, WithoutARuleRanksHoldTheWhole) {
  const absl::StatusOr<Division> division = DivisionOf(nullptr, kMesh, 1);
  const Parts parts = PartsOf(*division, kMesh, All({3}), {3});
  ASSERT_EQ(parts.parts.size(), 4u);
  EXPECT_THAT(Places(parts.parts[3]), ElementsAre(0, 1, 2));
}

TEST(HeldParts, OrdersAreThoseOfFrameworks) {
  const auto places = [](SplitOrder order, int64_t blocks, int rank) {
    return Places(Layout(Rule({{0, {"dp", "tp"}, order, blocks}}), All({4}), {16}).parts.at(rank));
  };
  EXPECT_THAT(places(SplitOrder::kContiguous, 1, 2), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(places(SplitOrder::kBlocks, 2, 2), ElementsAre(4, 5, 12, 13));
  EXPECT_THAT(places(SplitOrder::kZigzag, 1, 1), ElementsAre(2, 3, 12, 13));
  EXPECT_THAT(places(SplitOrder::kZigzag, 1, 3), ElementsAre(6, 7, 8, 9));
  EXPECT_THAT(places(SplitOrder::kRoundRobin, 1, 3), ElementsAre(3, 7, 11, 15));
}

TEST(HeldParts, AxesOfADimensionAreNestedAsTheyAreNamed) {
  const Parts parts = Layout(Rule({{-1, {"tp", "dp"}}}), All({4}), {16});
  EXPECT_THAT(Places(parts.parts.at(1)), ElementsAre(8, 9, 10, 11));  // dp 0, tp 1
}

TEST(HeldParts, PartsOfDifferentSizesLieOneAfterAnother) {
  const Parts parts = Layout(Rule({{0, {"tp"}}}), {{0, {1}}, {1, {4}}, {2, {1}}, {3, {4}}}, {5});
  ASSERT_EQ(parts.finding, DumpFinding::kNone) << parts.what;
  EXPECT_THAT(Places(parts.parts.at(1)), ElementsAre(1, 2, 3, 4));
  const Parts nothing = Layout(Rule({{0, {"tp"}}}), {{0, {5}}, {1, {0}}}, {5});
  ASSERT_EQ(nothing.finding, DumpFinding::kNone) << nothing.what;
  EXPECT_THAT(Places(nothing.parts.at(1)), IsEmpty());
}

TEST(HeldParts, RanksOfAPartialValueAreOnePart) {
  const Parts parts = Layout(Rule({{0, {"dp"}}}, {"tp"}), All({2}), {4});
  ASSERT_EQ(parts.parts.size(), 2u);
  EXPECT_THAT(parts.parts[1].ranks, ElementsAre(2, 3));
  EXPECT_THAT(Places(parts.parts[1]), ElementsAre(2, 3));
}

TEST(HeldParts, WhatIsMissingOrTooMuchIsFound) {
  const dumps::TensorRule by_tp = Rule({{0, {"tp"}}});
  Parts parts = Layout(by_tp, All({3}), {8});
  EXPECT_EQ(parts.finding, DumpFinding::kOmitted);
  EXPECT_EQ(parts.what, "along dimension 0 ranks hold 6 elements together, the reference has 8");
  EXPECT_EQ(Layout(by_tp, All({5}), {8}).finding, DumpFinding::kOverlaps);
  parts = Layout(by_tp, {{0, {4}}, {2, {4}}}, {8});
  EXPECT_EQ(parts.finding, DumpFinding::kOmitted);
  EXPECT_EQ(parts.what, "no rank holds the part of tp 1");
  parts = Layout(Rule({}, {"tp"}), {{0, {4}}, {2, {4}}}, {4});
  EXPECT_EQ(parts.what, "no rank holds the term of tp 1");
  EXPECT_THAT(parts.parts, IsEmpty());
}

TEST(HeldParts, ShapesThatAreNoPartsAreFound) {
  Parts parts = Layout(Rule({}), All({4, 8}), {8, 8});
  EXPECT_EQ(parts.finding, DumpFinding::kShapes);
  EXPECT_EQ(parts.what,
            "rank 0 holds [4, 8] of the reference's [8, 8]: dimension 0 is not said to be split");
  EXPECT_EQ(Layout(Rule({}), All({8}), {8, 8}).finding, DumpFinding::kShapes);
  parts = Layout(Rule({{0, {"tp"}}}), {{0, {3}}, {1, {5}}, {2, {4}}, {3, {4}}}, {8});
  EXPECT_EQ(parts.finding, DumpFinding::kShapes);
  EXPECT_THAT(parts.ranks, ElementsAre(2));
  EXPECT_THAT(parts.what, HasSubstr("others with that part of dimension 0 hold 3"));
  EXPECT_EQ(Layout(Rule({{0, {"tp"}, SplitOrder::kBlocks, 3}}), All({4}), {8}).finding,
            DumpFinding::kShapes);
  EXPECT_EQ(Layout(Rule({{0, {"tp"}, SplitOrder::kZigzag}}), All({3}), {6}).finding,
            DumpFinding::kShapes);
  EXPECT_EQ(Layout(Rule({{0, {"tp"}, SplitOrder::kRoundRobin}}), {{0, {2}}, {1, {4}}}, {6}).finding,
            DumpFinding::kShapes);
}

// A pipeline stage has it on all of its ranks; three of four ranks are no stage.
TEST(HeldParts, ARankThatLacksWhatItsLikeHaveIsFound) {
  EXPECT_EQ(Layout(Rule({}), {{2, {4}}, {3, {4}}}, {4}).finding, DumpFinding::kNone);
  const Parts parts = Layout(Rule({}), {{0, {4}}, {1, {4}}, {2, {4}}}, {4});
  EXPECT_EQ(parts.finding, DumpFinding::kLacking);
  EXPECT_THAT(parts.ranks, ElementsAre(3));
}

TEST(HeldParts, RulesThatCannotBeMeantAreRefused) {
  const auto refusal = [](const dumps::TensorRule& rule) {
    return std::string(DivisionOf(&rule, kMesh, 2).status().message());
  };
  EXPECT_EQ(refusal(Rule({{0, {"cp"}}})), "the candidate's mesh has no axis \"cp\", only dp, tp");
  EXPECT_EQ(refusal(Rule({{2, {"tp"}}})), "dimension 2 of a tensor that has 2");
  EXPECT_EQ(refusal(Rule({{-3, {"tp"}}})), "dimension -3 of a tensor that has 2");
  EXPECT_EQ(refusal(Rule({{0, {"tp"}}, {-2, {"dp"}}})), "dimension 0 is split twice");
  EXPECT_EQ(refusal(Rule({{0, {"tp"}}, {1, {"tp"}}})), "axis \"tp\" is used twice");
  EXPECT_EQ(refusal(Rule({{0, {"tp"}}}, {"tp"})), "axis \"tp\" is used twice");
}

TEST(HeldParts, FactorsAreNumbersAndSizesOfAxes) {
  dumps::TensorRule rule;
  rule.factor = 0.5;
  rule.times = {"dp", "tp"};
  EXPECT_EQ(DivisionOf(&rule, kMesh, 0)->factor, 2);
}

}  // namespace
}  // namespace planproof::runtime_check
