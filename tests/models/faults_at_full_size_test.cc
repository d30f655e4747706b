// Single faults in plans of published dimensions, of kinds that show only on inputs that are chosen
// for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/load_problem.h"
#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "mutation/mutate.h"
#include "shape_reduction/focused_search.h"
#include "strategy/verify.h"

namespace planproof::generator {
namespace {

// `sequence`: its length, 0: the model's.
lineage::Problem PlanOf(const std::string& name, const Strategy& strategy, int64_t sequence = 0) {
  absl::StatusOr<ModelConfig> model = NamedModel(name);
  EXPECT_TRUE(model.ok()) << model.status();
  model->layers = 4;
  if (sequence > 0) model->sequence = sequence;
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

// Each half of the sequence is as long as the hidden size.
lineage::Problem LlamaInTwoParts() {
  Strategy strategy;
  strategy.data_parallel = 4;
  strategy.tensor_parallel = 4;
  strategy.pipeline_parallel = 2;
  strategy.context_parallel = 2;
  strategy.microbatches = 2;
  strategy.zero = 1;
  return PlanOf("llama3-8b", strategy);
}

lineage::Problem WithExperts(const std::string& model) {
  Strategy strategy;
  strategy.data_parallel = 2;
  strategy.tensor_parallel = 2;
  strategy.expert_parallel = 2;
  strategy.dispatch = true;
  strategy.microbatches = 2;
  return PlanOf(model, strategy);
}
lineage::Problem DeepSeek() { return WithExperts("deepseek-v3-16b"); }
// Latent keys and queries with norms of their own, 256 experts.
lineage::Problem LargeDeepSeek() { return WithExperts("deepseek-v3-671b"); }

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

// All positions count in the loss: no mask leaves only those that are told apart.
lineage::Problem LlamaWithoutMask() {
  Strategy strategy;
  strategy.data_parallel = 2;
  strategy.tensor_parallel = 2;
  strategy.sequences_per_microbatch = 256;
  lineage::Problem problem = PlanOf("llama3-8b", strategy, 256);
  for (size_t t = 0; t < problem.logical.tensors.size(); ++t) {
    if (problem.logical.tensors[t].name == "loss_mask") {
      problem.premises.push_back(
          {static_cast<sdfg::TensorId>(t), lineage::Problem::InputPremise::Kind::kPositive});
    }
  }
  EXPECT_FALSE(problem.premises.empty());
  return problem;
}

// The published plan of nnScaler on eight devices; no operators where it is missing.
lineage::Problem Published(const std::string& model) {
  const char* given = std::getenv("PLANPROOF_SHARED");
  const std::filesystem::path folder =
      std::filesystem::path(given != nullptr ? given : PLANPROOF_SOURCE_DIR "/../shared") / "data" /
      "nnscaler";
  std::vector<std::string> files;
  for (const char* degrees : {"_default_dp1_pp1_tp1_nm1_", "_default_dp2_pp2_tp2_nm2_"}) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().filename().string().rfind(model + degrees, 0) == 0)
        files.push_back(entry.path().string());
    }
  }
  if (files.size() != 2) return {};
  auto problem = frontend::LoadProblem(files, frontend::LoadOptions());
  EXPECT_TRUE(problem.ok()) << problem.status();
  return *std::move(problem);
}
lineage::Problem PublishedLlama() { return Published("llama3"); }
lineage::Problem PublishedMoe() { return Published("moe"); }

