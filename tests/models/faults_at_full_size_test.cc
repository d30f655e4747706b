// Single faults in plans of published dimensions, of kinds that show only on inputs that are chosen
// for them.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "mutation/mutate.h"
#include "stages/verify.h"

namespace planproof::generator {
namespace {

lineage::Problem PlanOf(const std::string& name, const Strategy& strategy) {
  absl::StatusOr<ModelConfig> model = NamedModel(name);
  EXPECT_TRUE(model.ok()) << model.status();
  model->layers = 4;
  const auto plans = Generate(*model, TrainingConfig(), strategy);
  EXPECT_TRUE(plans.ok()) << plans.status();
  auto problem = plan::BuildProblemFromFiles(
      {{"logical.plan", plans->logical}, {"parallel.plan", plans->parallel}},
      sdfg::OperatorLibrary::BuiltIn());
  EXPECT_TRUE(problem.ok()) << problem.status();
  return *std::move(problem);
}

// The sequence is cut over tp and cp, gradients are summed over both.
lineage::Problem Llama() {
  Strategy strategy;
  strategy.data_parallel = 2;
  strategy.tensor_parallel = 4;
  strategy.pipeline_parallel = 2;
  strategy.context_parallel = 2;
  strategy.microbatches = 2;
  strategy.zero = 1;
  strategy.sequence_parallel = true;
  return PlanOf("llama3-8b", strategy);
}

lineage::Problem DeepSeek() {
  Strategy strategy;
  strategy.data_parallel = 2;
  strategy.tensor_parallel = 2;
  strategy.expert_parallel = 2;
  strategy.dispatch = true;
  strategy.microbatches = 2;
  return PlanOf("deepseek-v3-16b", strategy);
}

// Linear operators with biases, embedding and head tied, parameters held in shards.
lineage::Problem Gpt() {
  Strategy strategy;
  strategy.data_parallel = 2;
  strategy.tensor_parallel = 2;
  strategy.pipeline_parallel = 2;
  strategy.microbatches = 2;
  strategy.zero = 3;
  return PlanOf("gpt3-760m", strategy);
}

// Rank r holds blocks r and 3 - r of the sequence.
lineage::Problem Qwen() {
  Strategy strategy;
  strategy.data_parallel = 2;
  strategy.tensor_parallel = 2;
  strategy.context_parallel = 2;
  strategy.zigzag = true;
  strategy.zero = 2;
  return PlanOf("qwen2-7b", strategy);
}

struct Kind {
  const char* name;
  lineage::Problem (*plan)();
  const char* fault;
  std::vector<const char*> contains;  // of what was changed
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

class FaultAtFullSize : public testing::TestWithParam<Kind> {};

TEST_P(FaultAtFullSize, IsRefuted) {
  const lineage::Problem right = GetParam().plan();
  for (uint64_t seed = 1; seed < 20000; ++seed) {
    lineage::Problem wrong = right;
    const auto mutation = mutation::Mutate(wrong, "random", seed);
    if (!mutation.ok() || mutation->kind != GetParam().fault) continue;
    bool wanted = true;
    for (const char* part : GetParam().contains) {
      wanted = wanted && mutation->what.find(part) != std::string::npos;
    }
    if (!wanted) continue;
    const stages::Result result = stages::Verify(wrong, stages::VerifyOptions());
    EXPECT_EQ(result.verdict, stages::Verdict::kRefuted) << mutation->what;
    return;
  }
  FAIL() << "no such fault";
}

INSTANTIATE_TEST_SUITE_P(
    Models, FaultAtFullSize,
    testing::Values(
        Kind{"SumOverPartsOfTheSequence",
             Llama,
             "operator skipped",
             {"all_reduce (grad.layers", "norm.weight"}},
        Kind{"SumOverContext", Llama, "operator skipped", {"all_reduce (grad.layers", ".o.weight"}},
        Kind{"HeadsOffByOne", Llama, "wrong offset", {"view (layers.", "k_heads", "127"}},
        Kind{"ShardsOffByOne", Llama, "wrong offset", {"chunk (layers.", "weight.shard"}},
        Kind{"StrideOfRotaryPairs",
             Llama,
             "wrong offset",
             {"apply_rotary_emb (layers.", "q_rotary", "stride 2 is now 1"}},
        Kind{"SumForAProduct",
             Llama,
             "wrong arithmetic",
             {"linear (layers.", "attention.part", "product is now a sum"}},
        Kind{"SoftmaxTimesItsSum",
             DeepSeek,
             "wrong arithmetic",
             {"softmax (layers.", "quotient is now a product"}},
        Kind{"LastExpert", DeepSeek, "missing term", {"combine_tokens (", "over e"}},
        Kind{"LastColumn",
             DeepSeek,
             "missing term",
             {"grad_norm (square.layers.", "gate.weight", "over r2"}},
        Kind{"LastPosition", DeepSeek, "missing term", {"linear.backward (", "over b1"}},
        Kind{"OneSquareOfANorm", DeepSeek, "wrong factor", {"grad_norm (square.layers."}},
        Kind{"ProductOfSquares", DeepSeek, "wrong arithmetic", {"add (squares."}},
        Kind{"GradientOfABranch", Gpt, "operator skipped", {"add (grad.layers.", ".output)"}},
        Kind{"SquaresOfALayer", Gpt, "operator skipped", {"add (squares.layers.1"}},
        Kind{"ClippedWeightOfKeys", Gpt, "wrong factor", {"mul (clipped.layers.", ".k.weight"}},
        Kind{"SumOverBothZigzagBlocks", Qwen, "operator skipped", {"all_reduce (grad.", ".v.bias"}},
        Kind{"ClippedBiasOfQueries", Qwen, "operator skipped", {"mul (clipped.", ".q.bias"}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace planproof::generator
