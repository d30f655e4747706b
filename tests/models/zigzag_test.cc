// Ring attention in zigzag order computes the blocks that a causal mask leaves visible, no others.
#include <gtest/gtest.h>

#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "sdfg/operator_library.h"
#include "stages/verify.h"

namespace planproof::generator {
namespace {

class ZigzagRingTest : public testing::TestWithParam<const char*> {};

TEST_P(ZigzagRingTest, HiddenBlocksAreLeftOut) {
  absl::StatusOr<ModelConfig> model = NamedModel(GetParam());
  ASSERT_TRUE(model.ok()) << model.status();
  model->sequence = 16;
  for (const int ranks : {2, 4}) {
    Strategy strategy;
    strategy.context_parallel = ranks;
    strategy.ring = strategy.zigzag = true;
    const auto plans = Generate(*model, TrainingConfig(), strategy);
    ASSERT_TRUE(plans.ok()) << plans.status();
    const auto problem = plan::BuildProblemFromFiles(
        {{"logical.plan", plans->logical}, {"parallel.plan", plans->parallel}},
        sdfg::OperatorLibrary::BuiltIn());
    ASSERT_TRUE(problem.ok()) << problem.status();
    int blocks = 0;
    for (const sdfg::Operator& op : problem->parallel.operators)
      blocks += op.name == "online_weights" ? 1 : 0;
    // Block b of 2 `ranks` sees b + 1 blocks of keys.
    EXPECT_EQ(blocks, model->layers * ranks * (2 * ranks + 1));
    const stages::Result result = stages::Verify(*problem, {});
    EXPECT_EQ(result.verdict, stages::Verdict::kProved);
    EXPECT_EQ(result.operators.covered, result.operators.parallel);
    EXPECT_EQ(result.stages.proved, result.stages.total);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ZigzagRingTest, testing::Values("llama-tiny", "deepseek-tiny"));

}  // namespace
}  // namespace planproof::generator