struct Kind {
  const char* name;
  lineage::Problem (*plan)();
  const char* fault;
  std::vector<const char*> contains;  // of what was changed
  uint64_t seed = 1;                  // with which it is found at once; others are tried, too
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

class FaultAtFullSize : public testing::TestWithParam<Kind> {};

// The first fault of this kind, from this seed on and round, that contains all parts.
std::optional<lineage::Problem> WithFault(const lineage::Problem& right, const std::string& fault,
                                          const std::vector<const char*>& contains,
                                          uint64_t first) {
  constexpr uint64_t kSeeds = 20000;
  for (uint64_t k = 0; k < kSeeds; ++k) {
    const uint64_t seed = 1 + (first - 1 + k) % kSeeds;
    lineage::Problem wrong = right;
    const auto mutation = mutation::Mutate(wrong, "random", seed);
    if (mutation.ok() && mutation->kind == fault &&
        std::all_of(contains.begin(), contains.end(), [&](const char* part) {
          return mutation->what.find(part) != std::string::npos;
        }))
      return wrong;
  }
  return std::nullopt;
}

TEST_P(FaultAtFullSize, IsRefuted) {
  const lineage::Problem right = GetParam().plan();
  if (right.parallel.operators.empty()) GTEST_SKIP() << "SKIPPED: the shared plans are not here";
  const auto wrong = WithFault(right, GetParam().fault, GetParam().contains, GetParam().seed);
  ASSERT_TRUE(wrong.has_value()) << "no such fault";
  EXPECT_EQ(strategy::Verify(*wrong, stages::VerifyOptions()).verdict, stages::Verdict::kRefuted);
}

// A rank sends its part of a causal mask transposed: only the last row of the part still sees
// itself, and unless that is told apart no enclosure of a softmax has an end.
TEST(FaultInAMask, ShowsWhereItsPartsEnd) {
  const lineage::Problem right = PublishedMoe();
  if (right.parallel.operators.empty()) GTEST_SKIP() << "SKIPPED: the shared plans are not here";
  const auto wrong = WithFault(right, "exchanged indices", {"chunk (cell 644)", "2 and 3"}, 991);
  ASSERT_TRUE(wrong.has_value()) << "no such fault";
  const sdfg::Graph& graph = wrong->parallel;
  shape_reduction::WitnessOptions options;
  options.attempts = 8;
  int places = 0;
  bool found = false;
  for (size_t o = 0; o < graph.operators.size(); ++o) {
    if (graph.operators[o].function == right.parallel.operators[o].function) continue;
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      const sdfg::OperatorId producer = graph.tensors[t].producer;
      if (wrong->lineage[t].kind != lineage::LineageKind::kFull || producer == sdfg::kNone)
        continue;
      const auto& inputs = graph.operators[producer].inputs;
      const bool next = producer == static_cast<sdfg::OperatorId>(o) ||
                        std::count(inputs.begin(), inputs.end(), graph.operators[o].outputs[0]) > 0;
      if (!next) continue;
      ++places;
      const shape_reduction::Focus focus{static_cast<sdfg::TensorId>(t), wrong->lineage[t], {}, {}};
      found |= shape_reduction::SearchFocused(*wrong, {focus}, options).outcome ==
               shape_reduction::Witness::Outcome::kConfirmed;
    }
  }
  EXPECT_GT(places, 0);
  EXPECT_TRUE(found);
}

