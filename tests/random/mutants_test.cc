// Samples of the random mutants and of the perturbations (docs/random-suites.md has full counts).
#include <gtest/gtest.h>

#include <iostream>

#include "tests/random/mutant_trials.h"
#include "tests/random/perturbation.h"

namespace planproof::random_tests {
namespace {

absl::StatusOr<PlanPair> Example() {
  return LoadPlanFile(std::string(PLANPROOF_SOURCE_DIR) + "/examples/mlp_tp2.json",
                      {{256, 12}, {64, 8}, {16, 4}});
}

void TryMutants(const PlanPair& pair, int count, uint64_t seed) {
  MutantTrials trials(pair, {});
  const absl::StatusOr<MutantTrial> unchanged = trials.Unchanged();
  ASSERT_TRUE(unchanged.ok()) << unchanged.status();
  ASSERT_EQ(unchanged->verdict, stages::Verdict::kProved) << unchanged->reason;
  ASSERT_EQ(unchanged->twin, TwinVerdict::kEqual) << unchanged->twin_difference;
  MutantSummary summary;
  for (int k = 0; k < count; ++k) {
    const absl::StatusOr<MutantTrial> trial = trials.Try(seed + k);
    ASSERT_TRUE(trial.ok()) << trial.status();
    EXPECT_FALSE(trial->FalseProof())
        << "seed " << trial->seed << ": " << trial->what << ": " << trial->twin_difference;
    summary.Add(*trial);
  }
  std::cout << summary.Table();
  EXPECT_LE(2 * summary.by_verdict["MALFORMED"], count) << "too few are well-shaped";
  // A judge that calls everything equal would find no false proof.
  EXPECT_GT(summary.twin["REFUTED"]["different"] + summary.twin["UNKNOWN"]["different"], 0);
}

TEST(MutantsTest, NoMutantOfTheExampleIsProvedThatDiffers) {
  const absl::StatusOr<PlanPair> pair = Example();
  ASSERT_TRUE(pair.ok()) << pair.status();
  TryMutants(*pair, 100, 1);
}

TEST(MutantsTest, NoMutantOfThePublishedMlpIsProvedThatDiffers) {
  const absl::StatusOr<PlanPair> pair = LoadPublished("MLP");
  if (absl::IsNotFound(pair.status())) GTEST_SKIP() << pair.status().message();
  ASSERT_TRUE(pair.ok()) << pair.status();
  TryMutants(*pair, 20, 100);
}

// Every operator matters: nothing stays proved with a fresh symbol added to its output.
void TryPerturbations(const PlanPair& pair, bool distinct, size_t most) {
  const std::vector<Place> places = PerturbationPlaces(pair.problem, distinct);
  ASSERT_FALSE(places.empty());
  Perturbations trials(pair, 20, 20);
  const size_t step = std::max<size_t>(1, places.size() / most);
  for (size_t k = 0; k < places.size(); k += step) {
    const PerturbationTrial trial = trials.Try(places[k]);
    EXPECT_NE(trial.verdict, stages::Verdict::kMalformed) << trial.what << trial.difference;
    EXPECT_FALSE(trial.FalseProof()) << trial.what << ": " << trial.difference;
  }
}

TEST(PerturbationTest, EveryOperatorOfTheExampleMatters) {
  const absl::StatusOr<PlanPair> pair = Example();
  ASSERT_TRUE(pair.ok()) << pair.status();
  TryPerturbations(*pair, false, 1000);
}

TEST(PerturbationTest, OperatorsOfThePublishedPlansMatter) {
  for (const auto& [name, most] : {std::pair{"MLP", 20}, {"LLAMA", 1}}) {
    const absl::StatusOr<PlanPair> pair = LoadPublished(name);
    if (absl::IsNotFound(pair.status())) GTEST_SKIP() << pair.status().message();
    ASSERT_TRUE(pair.ok()) << pair.status();
    TryPerturbations(*pair, true, most);
  }
}

}  // namespace
}  // namespace planproof::random_tests
