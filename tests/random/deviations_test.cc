// One operator instance deviates in plans of full dimensions, with few layers: found, with rank and
// operator. `deviation_campaign` does the same for the published plans.
#include "tests/random/deviations.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "tests/temporary_directory.h"

namespace planproof::random_tests {
namespace {

std::vector<std::string> Write(const generator::GeneratedPlans& plans, const std::string& name) {
  static const TemporaryDirectory own("deviations");
  const std::filesystem::path directory = std::filesystem::path(own.path()) / name;
  std::filesystem::create_directories(directory);
  std::vector<std::string> files = {directory / "logical.plan", directory / "parallel.plan"};
  EXPECT_TRUE(generator::WriteBinary(plans.logical, files[0]).ok());
  EXPECT_TRUE(generator::WriteBinary(plans.parallel, files[1]).ok());
  return files;
}

// Files of a plan with 2 or more layers, in the test's own directory.
std::vector<std::string> Written(const std::string& name, int64_t layers, int64_t tp,
                                 bool long_sequence = false) {
  absl::StatusOr<generator::ModelConfig> model = generator::NamedModel(name);
  EXPECT_TRUE(model.ok()) << model.status();
  model->layers = layers;
  if (long_sequence) model->sequence = model->heads * model->value_size;
  generator::Strategy strategy;
  strategy.data_parallel = 4;
  strategy.tensor_parallel = tp;
  strategy.pipeline_parallel = 2;
  strategy.microbatches = 4;
  const auto plans = generator::Generate(*model, generator::TrainingConfig(), strategy);
  EXPECT_TRUE(plans.ok()) << plans.status();
  return Write(*plans, name + (long_sequence ? "-long" : ""));
}

void ExpectAllFound(const std::vector<std::string>& files, int count) {
  DeviationTrials trials(files, files[1] + ".deviating");
  const absl::StatusOr<double> proof = trials.ProofSeconds(1);
  ASSERT_TRUE(proof.ok()) << proof.status();
  std::set<std::string> places;
  for (int seed = 1; seed <= count; ++seed) {
    const absl::StatusOr<DeviationTrial> trial = trials.Try(static_cast<uint64_t>(seed));
    ASSERT_TRUE(trial.ok()) << trial.status();
    EXPECT_TRUE(trial->Passed()) << stages::VerdictName(trial->verdict) << " "
                                 << trial->deviation.what << "\n"
                                 << trial->finding;
    places.insert(trial->deviation.what);
  }
  EXPECT_EQ(places.size(), static_cast<size_t>(count));
}

TEST(DeviationsTest, LlamaOfFullDimensions) { ExpectAllFound(Written("llama3-8b", 2, 2), 4); }

TEST(DeviationsTest, DeepSeekOfFullDimensions) {
  ExpectAllFound(Written("deepseek-v3-16b", 3, 4), 4);
}

// The sequence is as long as a dimension that ranks of tp share out: which positions are told apart
// has nothing to do with the rank that deviates. Most of these seeds draw terms of sums of squares
// and what runs inside of layers, which counts little beside all other gradients.
TEST(DeviationsTest, SequenceAsLongAsADimensionOfAWeight) {
  ExpectAllFound(Written("deepseek-v3-16b", 8, 4, /*long_sequence=*/true), 10);
}

// What deviates at one microbatch differs by less than enclosures are wide there, and is seen later
// only, where other causes would fit as well: the exception before it is named.
TEST(DeviationsTest, WhatOverlapsAtFirstIsNamed) {
  for (const generator::Preset& preset : generator::Presets()) {
    if (preset.name != "L3") continue;
    const auto model = generator::NamedModel(preset.model);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto plans = generator::Generate(*model, generator::TrainingConfig(), preset.strategy);
    ASSERT_TRUE(plans.ok()) << plans.status();
    const std::vector<std::string> files = Write(*plans, preset.name);
    DeviationTrials trials(files, files[1] + ".deviating");
    for (const uint64_t seed : {1, 14, 16}) {
      const absl::StatusOr<DeviationTrial> trial = trials.Try(seed);
      ASSERT_TRUE(trial.ok()) << trial.status();
      EXPECT_TRUE(trial->Passed()) << trial->deviation.what << "\n" << trial->finding;
    }
    return;
  }
  FAIL() << "no preset L3";
}

TEST(DeviationsTest, EveryKindFitsSomewhereAndChangesThePlan) {
  const std::vector<std::string> files = Written("llama3-8b", 2, 2);
  const auto problem = plan::ReadPlan(files, sdfg::OperatorLibrary::BuiltIn());
  ASSERT_TRUE(problem.ok()) << problem.status();
  for (const std::string& kind : mutation::DeviationKinds()) {
    absl::StatusOr<plan::PlanFile> file = plan::ReadPlanFile(files[1]);
    ASSERT_TRUE(file.ok());
    const auto deviation = mutation::DeviateAtRandom(&*file, *problem, 5, kind);
    ASSERT_TRUE(deviation.ok()) << kind << ": " << deviation.status();
    EXPECT_EQ(deviation->kind, kind);
    EXPECT_GE(deviation->device, 0);
    int exceptions = 0;
    for (const plan::Program& program : file->plan().programs()) {
      exceptions += program.exceptions_size();
      if (program.exceptions_size() == 0) continue;
      EXPECT_EQ(program.name(), deviation->program);
      EXPECT_EQ(program.exceptions(0).replace(), deviation->tensor);
    }
    EXPECT_EQ(exceptions, 1);
  }
}

}  // namespace
}  // namespace planproof::random_tests
