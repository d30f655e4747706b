// Faults in how gradients are summed that GPT's parameters invite: the two holders of a tied
// embedding do not add up their parts, or biases and norms that see a part of the sequence only are
// not summed over tp.
#include <gtest/gtest.h>

#include <string>

#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "inference/relation_inference.h"
#include "mutation/mutate.h"
#include "strategy/verify.h"

namespace planproof::generator {
namespace {

GeneratedPlans Gpt(int64_t tp, int64_t pp, bool sequence_parallel) {
  Strategy strategy;
  strategy.tensor_parallel = tp;
  strategy.pipeline_parallel = pp;
  strategy.microbatches = 2;
  strategy.sequence_parallel = sequence_parallel;
  return *Generate(*NamedModel("gpt-tiny"), TrainingConfig(), strategy);
}

stages::Verdict VerdictOf(const GeneratedPlans& plans) {
  const auto problem = plan::BuildProblemFromFiles(
      {{"logical.plan", plans.logical}, {"parallel.plan", plans.parallel}},
      sdfg::OperatorLibrary::BuiltIn());
  EXPECT_TRUE(problem.ok()) << problem.status();
  if (!problem.ok()) return stages::Verdict::kMalformed;
  return strategy::Verify(*problem, stages::VerifyOptions()).verdict;
}

TEST(GradientFaultsTest, TiedEmbeddingWhoseHoldersDoNotAddUpIsRefuted) {
  GeneratedPlans plans = Gpt(1, 2, false);
  EXPECT_EQ(VerdictOf(plans), stages::Verdict::kProved);
  int changed = 0;
  for (plan::Program& program : *plans.parallel.mutable_plan()->mutable_programs()) {
    for (plan::Operator& op : *program.mutable_operators()) {
      if (op.outputs_size() != 1 || op.outputs(0) != "grad.embedding.weight") continue;
      ASSERT_EQ(op.op(), "all_reduce");
      op.set_op("identity");
      op.clear_collective();
      op.clear_inputs();
      op.add_inputs()->set_tensor("grad.embedding.weight.stage.accumulated");
      ++changed;
    }
  }
  EXPECT_EQ(changed, 2);
  EXPECT_EQ(VerdictOf(plans), stages::Verdict::kRefuted);
}

TEST(GradientFaultsTest, TiedEmbeddingSteppedOnOneStageWithItsOwnPartIsRefuted) {
  GeneratedPlans plans = Gpt(1, 2, false);
  plan::Program& last = *plans.parallel.mutable_plan()->mutable_programs(1);
  int changed = 0;
  for (plan::Operator& op : *last.mutable_operators()) {
    if (op.outputs_size() != 1 || op.outputs(0) != "clipped.embedding.weight") continue;
    op.mutable_inputs(0)->set_tensor("grad.embedding.weight.stage.accumulated");
    ++changed;
  }
  EXPECT_EQ(changed, 1);
  EXPECT_EQ(VerdictOf(plans), stages::Verdict::kRefuted);
}

class PartOfTheSequenceTest : public testing::TestWithParam<std::string> {};

// With sequence parallelism every rank of tp sees its part of the sequence between the regions.
TEST_P(PartOfTheSequenceTest, GradientNotSummedOverTensorParallelRanksIsNotProved) {
  GeneratedPlans plans = Gpt(2, 1, true);
  EXPECT_EQ(VerdictOf(plans), stages::Verdict::kProved);
  int changed = 0;
  for (plan::Operator& op :
       *plans.parallel.mutable_plan()->mutable_programs(0)->mutable_operators()) {
    if (op.outputs_size() != 1 || op.outputs(0) != "grad." + GetParam()) continue;
    ASSERT_EQ(op.op(), "all_reduce");
    op.set_op("identity");
    op.clear_collective();
    ++changed;
  }
  EXPECT_EQ(changed, 1);
  EXPECT_NE(VerdictOf(plans), stages::Verdict::kProved);
}

INSTANTIATE_TEST_SUITE_P(Parameters, PartOfTheSequenceTest,
                         testing::Values("layers.0.attention_norm.weight",
                                         "layers.0.attention_norm.bias", "layers.1.o.bias",
                                         "layers.1.down.bias", "norm.bias", "positions.weight"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

// Without lineage: the all-reduce is there, but gives each rank its own part.
TEST(GradientFaultsTest, AnAllReduceThatAddsNothingIsNamed) {
  Strategy strategy;
  strategy.data_parallel = 2;
  const GeneratedPlans plans = *Generate(*NamedModel("gpt-tiny"), TrainingConfig(), strategy);
  auto problem = plan::BuildProblemFromFiles(
      {{"logical.plan", plans.logical}, {"parallel.plan", plans.parallel}},
      sdfg::OperatorLibrary::BuiltIn());
  ASSERT_TRUE(problem.ok()) << problem.status();
  lineage::Problem mutant;
  std::string what;
  for (uint64_t seed = 1; what.find("operator skipped: all_reduce (grad.") != 0; ++seed) {
    ASSERT_LT(seed, 2000U);
    mutant = *problem;
    const auto changed = mutation::Mutate(mutant, "random", seed);
    if (changed.ok()) what = changed->what;
  }
  inference::DiscardLineage(&mutant);
  const inference::RelationInference inference;
  stages::VerifyOptions options;
  options.inference = &inference;
  const stages::Result result = strategy::Verify(mutant, options);
  EXPECT_EQ(result.verdict, stages::Verdict::kRefuted);
  ASSERT_FALSE(result.violations.empty());
  const std::string& cause = result.violations[0].cause;
  EXPECT_NE(cause.find("sum over dp missing"), std::string::npos) << cause;
  EXPECT_NE(cause.find("although all_reduce (grad."), std::string::npos) << what << ": " << cause;
}

}  // namespace
}  // namespace planproof::generator
