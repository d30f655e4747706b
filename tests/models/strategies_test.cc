// Every strategy of the generator at small size: the plan is proved, numbers of both graphs agree,
// and plans with one fault are never proved if their numbers differ.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "frontend/models/generate.h"
#include "frontend/mutation/mutate.h"
#include "frontend/plan/read_plan.h"
#include "stages/verify.h"
#include "tests/models/numbers.h"

namespace planproof::models {
namespace {

constexpr int kMutants = 3;

struct Case {
  std::string name;
  std::string model;
  Strategy strategy;
};

Case Of(std::string name, std::string model, int64_t dp, int64_t tp, int64_t pp,
        int64_t microbatches, bool sequence_parallel = false) {
  Case made{std::move(name), std::move(model), {}};
  made.strategy.data_parallel = dp;
  made.strategy.tensor_parallel = tp;
  made.strategy.pipeline_parallel = pp;
  made.strategy.microbatches = microbatches;
  made.strategy.sequence_parallel = sequence_parallel;
  return made;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const std::string family : {"llama", "deepseek", "gpt", "qwen"}) {
    const std::string model = family + "-tiny";
    cases.push_back(Of(family + "_single", model, 1, 1, 1, 1));
    cases.push_back(Of(family + "_dp2", model, 2, 1, 1, 1));
    cases.push_back(Of(family + "_mb2", model, 1, 1, 1, 2));
    cases.push_back(Of(family + "_tp2", model, 1, 2, 1, 1));
    cases.push_back(Of(family + "_tp2_sp", model, 1, 2, 1, 1, true));
    cases.push_back(Of(family + "_pp2", model, 1, 1, 2, 1));
    cases.push_back(Of(family + "_dp2_tp2_pp2_mb2", model, 2, 2, 2, 2));
    cases.push_back(Of(family + "_dp2_tp2_pp2_mb2_sp", model, 2, 2, 2, 2, true));
  }
  return cases;
}

class StrategiesTest : public testing::TestWithParam<Case> {};

TEST_P(StrategiesTest, IsProvedAndItsMutantsAreNot) {
  const auto model = NamedModel(GetParam().model);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto plans = Generate(*model, TrainingConfig(), GetParam().strategy);
  ASSERT_TRUE(plans.ok()) << plans.status();
  auto problem = plan::BuildProblemFromFiles(
      {{"logical.plan", plans->logical}, {"parallel.plan", plans->parallel}},
      sdfg::OperatorLibrary::BuiltIn());
  ASSERT_TRUE(problem.ok()) << problem.status();
  stages::VerifyOptions options;
  const stages::Result result = stages::Verify(*problem, options);
  EXPECT_EQ(result.verdict, stages::Verdict::kProved)
      << (result.violations.empty() ? "" : result.violations[0].message);
  EXPECT_EQ(result.stages.proved, result.stages.total);  // no lineage is wrong
  EXPECT_EQ(result.operators.covered, result.operators.parallel);
  const auto difference = DifferenceInNumbers(*problem, 1);
  ASSERT_TRUE(difference.ok()) << difference.status();
  EXPECT_EQ(*difference, "");
  for (uint64_t seed = 1; seed <= kMutants; ++seed) {
    lineage::Problem mutant = *problem;
    const auto changed = mutation::Mutate(mutant, "random", seed);
    ASSERT_TRUE(changed.ok()) << changed.status();
    if (stages::Verify(mutant, options).verdict != stages::Verdict::kProved) continue;
    const auto shown = DifferenceInNumbers(mutant, seed);
    ASSERT_TRUE(shown.ok()) << shown.status();
    EXPECT_EQ(*shown, "") << "proved, but numbers differ: " << changed->what;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, StrategiesTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

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
  const auto count = [&](const Case& made) {
    int operators = 0;
    const auto plans = Generate(model, TrainingConfig(), made.strategy);
    EXPECT_TRUE(plans.ok()) << plans.status();
    if (!plans.ok()) return 0;
    for (const auto& program : plans->parallel.plan().programs()) {
      operators += program.operators_size();
    }
    return operators;
  };
  EXPECT_EQ(count(Of("", "", 2, 2, 1, 2)), count(Of("", "", 64, 2, 1, 32)));
}

}  // namespace
}  // namespace planproof::models
