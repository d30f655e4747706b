// Every strategy of the generator at small size: the plan is proved, numbers of both graphs agree,
// and plans with one fault are never proved if their numbers differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "mutation/mutate.h"
#include "sdfg/operator_library.h"
#include "strategy/verify.h"
#include "tests/models/numbers.h"
#include "tests/models/strategy_cases.h"

namespace planproof::generator {
namespace {

constexpr int kMutants = 2;  // strategies_campaign tries more

// Counterexamples take most of the time: they are looked for in one case of eight.
bool IsExplained(const StrategyCase& strategy) {
  const std::vector<StrategyCase> all = StrategyCases();
  const auto at = std::find_if(all.begin(), all.end(), [&](const StrategyCase& other) {
    return other.name == strategy.name;
  });
  return (at - all.begin()) % 8 == 0;
}

class StrategiesTest : public testing::TestWithParam<StrategyCase> {};

TEST_P(StrategiesTest, IsProvedAndItsMutantsAreNot) {
  const auto problem = ProblemOf(GetParam());
  ASSERT_TRUE(problem.ok()) << problem.status();
  stages::VerifyOptions options;
  const stages::Result result = strategy::Verify(*problem, options);
  EXPECT_EQ(result.verdict, stages::Verdict::kProved)
      << (result.violations.empty() ? "" : result.violations[0].message);
  EXPECT_EQ(result.stages.proved, result.stages.total);  // no lineage is wrong
  EXPECT_EQ(result.operators.covered, result.operators.parallel);
  const auto difference = DifferenceInNumbers(*problem, 1);
  ASSERT_TRUE(difference.ok()) << difference.status();
  EXPECT_EQ(*difference, "");
  options.explain = IsExplained(GetParam());
  for (uint64_t seed = 1; seed <= kMutants; ++seed) {
    lineage::Problem mutant = *problem;
    const auto changed = mutation::Mutate(mutant, "random", seed);
    ASSERT_TRUE(changed.ok()) << changed.status();
    if (strategy::Verify(mutant, options).verdict != stages::Verdict::kProved) continue;
    const auto shown = DifferenceInNumbers(mutant, seed);
    ASSERT_TRUE(shown.ok()) << shown.status();
    EXPECT_EQ(*shown, "") << "proved, but numbers differ: " << changed->what;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, StrategiesTest, testing::ValuesIn(StrategyCases()),
                         [](const auto& info) { return info.param.name; });

absl::StatusOr<lineage::Problem> Generated(const ModelConfig& model, const Strategy& strategy) {
  const auto plans = Generate(model, TrainingConfig(), strategy);
  if (!plans.ok()) return plans.status();
  return plan::BuildProblemFromFiles(
      {{"logical.plan", plans->logical}, {"parallel.plan", plans->parallel}},
      sdfg::OperatorLibrary::BuiltIn());
}

// A dimension of extent 1 that is summed: the batch of one sequence.
TEST(StrategyTest, OneLongSequenceIsProved) {
  ModelConfig model = *NamedModel("llama-tiny");
  model.sequence = 512;
  const auto problem = Generated(model, Strategy());
  ASSERT_TRUE(problem.ok()) << problem.status();
  const stages::Result result = strategy::Verify(*problem, stages::VerifyOptions());
  EXPECT_EQ(result.stages.proved, result.stages.total);
}

// The gradient norm sums the squares of a thousand parameters on one stage.
TEST(StrategyTest, ManyLayersOnOneStageAreProved) {
  ModelConfig model = *NamedModel("llama-tiny");
  model.layers = 128;
  Strategy strategy;
  strategy.data_parallel = strategy.tensor_parallel = 2;
  const auto problem = Generated(model, strategy);
  ASSERT_TRUE(problem.ok()) << problem.status();
  const stages::Result result = strategy::Verify(*problem, stages::VerifyOptions());
  EXPECT_EQ(result.stages.proved, result.stages.total);
}

// A shard of 80 rows begins anywhere in a head of 128: eight shards later it is so again.
TEST(StrategyTest, ShardsThatBeginInsideHeadsAreProved) {
  ModelConfig model = *NamedModel("gpt3-13b");
  model.layers = 1;
  Strategy strategy;
  strategy.data_parallel = 64;
  strategy.zero = 3;
  const auto problem = Generated(model, strategy);
  ASSERT_TRUE(problem.ok()) << problem.status();
  stages::VerifyOptions options;
  options.explain = false;
  const stages::Result result = strategy::Verify(*problem, options);
  EXPECT_EQ(result.stages.proved, result.stages.total);
}

// Shards of 6 rows in heads of 8: what cuts them into cells must not lose a row of any rank.
TEST(StrategyTest, MutantsWhoseShardsBeginInsideHeadsAreNotProved) {
  ModelConfig model = *NamedModel("gpt-tiny");
  model.hidden = 24;
  model.heads = model.key_value_heads = 3;
  model.head_size = 8;
  Strategy strategy;
  strategy.data_parallel = 4;
  strategy.zero = 3;
  const auto problem = Generated(model, strategy);
  ASSERT_TRUE(problem.ok()) << problem.status();
  stages::VerifyOptions options;
  options.explain = false;
  EXPECT_EQ(strategy::Verify(*problem, options).verdict, stages::Verdict::kProved);
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    lineage::Problem mutant = *problem;
    const auto changed = mutation::Mutate(mutant, "random", seed);
    ASSERT_TRUE(changed.ok()) << changed.status();
    if (strategy::Verify(mutant, options).verdict != stages::Verdict::kProved) {
      ++wrong;
      continue;
    }
    const auto shown = DifferenceInNumbers(mutant, seed);
    ASSERT_TRUE(shown.ok()) << shown.status();
    EXPECT_EQ(*shown, "") << "proved, but numbers differ: " << changed->what;
  }
  EXPECT_GE(wrong, 30);
}

TEST(StrategyTest, WhatDoesNotDivideIsNamed) {
  const auto model = NamedModel("llama-tiny");
  Strategy strategy;
  strategy.tensor_parallel = 3;
  const auto plans = Generate(*model, TrainingConfig(), strategy);
  ASSERT_FALSE(plans.ok());
  EXPECT_NE(plans.status().message().find("heads 4 does not divide by tp 3"), std::string::npos)
      << plans.status();
}

TEST(StrategyTest, EndsArePipelineStagesWithFewerLayers) {
  ModelConfig model = *NamedModel("llama3-405b");
  Strategy strategy;
  strategy.pipeline_parallel = 16;
  const auto layers = LayersPerStage(model, strategy);
  ASSERT_TRUE(layers.ok());
  EXPECT_EQ(layers->front(), 7);
  EXPECT_EQ((*layers)[1], 8);
  EXPECT_EQ(layers->back(), 7);
}

// The file's size depends on layers and stages only.
TEST(PlanSizeTest, DegreesDoNotChangeTheNumberOfOperators) {
  const ModelConfig model = *NamedModel("llama-tiny");
  const auto count = [&](int64_t dp, int64_t microbatches) {
    Strategy strategy;
    strategy.data_parallel = dp;
    strategy.tensor_parallel = 2;
    strategy.microbatches = microbatches;
    int operators = 0;
    const auto plans = Generate(model, TrainingConfig(), strategy);
    EXPECT_TRUE(plans.ok()) << plans.status();
    if (!plans.ok()) return 0;
    for (const auto& program : plans->parallel.plan().programs()) {
      operators += program.operators_size();
    }
    return operators;
  };
  EXPECT_EQ(count(2, 2), count(64, 32));
}

}  // namespace
}  // namespace planproof::generator
