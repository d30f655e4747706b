// What ranks of a plan hold, read from its relations.
#include "monitor/proved/plan_sets.h"

#include <gtest/gtest.h>

#include "monitor/proved/export_layout.h"

namespace planproof::monitor {
namespace {

using sdfg::TensorId;

// A parameter of four by six and its gradient; two ranks along tp.
class PlanWithGradient {
 public:
  lineage::Problem problem;
  TensorId parameter = sdfg::kNone, gradient = sdfg::kNone;

  PlanWithGradient() {
    sdfg::Tensor tensor;
    tensor.name = "w";
    tensor.shape = {4, 6};
    tensor.role = sdfg::TensorRole::kParameter;
    parameter = problem.logical.AddTensor(tensor);
    tensor.name = "grad.w";
    tensor.role = sdfg::TensorRole::kIntermediate;
    gradient = problem.logical.AddTensor(tensor);
    problem.parallel.axes = {{"tp", 2, sdfg::AxisKind::kMesh}};
    problem.parallel.axis_device_stride = {1};
  }

  void Require(const sdfg::Shape& shape, const std::vector<sdfg::AxisId>& axes,
               const std::vector<std::vector<sdfg::IndexTerm>>& terms) {
    sdfg::Tensor tensor;
    tensor.shape = shape;
    tensor.axes = axes;
    tensor.device = 0;
    lineage::RequiredRelation& required = problem.required.emplace_back();
    required.parallel = problem.parallel.AddTensor(tensor);
    required.lineage.kind = lineage::LineageKind::kFull;
    required.lineage.logical = gradient;
    for (const auto& dim : terms) {
      required.lineage.map.emplace_back().terms.assign(dim.begin(), dim.end());
    }
  }
};

TEST(RequestOfPlan, PartsAlongAnAxisHaveTheirRanks) {
  PlanWithGradient plan;
  // Columns 3 * coordinate and on.
  plan.Require({2, 4, 3}, {0}, {{{.dim = 1}}, {{.dim = 0, .scale = 3}, {.dim = 2}}});
  const ExportRequest request = RequestOfPlan(plan.problem);
  EXPECT_EQ(request.world, 2);
  ASSERT_EQ(request.sets.size(), 1u);
  const ExportedSet& set = request.sets[0];
  EXPECT_EQ(set.name, "w");
  EXPECT_EQ(set.set, "gradient");
  ASSERT_EQ(set.parts.size(), 2u);
  EXPECT_EQ(set.parts[1].rank, 1);
  EXPECT_EQ(ElementsOfPart(plan.problem, set.parts[1]), 12);
  TensorMonitor monitor;
  const std::vector<ProvedAxis> axes = AxesOf(plan.problem, 2);
  ASSERT_EQ(axes.size(), 1u);
  EXPECT_EQ(axes[0].name, "tp");
  SetLayout(plan.problem, axes, set, &monitor);
  EXPECT_EQ(monitor.cut, (std::vector<std::vector<int32_t>>{{}, {0}}));
}

TEST(RequestOfPlan, WhatDoesNotVaryIsHeldByAllRanks) {
  PlanWithGradient plan;
  plan.Require({2, 4, 3}, {0}, {{{.dim = 1}}, {{.dim = 2}}});  // for the world alone
  plan.problem.required.clear();
  plan.Require({4, 6}, {}, {{{.dim = 0}}, {{.dim = 1}}});
  const ExportRequest request = RequestOfPlan(plan.problem);
  ASSERT_EQ(request.sets.size(), 1u);
  EXPECT_EQ(request.sets[0].parts.size(), 2u);
  TensorMonitor monitor;
  SetLayout(plan.problem, AxesOf(plan.problem, 2), request.sets[0], &monitor);
  EXPECT_EQ(monitor.cut, (std::vector<std::vector<int32_t>>{{}, {}}));
}

TEST(RequestOfPlan, MicrobatchesAreSeveralPartsOfOneRank) {
  PlanWithGradient plan;
  plan.problem.parallel.axis_device_stride = {0};
  plan.Require({2, 4, 3}, {0}, {{{.dim = 1}}, {{.dim = 0, .scale = 3}, {.dim = 2}}});
  EXPECT_TRUE(RequestOfPlan(plan.problem).sets.empty());
}

}  // namespace
}  // namespace planproof::monitor
