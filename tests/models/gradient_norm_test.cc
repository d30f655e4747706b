// The global norm of the gradients: layers are alike in it, however many there are, and what is
// left out or counted twice is refuted.
#include "generator/gradient_norm.h"

#include <gtest/gtest.h>

#include <string>

#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "strategy/verify.h"

namespace planproof::generator {
namespace {

GeneratedPlans Llama(int64_t layers) {
  ModelConfig model = *NamedModel("llama-tiny");
  model.layers = layers;
  Strategy strategy;
  strategy.data_parallel = 2;
  strategy.tensor_parallel = 2;
  strategy.pipeline_parallel = 2;
  strategy.zero = 1;
  return *Generate(model, TrainingConfig(), strategy);
}

stages::Result ResultOf(const GeneratedPlans& plans) {
  const auto problem = plan::BuildProblemFromFiles(
      {{"logical.plan", plans.logical}, {"parallel.plan", plans.parallel}},
      sdfg::OperatorLibrary::BuiltIn());
  EXPECT_TRUE(problem.ok()) << problem.status();
  if (!problem.ok()) return stages::Result();
  return strategy::Verify(*problem, stages::VerifyOptions());
}

plan::Operator* OperatorOf(const std::string& output, int stage, GeneratedPlans* plans) {
  plan::Program* program = plans->parallel.mutable_plan()->mutable_programs(stage);
  for (plan::Operator& op : *program->mutable_operators()) {
    if (op.outputs_size() == 1 && op.outputs(0) == output) return &op;
  }
  return nullptr;
}

TEST(GradientNormTest, MoreLayersAreNoMoreClasses) {
  const stages::Result few = ResultOf(Llama(8)), many = ResultOf(Llama(48));
  EXPECT_EQ(few.verdict, stages::Verdict::kProved);
  EXPECT_EQ(many.verdict, stages::Verdict::kProved);
  EXPECT_GT(many.stages.total, 5 * few.stages.total);
  EXPECT_EQ(many.stages.classes, few.stages.classes);
  EXPECT_EQ(many.stages.proved, many.stages.total);
}

// Its definition says that it is not negative.
TEST(GradientNormTest, RootOfTheNormNeedsNoPremise) {
  const stages::Result result = ResultOf(Llama(48));
  for (const std::string& premise : result.premises) {
    EXPECT_EQ(premise.find(kSquaredNorm), std::string::npos) << premise;
  }
}

TEST(GradientNormTest, ShardsOfALayerThatAreNotAddedUpAreRefuted) {
  GeneratedPlans plans = Llama(4);
  plan::Operator* sum = OperatorOf("squares.layers.1.0", 0, &plans);
  ASSERT_NE(sum, nullptr);
  ASSERT_EQ(sum->op(), "all_reduce");
  sum->set_op("identity");
  sum->clear_collective();
  EXPECT_EQ(ResultOf(plans).verdict, stages::Verdict::kRefuted);
}

TEST(GradientNormTest, LayerInPlaceOfAnotherIsRefuted) {
  GeneratedPlans plans = Llama(4);
  plan::Program* program = plans.parallel.mutable_plan()->mutable_programs(0);
  int changed = 0;
  for (plan::Operator& op : *program->mutable_operators()) {
    for (plan::Operand& operand : *op.mutable_inputs()) {
      if (operand.tensor() != "squares.layers.0") continue;
      operand.set_tensor("squares.layers.1");
      ++changed;
    }
  }
  EXPECT_EQ(changed, 1);
  EXPECT_EQ(ResultOf(plans).verdict, stages::Verdict::kRefuted);
}

// The layer's norms lie alike on all ranks of tp, in shards over dp.
TEST(GradientNormTest, WhatEveryRankHoldsAndAllAddUpIsRefuted) {
  GeneratedPlans plans = Llama(4);
  plan::Operator* sum = OperatorOf("squares.layers.3.0", 1, &plans);
  ASSERT_NE(sum, nullptr);
  ASSERT_EQ(sum->collective().over_size(), 1);
  ASSERT_EQ(sum->collective().over(0), "dp");
  sum->mutable_collective()->add_over("tp");
  EXPECT_EQ(ResultOf(plans).verdict, stages::Verdict::kRefuted);
}

// Layers 2 and 3 are a pair, which the stage adds up.
TEST(GradientNormTest, PairOfWhichOneCountsTwiceIsRefuted) {
  GeneratedPlans plans = Llama(8);
  plan::Operator* pair = OperatorOf("squares.2.layers.1", 0, &plans);
  ASSERT_NE(pair, nullptr);
  pair->mutable_inputs(1)->set_tensor(pair->inputs(0).tensor());
  EXPECT_EQ(ResultOf(plans).verdict, stages::Verdict::kRefuted);
}

}  // namespace
}  // namespace planproof::generator
