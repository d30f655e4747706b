// An optimizer that ran in one process and on no rank.
#include "frontend/torch/lost_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planproof::frontend::torch {
namespace {

using testing::HasSubstr;
using testing::Not;

// Tensor 0 is a parameter of four elements, 1 a number.
Trace Empty(int32_t rank, int32_t world) {
  Trace trace;
  trace.path = "t" + std::to_string(rank) + ".trace";
  trace.rank = rank;
  trace.world = world;
  if (world > 1) trace.axes = {{"replicate", 2}, {"shard", 2}};
  for (const sdfg::Shape& shape : {sdfg::Shape{4}, sdfg::Shape{}}) {
    Tensor tensor;
    tensor.shape = shape;
    trace.tensors.push_back(tensor);
  }
  return trace;
}

TraceResult Result(ResultKind kind, const std::string& name) {
  TraceResult result;
  result.kind = kind;
  result.name = name;
  return result;
}

Input State(const std::string& name) {
  Input input;
  input.role = InputRole::kState;
  input.name = name;
  return input;
}

Trace Reference() {
  Trace trace = Empty(0, 1);
  trace.inputs = {State("w.exp_avg")};
  trace.results = {Result(ResultKind::kUpdated, "w"), Result(ResultKind::kGradient, "w"),
                   Result(ResultKind::kUpdated, "w.exp_avg")};
  return trace;
}

std::vector<Trace> Ranks() {
  std::vector<Trace> ranks;
  for (int32_t rank = 0; rank < 4; ++rank) {
    ranks.push_back(Empty(rank, 4));
    ranks.back().results = {Result(ResultKind::kUpdated, "w")};
  }
  return ranks;
}

void Reduce(Trace* trace, TensorNumber tensor, std::vector<int32_t> group) {
  trace->groups.push_back(std::move(group));
  Executed executed;
  executed.collective.emplace();
  executed.collective->kind = CollectiveKind::kAllReduce;
  executed.collective->group = static_cast<int32_t>(trace->groups.size()) - 1;
  executed.collective->in = executed.collective->out = {tensor};
  trace->operators.push_back(std::move(executed));
}

TEST(LostGradients, TheSilentAxisIsNamed) {
  std::vector<Trace> ranks = Ranks();
  for (Trace& trace : ranks) {
    const int32_t first = trace.rank / 2 * 2;
    Reduce(&trace, 0, {first, first + 1});  // over shard
    Reduce(&trace, 1, {0, 1, 2, 3});        // the loss
  }
  const absl::Status status = CheckGradientsReachOptimizer(Reference(), ranks);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("sum over replicate missing in gradients"));
  EXPECT_THAT(message, HasSubstr("no rank has a gradient of the 1 parameters"));
  EXPECT_THAT(message, Not(HasSubstr("shard")));
}

TEST(LostGradients, WithoutASilentAxisNoSumIsMissing) {
  std::vector<Trace> ranks = Ranks();
  for (Trace& trace : ranks) Reduce(&trace, 0, {0, 1, 2, 3});
  const absl::Status status = CheckGradientsReachOptimizer(Reference(), ranks);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("sum over")));
}

TEST(LostGradients, AGradientOrAStateOnOneRankIsEnough) {
  std::vector<Trace> ranks = Ranks();
  ranks[2].results.push_back(Result(ResultKind::kGradient, "w"));
  EXPECT_TRUE(CheckGradientsReachOptimizer(Reference(), ranks).ok());
  ranks = Ranks();
  ranks[3].inputs = {State("w.exp_avg")};
  EXPECT_TRUE(CheckGradientsReachOptimizer(Reference(), ranks).ok());
}

// Gradients may be freed, and an optimizer may have no states.
TEST(LostGradients, AnOptimizerWithoutStatesSaysNothing) {
  Trace reference = Reference();
  reference.inputs.clear();
  EXPECT_TRUE(CheckGradientsReachOptimizer(reference, Ranks()).ok());
}

}  // namespace
}  // namespace planproof::frontend::torch
