#include "report/ranks.h"

#include <gtest/gtest.h>

namespace planproof::report {
namespace {

TEST(RankSet, IsRangesInOrder) {
  EXPECT_EQ(RankSetOf({3, 1, 2, 2, 8}), (RankSet{{1, 3}, {8, 8}}));
  EXPECT_EQ(CountOf({{1, 3}, {8, 8}}), 4);
  EXPECT_EQ(CountOf({}), 0);
}

TEST(RankSet, InWordsNamesRangesAndSteps) {
  EXPECT_EQ(ToText({}), "");
  EXPECT_EQ(ToText({{0, 0}}), "0");
  EXPECT_EQ(ToText({{0, 1}, {4, 7}}), "0, 1, 4-7");
  EXPECT_EQ(ToText({{0, 0}, {2, 2}}), "0, 2");
  EXPECT_EQ(ToText({{0, 0}, {8, 8}, {16, 16}, {20, 23}}), "0-16 by 8, 20-23");
  EXPECT_EQ(Named({{5, 5}}), "rank 5");
  EXPECT_EQ(Named({{5, 6}}), "ranks 5, 6");
}

TEST(RankSet, MeetsJoinsAndLeavesOut) {
  const RankSet a = {{0, 9}, {20, 29}}, b = {{5, 22}};
  EXPECT_EQ(Common(a, b), (RankSet{{5, 9}, {20, 22}}));
  EXPECT_EQ(Union(a, b), (RankSet{{0, 29}}));
  EXPECT_EQ(Without(a, b), (RankSet{{0, 4}, {23, 29}}));
  EXPECT_EQ(Without(a, a), RankSet());
  EXPECT_EQ(Without({{0, 9}}, {{2, 3}, {5, 5}}), (RankSet{{0, 1}, {4, 4}, {6, 9}}));
  EXPECT_FALSE(Overlap({{0, 1}}, {{2, 3}}));
}

TEST(RanksOfPlan, AreAllInstances) {
  lineage::Problem problem;
  sdfg::Graph& graph = problem.parallel;
  graph.axes = {{"dp", 2}, {"microbatch", 4}, {"tp", 3}};
  graph.axis_device_stride = {8, 0, 1};
  sdfg::Tensor tensor;
  tensor.device = 16;
  tensor.axes = {0, 1, 2};
  graph.tensors = {tensor};
  sdfg::Operator op;
  op.outputs = {0};
  op.devices = {16};
  graph.operators = {op};
  RanksOfPlan ranks(problem);
  EXPECT_EQ(ranks.OfTensor(0), (RankSet{{16, 18}, {24, 26}}));
  EXPECT_EQ(ranks.OfOperator(0), (RankSet{{16, 18}, {24, 26}}));
}

TEST(RanksOfPlan, HoldTheSameAlongAxesOfTheirProgram) {
  lineage::Problem problem;
  sdfg::Graph& graph = problem.parallel;
  graph.axes = {{"pp", 2}, {"tp", 4}};
  graph.axis_device_stride = {4, 1};
  sdfg::Tensor part;
  part.device = 4;
  part.axes = {1};
  sdfg::Tensor whole;
  whole.device = 4;
  graph.tensors = {part, whole};
  problem.schedule.programs.resize(2);
  problem.schedule.places = {{1, 0, 0}, {1, 0, 1}};
  EXPECT_EQ(RanksOfPlan(problem).OfTensor(1), (RankSet{{4, 7}}));
  problem.schedule = {};
  EXPECT_EQ(RanksOfPlan(problem).OfTensor(1), (RankSet{{4, 4}}));
}

// Of ranks that are a coordinate the operator lists all devices, too.
TEST(RanksOfPlan, DoNotCountCoordinatesTwice) {
  lineage::Problem problem;
  sdfg::Graph& graph = problem.parallel;
  graph.axes = {{"rank", 2}};
  graph.axis_device_stride = {1};
  sdfg::Tensor tensor;
  tensor.device = 0;
  tensor.axes = {0};
  graph.tensors = {tensor};
  sdfg::Operator op;
  op.outputs = {0};
  op.devices = {0, 1};
  graph.operators = {op};
  EXPECT_EQ(RanksOfPlan(problem).OfOperator(0), (RankSet{{0, 1}}));
}

}  // namespace
}  // namespace planproof::report