INSTANTIATE_TEST_SUITE_P(
    Models, FaultAtFullSize,
    testing::Values(
        Kind{"SumOverPartsOfTheSequence",
             Llama,
             "operator skipped",
             {"all_reduce (grad.layers", "norm.weight"},
             83},
        Kind{"SumOverContext",
             Llama,
             "operator skipped",
             {"all_reduce (grad.layers", ".o.weight"},
             37},
        Kind{"HeadsOffByOne", Llama, "wrong offset", {"view (layers.", "k_heads", "127"}, 839},
        Kind{"ShardsOffByOne", Llama, "wrong offset", {"chunk (layers.", "weight.shard"}, 64},
        Kind{"StrideOfRotaryPairs",
             Llama,
             "wrong offset",
             {"apply_rotary_emb (layers.", "q_rotary", "stride 2 is now 1"},
             597},
        // Beside the head's, squares of queries' and keys' gradients are below any rounding.
        Kind{"SquareOfKeys", Gpt, "wrong factor", {"grad_norm (square.layers", "k.weight"}, 160},
        Kind{"ProductOfALayersSquares", Gpt, "wrong arithmetic", {"add (squares.layers.1"}, 424},
        Kind{"TransposedWeights",
             DeepSeek,
             "exchanged indices",
             {"einsum (layers.", "mixed", "2 and 3 of x0"},
             71},
        Kind{"MaskedScoresForTheirGradient",
             Llama,
             "operator skipped",
             {"softmax.backward (layers.", "operand 0"},
             2775},
        Kind{"SequenceForHiddenSize",
             LlamaInTwoParts,
             "exchanged indices",
             {"add (layers.", ".attention_residual)", "1 and 2"},
             550},
        Kind{"PartOfTheSequence",
             Llama,
             "wrong offset",
             {"reduce_scatter (grad.layers.", "_heads)", "4095"},
             3365},
        Kind{"SumForAProduct",
             Llama,
             "wrong arithmetic",
             {"linear (layers.", "attention.part", "product is now a sum"},
             302},
        // Scores that large have no exponential.
        Kind{"SumForAProductInQueries",
             DeepSeek,
             "wrong arithmetic",
             {"linear (layers.", ".q)", "product is now a sum"},
             3950},
        Kind{"SoftmaxTimesItsSum",
             DeepSeek,
             "wrong arithmetic",
             {"softmax (layers.", "quotient is now a product"},
             525},
        Kind{"LastExpert", DeepSeek, "missing term", {"combine_tokens (", "over e"}, 2760},
        Kind{"LastColumn",
             DeepSeek,
             "missing term",
             {"grad_norm (square.layers.", "gate.weight", "over r2"},
             5531},
        Kind{"LastPosition", DeepSeek, "missing term", {"linear.backward (", "over b1"}, 382},
        Kind{"OneSquareOfANorm", DeepSeek, "wrong factor", {"grad_norm (square.layers."}, 36},
        Kind{"SquareOfANormsWeight",
             LargeDeepSeek,
             "missing term",
             {"grad_norm (square.layers.", "kv_norm.weight"},
             2078},
        Kind{"ProductOfSquares", DeepSeek, "wrong arithmetic", {"add (squares."}, 153},
        Kind{"GradientOfABranch", Gpt, "operator skipped", {"add (grad.layers.", ".output)"}, 2958},
        Kind{"SquaresOfALayer", Gpt, "operator skipped", {"add (squares.layers.1"}, 58},
        Kind{"ClippedWeightOfKeys",
             Gpt,
             "wrong factor",
             {"mul (clipped.layers.", ".k.weight"},
             1687},
        Kind{"SumOverBothZigzagBlocks",
             Qwen,
             "operator skipped",
             {"all_reduce (grad.", ".v.bias"},
             1362},
        Kind{"ClippedBiasOfQueries", Qwen, "operator skipped", {"mul (clipped.", ".q.bias"}, 1070},
        Kind{"BatchForSequence",
             LlamaWithoutMask,
             "exchanged indices",
             {"view (layers.", "0 and 1"},
             158},
        Kind{"BatchForSequenceInGradients",
             LlamaWithoutMask,
             "exchanged indices",
             {".backward (layers.", "0 and 1"},
             15},
        Kind{"GradientWithoutMask", LlamaWithoutMask, "wrong factor", {".q.weight"}, 357},
        Kind{"PublishedExchange", PublishedLlama, "exchanged indices", {"view (cell 63)"}, 1929},
        Kind{"PublishedStrideOfRows",
             PublishedMoe,
             "wrong offset",
             {"view (cell 99)", "is now 127"},
             219},
        Kind{"PublishedExchangeOfGradients",
             PublishedLlama,
             "exchanged indices",
             {"linear.backward (cell 297)", "0 and 1"},
             2072},
        Kind{"PublishedStride", PublishedLlama, "wrong offset", {"view (cell 62)", "127"}, 1628},
        Kind{"PublishedSoftmax", PublishedLlama, "operator skipped", {"softmax (cell 27)"}, 908},
        Kind{"PublishedSumOverCopies",
             PublishedMoe,
             "operator skipped",
             {"over copies (cell 2105)"},
             352},
        Kind{"PublishedSumOfRotaryPairs",
             PublishedMoe,
             "missing term",
             {"apply_rotary_emb.backward (cell 368)"},
             1809},
        Kind{"PublishedMaskInParts", PublishedMoe, "exchanged indices", {"chunk (cell 644)"}, 991},
        Kind{"PublishedOperandOfANorm", PublishedMoe, "wrong operand", {"pow (cell 50)"}, 1390}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace planproof::generator
