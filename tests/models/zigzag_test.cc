// Sequences in zigzag order: one program for all ranks, which computes the blocks that a causal
// mask leaves visible and no others; and relations that say which order it is.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/plan/json_form.h"
#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "sdfg/operator_library.h"
#include "strategy/verify.h"

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
    // Block b of 2 `ranks` sees b + 1 blocks of keys: as many on each rank.
    EXPECT_EQ(blocks, model->layers * (2 * ranks + 1));
    const stages::Result result = strategy::Verify(*problem, {});
    EXPECT_EQ(result.verdict, stages::Verdict::kProved);
    EXPECT_EQ(result.operators.covered, result.operators.parallel);
    EXPECT_EQ(result.stages.proved, result.stages.total);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ZigzagRingTest, testing::Values("llama-tiny", "deepseek-tiny"));

TEST(ZigzagTest, OneProgramOfAnyNumberOfRanksGathersKeys) {
  absl::StatusOr<ModelConfig> model = NamedModel("llama-tiny");
  ASSERT_TRUE(model.ok()) << model.status();
  model->sequence = 512;
  std::map<int, int> operators;
  for (const int ranks : {2, 64}) {
    Strategy strategy;
    strategy.context_parallel = ranks;
    strategy.zigzag = true;
    const auto plans = Generate(*model, TrainingConfig(), strategy);
    ASSERT_TRUE(plans.ok()) << plans.status();
    ASSERT_EQ(plans->parallel.plan().programs_size(), 1);
    operators[ranks] = plans->parallel.plan().programs(0).operators_size();
    const auto problem = plan::BuildProblemFromFiles(
        {{"logical.plan", plans->logical}, {"parallel.plan", plans->parallel}},
        sdfg::OperatorLibrary::BuiltIn());
    ASSERT_TRUE(problem.ok()) << problem.status();
    const stages::Result result = strategy::Verify(*problem, {});
    EXPECT_EQ(result.verdict, stages::Verdict::kProved);
    EXPECT_EQ(result.stages.proved, result.stages.total);
  }
  EXPECT_EQ(operators[2], operators[64]);
}

// Batch and sequence are merged for the choice of experts.
TEST(ZigzagTest, MergesOfTheBatchAndASequenceInZigzagOrderAreProved) {
  absl::StatusOr<ModelConfig> model = NamedModel("deepseek-tiny");
  ASSERT_TRUE(model.ok()) << model.status();
  model->sequence = 64;
  for (const int ranks : {2, 8}) {
    for (const bool ring : {false, true}) {
      Strategy strategy;
      strategy.context_parallel = ranks;
      strategy.expert_parallel = 2;
      strategy.dispatch = strategy.zigzag = true;
      strategy.ring = ring;
      strategy.sequences_per_microbatch = 2;
      const auto plans = Generate(*model, TrainingConfig(), strategy);
      ASSERT_TRUE(plans.ok()) << plans.status();
      const auto problem = plan::BuildProblemFromFiles(
          {{"logical.plan", plans->logical}, {"parallel.plan", plans->parallel}},
          sdfg::OperatorLibrary::BuiltIn());
      ASSERT_TRUE(problem.ok()) << problem.status();
      const stages::Result result = strategy::Verify(*problem, {});
      EXPECT_EQ(result.verdict, stages::Verdict::kProved) << ranks << ring;
      EXPECT_EQ(result.stages.proved, result.stages.total) << ranks << ring;
    }
  }
}

// A plan for four ranks: what each holds of two sequences of 16, and what the specification asks
// for.
stages::Verdict VerdictOf(const std::string& x, const std::string& w, const std::string& y) {
  const std::string text = absl::StrCat(R"({"planproof": 1,
    "specification": {
      "inputs": {"x": [16], "w": [16]},
      "operators": [{"op": "mul", "in": ["x", "w"], "out": "y"},
                    {"op": "sum", "in": "y", "out": "s"}],
      "outputs": {"y": )",
                                        y, R"(, "s": {}}},
    "plan": {"mesh": {"cp": 4}, "programs": [{
      "inputs": {"x": )",
                                        x, R"(, "w": )", w, R"(},
      "operators": [{"op": "mul", "in": ["x", "w"], "out": "y"},
                    {"op": "sum", "in": "y", "out": "part"},
                    {"op": "all_reduce", "over": "cp", "in": "part", "out": "s"}]}]}})");
  const auto file = plan::ReadJsonForm(text, "plan.json");
  EXPECT_TRUE(file.ok()) << file.status();
  const auto problem =
      plan::BuildProblemFromFiles({{"plan.json", *file}}, sdfg::OperatorLibrary::BuiltIn());
  if (!problem.ok()) return stages::Verdict::kMalformed;
  return strategy::Verify(*problem, {}).verdict;
}

TEST(ZigzagTest, OrdersAreTakenForEachOtherNowhere) {
  const auto held = [](const char* map) {
    return absl::StrCat(R"({"map": [")", map, R"("], "shape": [4]})");
  };
  const std::string zigzag = held("cp * 2 + i0 % 2 + i0 / 2 * (7 - 2 * cp) * 2");
  const std::string strided = held("cp * 2 + i0 % 2 + i0 / 2 * 8");  // blocks r and r + 4
  const std::string late_first = held("cp * 2 + i0 % 2 + (1 - i0 / 2) * (7 - 2 * cp) * 2");
  const std::string backwards = held("(3 - cp) * 2 + i0 % 2 + i0 / 2 * (1 + 2 * cp) * 2");
  const std::vector<std::string> orders = {zigzag, strided, late_first, backwards,
                                           R"({"0": "cp"})"};
  using stages::Verdict;
  for (size_t x = 0; x < orders.size(); ++x) {
    for (size_t w = 0; w < orders.size(); ++w) {
      for (size_t y = 0; y < orders.size(); ++y) {
        EXPECT_EQ(VerdictOf(orders[x], orders[w], orders[y]),
                  x == w && w == y ? Verdict::kProved : Verdict::kRefuted)
            << x << w << y;
      }
    }
  }
  // Ranks that hold a block twice, or none of them.
  EXPECT_EQ(VerdictOf(held("cp * 2 + i0 % 2 + i0 / 2 * 2"), zigzag, zigzag), Verdict::kMalformed);
  EXPECT_EQ(VerdictOf(zigzag, zigzag, held("cp * 2 + i0 % 2")), Verdict::kMalformed);
  EXPECT_EQ(VerdictOf(held("cp * 2 + i0 % 2 + i0 / 2 * (9 - 2 * cp) * 2"), zigzag, zigzag),
            Verdict::kMalformed);
}

}  // namespace
}  // namespace planproof::generator
