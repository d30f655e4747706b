// A loss scale: gradients on the way are multiples of the model's, the updates are the model's own.
#include <gtest/gtest.h>

#include <string>

#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "sdfg/operator_library.h"
#include "strategy/verify.h"
#include "tests/models/numbers.h"

namespace planproof::generator {
namespace {

GeneratedPlans Scaled(const std::string& model, const std::string& scale, int zero) {
  Strategy strategy;
  strategy.data_parallel = strategy.tensor_parallel = strategy.pipeline_parallel = 2;
  strategy.microbatches = 2;
  strategy.sequence_parallel = true;
  strategy.zero = zero;
  strategy.loss_scale = scale;
  return *Generate(*NamedModel(model), TrainingConfig(), strategy);
}

absl::StatusOr<lineage::Problem> ScaledProblem(const GeneratedPlans& plans) {
  return plan::BuildProblemFromFiles(
      {{"logical.plan", plans.logical}, {"parallel.plan", plans.parallel}},
      sdfg::OperatorLibrary::BuiltIn());
}

stages::Verdict VerdictOfScaled(const GeneratedPlans& plans) {
  const auto problem = ScaledProblem(plans);
  EXPECT_TRUE(problem.ok()) << problem.status();
  return problem.ok() ? strategy::Verify(*problem, stages::VerifyOptions()).verdict
                      : stages::Verdict::kMalformed;
}

class LossScaleTest : public testing::TestWithParam<std::string> {};

TEST_P(LossScaleTest, ScaleCancels) {
  for (int zero : {0, 3}) {
    const auto problem = ScaledProblem(Scaled(GetParam(), "65536", zero));
    ASSERT_TRUE(problem.ok()) << problem.status();
    const stages::Result result = strategy::Verify(*problem, stages::VerifyOptions());
    EXPECT_EQ(result.verdict, stages::Verdict::kProved);
    EXPECT_EQ(result.stages.proved, result.stages.total);  // every multiple is one
    const auto difference = DifferenceInNumbers(*problem, 1);
    ASSERT_TRUE(difference.ok()) << difference.status();
    EXPECT_EQ(*difference, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LossScaleTest,
                         testing::Values("llama-tiny", "qwen-tiny", "gpt-tiny", "deepseek-tiny"),
                         [](const auto& info) {
                           return info.param.substr(0, info.param.find('-'));
                         });

TEST(LossScaleFaultsTest, OneGradientDividedBySomethingElseIsRefuted) {
  GeneratedPlans plans = Scaled("gpt-tiny", "1024", 0);
  int changed = 0;
  for (plan::Operator& op :
       *plans.parallel.mutable_plan()->mutable_programs(0)->mutable_operators()) {
    if (op.outputs_size() != 1 || op.outputs(0) != "unscaled.layers.0.q.bias") continue;
    op.mutable_inputs(1)->set_literal("1023");
    ++changed;
  }
  EXPECT_EQ(changed, 1);
  EXPECT_EQ(VerdictOfScaled(plans), stages::Verdict::kRefuted);
}

TEST(LossScaleFaultsTest, LossMultipliedBySomethingElseIsRefuted) {
  GeneratedPlans plans = Scaled("llama-tiny", "1024", 0);
  int changed = 0;
  for (plan::Operator& op :
       *plans.parallel.mutable_plan()->mutable_programs(1)->mutable_operators()) {
    if (op.outputs_size() != 1 || op.outputs(0) != "scaled_loss.part") continue;
    op.mutable_inputs(1)->set_literal("512");
    ++changed;
  }
  EXPECT_EQ(changed, 1);
  EXPECT_EQ(VerdictOfScaled(plans), stages::Verdict::kRefuted);
}

// What a plan says of its own tensors is no premise.
TEST(LossScaleFaultsTest, WrongFactorsInTheLineageDoNotHideAMissingDivision) {
  GeneratedPlans plans = Scaled("llama-tiny", "1024", 0);
  int changed = 0;
  for (plan::Program& program : *plans.parallel.mutable_plan()->mutable_programs()) {
    for (plan::Operator& op : *program.mutable_operators()) {
      if (op.outputs_size() == 1 && op.outputs(0).rfind("unscaled.", 0) == 0) {
        op.set_op("identity");
        op.mutable_inputs()->RemoveLast();
        ++changed;
      }
    }
    for (plan::NamedRelation& named : *program.mutable_lineage()) {
      named.mutable_relation()->clear_factor();
    }
  }
  EXPECT_GT(changed, 20);
  EXPECT_EQ(VerdictOfScaled(plans), stages::Verdict::kRefuted);
}

TEST(LossScaleFaultsTest, ScalesThatAreNoPositiveNumbersAreErrors) {
  Strategy strategy;
  for (const std::string scale : {"0", "-2", "x", "", "1e", "0.0", "0e5", "nan"}) {
    strategy.loss_scale = scale;
    EXPECT_FALSE(Generate(*NamedModel("llama-tiny"), TrainingConfig(), strategy).ok()) << scale;
  }
  for (const std::string scale : {"1", "65536", "0.5", "1e4"}) {
    strategy.loss_scale = scale;
    EXPECT_TRUE(Generate(*NamedModel("llama-tiny"), TrainingConfig(), strategy).ok()) << scale;
  }
}

}  // namespace
}  // namespace planproof::generator
