// Evaluation in enclosures, and the search that rests on it, on generated plans.
#include "shape_reduction/focused_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "mutation/deviation.h"
#include "shape_reduction/domain_floating.h"
#include "shape_reduction/focused_evaluation.h"
#include "shape_reduction/problem_evaluation.h"

namespace planproof::generator {
namespace {

using shape_reduction::Focus;
using shape_reduction::FocusedEvaluation;
using shape_reduction::Witness;
using shape_reduction::WorkClock;

// Longer than what is cut at every position.
constexpr int64_t kSequence = 48;

std::vector<std::pair<std::string, plan::PlanFile>> Files(const std::string& name,
                                                          int64_t vocabulary = 0) {
  absl::StatusOr<ModelConfig> model = NamedModel(name);
  EXPECT_TRUE(model.ok()) << model.status();
  model->sequence = kSequence;
  if (vocabulary > 0) model->vocabulary = vocabulary;
  Strategy strategy;
  strategy.data_parallel = 2;
  strategy.tensor_parallel = 2;
  strategy.microbatches = 2;
  const auto plans = Generate(*model, TrainingConfig(), strategy);
  EXPECT_TRUE(plans.ok()) << plans.status();
  return {{"logical.plan", plans->logical}, {"parallel.plan", plans->parallel}};
}

lineage::Problem Built(const std::vector<std::pair<std::string, plan::PlanFile>>& files) {
  auto problem = plan::BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn());
  EXPECT_TRUE(problem.ok()) << problem.status();
  return *std::move(problem);
}

Focus At(const lineage::Problem& problem, const std::string& tensor) {
  for (size_t t = 0; t < problem.parallel.tensors.size(); ++t) {
    if (problem.parallel.tensors[t].name == tensor) {
      return {static_cast<sdfg::TensorId>(t), problem.lineage[t], {}, {}};
    }
  }
  ADD_FAILURE() << "no tensor " << tensor;
  return {};
}

class EnclosureTest : public testing::TestWithParam<const char*> {};

// Every element of every tensor, computed in doubles with all positions apart, lies in the
// enclosure of its block.
TEST_P(EnclosureTest, HoldsEveryElement) {
  const lineage::Problem problem = Built(Files(GetParam()));
  // At a sum of gradients parameters are scaled otherwise.
  const Focus focuses[] = {At(problem, "layers.1.q_heads"), At(problem, "grad_norm")};
  FocusedEvaluation enclosed(problem);
  int compared = 0, wide = 0;
  for (uint64_t turn = 0; turn < 8; ++turn) {
    std::string message;
    ASSERT_TRUE(
        enclosed.Run(focuses[turn / 4], turn % 4, 1 << 20, WorkClock::time_point::max(), &message))
        << message;
    shape_reduction::ProgramCache programs;
    shape_reduction::ProblemEvaluation<shape_reduction::DoubleDomain> exact(problem, &programs);
    shape_reduction::ReducedOptions options;
    ASSERT_TRUE(exact.EvaluateLogical(enclosed.inputs(), options).ok());
    ASSERT_TRUE(exact.EvaluateParallel(options).ok());
    for (const bool logical : {true, false}) {
      const auto& outer = logical ? enclosed.logical() : enclosed.parallel();
      const auto& inner = logical ? exact.logical() : exact.parallel();
      for (size_t t = 0; t < outer.size(); ++t) {
        if (outer[t] == nullptr || inner[t] == nullptr || inner[t]->int_valued) continue;
        const size_t rank = inner[t]->dims.size();
        std::vector<std::vector<int64_t>> points;
        for (const auto& dim : inner[t]->dims) points.push_back(dim->Representatives());
        for (size_t k = 0; k < inner[t]->values.size(); ++k) {
          std::vector<int64_t> index(rank);
          size_t rest = k;
          for (size_t d = rank; d-- > 0;) {
            index[d] = points[d][rest % points[d].size()];
            rest /= points[d].size();
          }
          const double x = inner[t]->values[k];
          if (std::isnan(x)) continue;  // a tie
          const auto& range = outer[t]->values[outer[t]->Offset(index)];
          if (std::isinf(x)) {  // masked
            ASSERT_EQ(range.lo, x);
            continue;
          }
          const double slack = 1e-9 * (1 + std::fabs(x));
          ASSERT_GE(x, range.lo - slack) << problem.logical.tensors[t].name;
          ASSERT_LE(x, range.hi + slack) << problem.logical.tensors[t].name;
          ++compared;
          wide += range.hi - range.lo > 1e-3;
        }
      }
    }
  }
  EXPECT_GT(compared, 10000);
  EXPECT_GT(wide, 100);  // positions were compared without cutting at each
}

// Whatever is suspected, a plan that is right is not refuted.
TEST_P(EnclosureTest, NothingIsFoundInAPlanThatIsRight) {
  const lineage::Problem problem = Built(Files(GetParam()));
  shape_reduction::WitnessOptions options;
  options.attempts = 16;  // of every kind, each branch in turn
  for (const char* suspect : {"embedding", "layers.1.q_heads", "layers.1.mixed", "layers.0.output",
                              "squares.layers.1", "clip.norm", "grad_norm"}) {
    const Witness witness =
        shape_reduction::SearchFocused(problem, {At(problem, suspect)}, options);
    EXPECT_EQ(witness.outcome, Witness::Outcome::kNone) << suspect;
    EXPECT_GE(witness.attempts, 4) << suspect << ": " << witness.message;
  }
}

// A plan that differs outside of the model's domain alone is not wrong: nothing is tried there.
TEST_P(EnclosureTest, IdsAreRowsOfTheirTable) {
  constexpr int64_t kVocabulary = 512;
  const lineage::Problem problem = Built(Files(GetParam(), kVocabulary));
  FocusedEvaluation evaluation(problem);
  int64_t ids = 0, last = 0;
  for (const char* suspect : {"embedding", "layers.1.mixed", "squares.layers.1"}) {
    for (uint64_t attempt = 0; attempt < 24; ++attempt) {
      std::string message;
      evaluation.Run(At(problem, suspect), attempt, 1 << 20, WorkClock::time_point::max(),
                     &message);
      for (const auto& input : evaluation.inputs()) {
        if (input == nullptr) continue;
        for (const int64_t id : input->ints) {
          ASSERT_GE(id, 0) << suspect << ", attempt " << attempt;
          ASSERT_LT(id, kVocabulary) << suspect << ", attempt " << attempt;
          ++ids;
          last += id == kVocabulary - 1;
        }
      }
    }
  }
  EXPECT_GT(ids, 1000);
  EXPECT_GT(last, 10);  // its end is tried
}

TEST_P(EnclosureTest, ADeviationIsFoundAtItsPlace) {
  const lineage::Problem right = Built(Files(GetParam()));
  int found = 0;
  for (uint64_t seed = 1; seed < 100 && found < 3; ++seed) {
    auto files = Files(GetParam());
    const auto deviation = mutation::DeviateAtRandom(&files[1].second, right, seed, "wrong factor");
    ASSERT_TRUE(deviation.ok()) << deviation.status();
    const lineage::Problem problem = Built(files);
    const Focus focus = At(problem, deviation->tensor);
    if (focus.lineage.kind != lineage::LineageKind::kFull) continue;  // partial: no claim
    const Witness witness = shape_reduction::SearchFocused(problem, {focus}, {});
    EXPECT_EQ(witness.outcome, Witness::Outcome::kConfirmed) << deviation->what;
    EXPECT_TRUE(witness.logical_high < witness.parallel_low ||
                witness.parallel_high < witness.logical_low);
    ++found;
  }
  EXPECT_EQ(found, 3);
}

// A shard of a large vocabulary that begins or ends one row further: only the ids at its edges show
// it.
TEST_P(EnclosureTest, ARangeThatIsOffByOneIsFound) {
  constexpr int64_t kVocabulary = 65536;
  const lineage::Problem right = Built(Files(GetParam(), kVocabulary));
  std::set<std::string> places;
  for (uint64_t seed = 1; seed < 100 && places.size() < 3; ++seed) {
    auto files = Files(GetParam(), kVocabulary);
    const auto deviation = mutation::DeviateAtRandom(&files[1].second, right, seed, "wrong offset");
    ASSERT_TRUE(deviation.ok()) << deviation.status();
    if (deviation->tensor.find("vocabulary.target_logit") == std::string::npos ||
        !places.insert(deviation->what).second) {
      continue;
    }
    const lineage::Problem problem = Built(files);
    const Witness witness = shape_reduction::SearchFocused(problem, {At(problem, "loss")}, {});
    EXPECT_EQ(witness.outcome, Witness::Outcome::kConfirmed) << deviation->what;
  }
  EXPECT_EQ(places.size(), 3u);
}

// Of 256 experts, chosen by scores and a bias.
std::vector<std::pair<std::string, plan::PlanFile>> FilesOfManyExperts(const Strategy& strategy) {
  absl::StatusOr<ModelConfig> model = NamedModel("deepseek-v3-16b");
  EXPECT_TRUE(model.ok()) << model.status();
  model->layers = 3;
  model->sequence = kSequence;
  model->routed_experts = 256;
  model->sigmoid_gate = model->gate_bias = true;
  const auto plans = Generate(*model, TrainingConfig(), strategy);
  EXPECT_TRUE(plans.ok()) << plans.status();
  return {{"logical.plan", plans->logical}, {"parallel.plan", plans->parallel}};
}

// A shard of many experts that begins one further: it shows where an expert at its edge is chosen,
// and few are chosen of those.
TEST(RankedExperts, AShardThatIsOffByOneIsFound) {
  Strategy strategy;
  strategy.data_parallel = 2;
  strategy.tensor_parallel = 4;
  const auto right = FilesOfManyExperts(strategy);
  const lineage::Problem built = Built(right);
  int places = 0;
  for (uint64_t seed = 1; seed < 2000 && places < 2; ++seed) {
    auto files = right;
    const auto deviation = mutation::DeviateAtRandom(&files[1].second, built, seed, "wrong offset");
    ASSERT_TRUE(deviation.ok()) << deviation.status();
    const size_t end = deviation->tensor.find(".routed_tokens.part");
    if (end == std::string::npos || deviation->what.find("range") == std::string::npos) continue;
    ++places;
    const lineage::Problem problem = Built(files);
    shape_reduction::WitnessOptions options;
    options.attempts = 12;
    const Focus focus = At(problem, deviation->tensor.substr(0, end) + ".routed");
    EXPECT_EQ(shape_reduction::SearchFocused(problem, {focus}, options).outcome,
              Witness::Outcome::kConfirmed)
        << deviation->what;
  }
  EXPECT_EQ(places, 2);
}

// What one rank adds to a norm of gradients shows where one of its experts is chosen.
TEST(RankedExperts, AnExpertOfARankThatDeviatesIsChosen) {
  Strategy strategy;
  strategy.data_parallel = 8;
  strategy.tensor_parallel = 4;
  strategy.zero = 1;
  const auto right = FilesOfManyExperts(strategy);
  const lineage::Problem built = Built(right);
  int places = 0;
  for (uint64_t seed = 280; seed < 4000 && places < 1; ++seed) {
    auto files = right;
    const auto deviation = mutation::DeviateAtRandom(&files[1].second, built, seed, "wrong sign");
    ASSERT_TRUE(deviation.ok()) << deviation.status();
    const std::string& tensor = deviation->tensor;
    if (!tensor.starts_with("square.layers.") || !tensor.ends_with(".routed.up.weight.part"))
      continue;
    ++places;
    const lineage::Problem problem = Built(files);
    shape_reduction::WitnessOptions options;
    options.attempts = 8;
    const std::string layer = tensor.substr(0, tensor.find(".routed")).substr(strlen("square."));
    const Focus focus = At(problem, "squares." + layer);
    EXPECT_EQ(shape_reduction::SearchFocused(problem, {focus}, options).outcome,
              Witness::Outcome::kConfirmed)
        << deviation->what;
  }
  EXPECT_EQ(places, 1);
}

// What one rank adds to a norm of all gradients shows where branches of the layers are open whose
// gradients it adds up: the difference names their sums.
TEST(NormOfGradients, LayersOfWhichTheDifferenceIsMadeAreOpen) {
  const Preset& preset = Presets().back();
  const absl::StatusOr<ModelConfig> model = NamedModel(preset.model);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto plans = Generate(*model, TrainingConfig(), preset.strategy);
  ASSERT_TRUE(plans.ok()) << plans.status();
  std::vector<std::pair<std::string, plan::PlanFile>> files = {{"logical.plan", plans->logical},
                                                               {"parallel.plan", plans->parallel}};
  const lineage::Problem right = Built(files);
  // Of stage 0, which holds 7 layers: those of the last three.
  const auto deviation = mutation::DeviateAtRandom(&files[1].second, right, 170043);
  ASSERT_TRUE(deviation.ok()) << deviation.status();
  ASSERT_EQ(deviation->tensor, "squares.stage.sum1") << deviation->what;
  const lineage::Problem problem = Built(files);
  Focus focus = At(problem, "stage0:grad_norm.squared");
  for (size_t t = 0; t < problem.logical.tensors.size(); ++t) {
    const std::string& name = problem.logical.tensors[t].name;
    if (name == "squares.layers.6" || name == "squares.2.layers.2")
      focus.mentioned.push_back(static_cast<sdfg::TensorId>(t));
  }
  ASSERT_EQ(focus.mentioned.size(), 2);
  shape_reduction::WitnessOptions options;
  options.attempts = 8;
  EXPECT_EQ(shape_reduction::SearchFocused(problem, {focus}, options).outcome,
            Witness::Outcome::kConfirmed);
}

// A causal mask of +infinity: softmax has no value. That counts only where it is asked for.
TEST_P(EnclosureTest, AMaskOfTheOtherSignLeavesThePlanWithoutAValue) {
  const lineage::Problem right = Built(Files(GetParam()));
  for (uint64_t seed = 1; seed < 2000; ++seed) {
    auto files = Files(GetParam());
    const auto deviation = mutation::DeviateAtRandom(&files[1].second, right, seed, "wrong sign");
    ASSERT_TRUE(deviation.ok()) << deviation.status();
    const std::string& tensor = deviation->tensor;
    if (!tensor.ends_with(".masked") || tensor.find("grad.") != std::string::npos) continue;
    const lineage::Problem problem = Built(files);
    const Focus focus = At(problem, deviation->tensor);
    shape_reduction::WitnessOptions options;
    Witness witness = shape_reduction::SearchFocused(problem, {focus}, options);
    EXPECT_EQ(witness.outcome, Witness::Outcome::kNone);
    EXPECT_TRUE(witness.undefined_seen);
    options.undefined_counts = true;
    witness = shape_reduction::SearchFocused(problem, {focus}, options);
    ASSERT_EQ(witness.outcome, Witness::Outcome::kConfirmed) << witness.message;
    EXPECT_EQ(witness.parallel_value, "undefined");
    EXPECT_TRUE(std::isfinite(witness.logical_low) && std::isfinite(witness.logical_high));
    EXPECT_EQ(witness.undefined.by, shape_reduction::UndefinedBy::kInfinityByInfinity);
    const std::string& at = problem.parallel.tensors[witness.undefined.tensor].name;
    EXPECT_TRUE(at.ends_with(".weights")) << at;
    // What is shown to be right wherever it has a value is no place of a difference.
    options.proved = {witness.undefined.tensor};
    options.attempts = 4;
    EXPECT_EQ(shape_reduction::SearchFocused(problem, {focus}, options).outcome,
              Witness::Outcome::kNone);
    return;
  }
  FAIL() << "no mask is negated";
}

INSTANTIATE_TEST_SUITE_P(Models, EnclosureTest,
                         testing::Values("llama-tiny", "deepseek-tiny", "gpt-tiny"),
                         [](const auto& info) {
                           std::string name = info.param;
                           return name.substr(0, name.find('-'));
                         });

}  // namespace
}  // namespace planproof::generator
