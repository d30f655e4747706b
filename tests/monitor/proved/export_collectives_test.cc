// Groups of ranks as axes, and which collectives results depend on.
#include "monitor/proved/export_collectives.h"

#include <gtest/gtest.h>

#include "sdfg/collectives.h"

namespace planproof::monitor {
namespace {

const std::vector<ProvedAxis> kMesh = {{"dp", 2}, {"cp", 2}, {"tp", 3}};

TEST(AxesOfGroup, LinesAndPlanesAreAxes) {
  EXPECT_EQ(AxesOfGroup(kMesh, {0, 1, 2}), (std::vector<int32_t>{2}));
  EXPECT_EQ(AxesOfGroup(kMesh, {7, 1}), (std::vector<int32_t>{0}));
  EXPECT_EQ(AxesOfGroup(kMesh, {0, 3, 6, 9}), (std::vector<int32_t>{0, 1}));
}

TEST(AxesOfGroup, OtherGroupsAreNone) {
  EXPECT_FALSE(AxesOfGroup(kMesh, {0, 1}).has_value());     // two of three along tp
  EXPECT_FALSE(AxesOfGroup(kMesh, {0, 1, 5}).has_value());  // a bend
  EXPECT_FALSE(AxesOfGroup(kMesh, {0, 4}).has_value());     // a diagonal
  EXPECT_FALSE(AxesOfGroup(kMesh, {4}).has_value());
}

TEST(CollectivesOf, WhatNoResultDependsOnIsLeftOut) {
  lineage::Problem problem;
  sdfg::Graph& graph = problem.parallel;
  std::vector<sdfg::TensorId> held;
  for (int rank = 0; rank < 2; ++rank) {
    sdfg::Tensor tensor;
    tensor.shape = {4};
    tensor.dtype = sdfg::DType::kBFloat16;
    tensor.device = rank;
    held.push_back(graph.AddTensor(tensor));
  }
  const auto reduced = [&](int rank) {
    auto function = sdfg::AllReduce({4}, sdfg::DType::kBFloat16, 2, sdfg::ReduceKind::kSum);
    EXPECT_TRUE(function.ok());
    sdfg::Tensor tensor = graph.tensors[held[rank]];
    tensor.producer = sdfg::kNone;
    sdfg::Operator op;
    op.kind = sdfg::OperatorKind::kAllReduce;
    op.lifted = false;
    op.group = {0, 1};
    op.devices = {rank};
    op.inputs = held;
    op.source = {"train.py", 7 + rank};
    op.function = graph.Intern(*std::move(function));
    op.outputs = {graph.AddTensor(tensor)};
    const sdfg::TensorId made = op.outputs[0];
    graph.AddOperator(std::move(op));
    return made;
  };
  const sdfg::TensorId first = reduced(0), second = reduced(1);
  const std::vector<ProvedAxis> mesh = {{"dp", 2}};
  EXPECT_TRUE(CollectivesOf(problem, mesh, 2, {held[0]}).empty());
  const auto of_one = CollectivesOf(problem, mesh, 2, {second});
  ASSERT_EQ(of_one.size(), 1u);
  EXPECT_EQ(of_one[0].ranks, std::vector<int32_t>{1});
  EXPECT_EQ(of_one[0].place, "train.py:8");
  const auto of_both = CollectivesOf(problem, mesh, 2, {first, second});
  ASSERT_EQ(of_both.size(), 1u);
  EXPECT_TRUE(of_both[0].ranks.empty());
  EXPECT_EQ(of_both[0].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(of_both[0].dtype, sdfg::DType::kBFloat16);
  EXPECT_EQ(of_both[0].axes, std::vector<int32_t>{0});
}

}  // namespace
}  // namespace planproof::monitor
