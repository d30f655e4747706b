// One operator instance deviates in plans of full dimensions, with few layers: found, with rank and
// operator. `deviation_campaign` does the same for the published plans.
#include "tests/random/deviations.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "frontend/models/generate.h"
#include "frontend/plan/read_plan.h"

namespace planproof::random_tests {
namespace {

// Files of a plan with 2 or more layers, in the test's own directory.
std::vector<std::string> Written(const std::string& name, int64_t layers, int64_t tp) {
  absl::StatusOr<models::ModelConfig> model = models::NamedModel(name);
  EXPECT_TRUE(model.ok()) << model.status();
  model->layers = layers;
  models::Strategy strategy;
  strategy.data_parallel = 4;
  strategy.tensor_parallel = tp;
  strategy.pipeline_parallel = 2;
  strategy.microbatches = 4;
  const auto plans = models::Generate(*model, models::TrainingConfig(), strategy);
  EXPECT_TRUE(plans.ok()) << plans.status();
  const std::filesystem::path directory = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::create_directories(directory);
  std::vector<std::string> files = {directory / "logical.plan", directory / "parallel.plan"};
  EXPECT_TRUE(models::WriteBinary(plans->logical, files[0]).ok());
  EXPECT_TRUE(models::WriteBinary(plans->parallel, files[1]).ok());
  return files;
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
