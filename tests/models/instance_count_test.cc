// The number of operator instances that a report states against scripts/count_instances.py, which
// counts them from the model and the strategy alone.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "strategy/verify.h"

namespace planproof::generator {
namespace {

// What the script prints: a number, or what went wrong.
std::string Counted(const std::string& arguments) {
  const std::string command =
      absl::StrCat("python3 ", PLANPROOF_SOURCE_DIR, "/scripts/count_instances.py ", arguments);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe.get())) != EOF;) {
    if (c != '\n') text.push_back(static_cast<char>(c));
  }
  return text;
}

struct Degrees {
  int64_t dp, tp, pp, microbatches;
  bool sequence_parallel;
};

class InstanceCountTest : public testing::TestWithParam<std::string> {};

TEST_P(InstanceCountTest, TheReportsCountIsThatOfTheConfiguration) {
  const auto model = NamedModel(GetParam());
  ASSERT_TRUE(model.ok()) << model.status();
  for (const Degrees& degrees : std::vector<Degrees>{{1, 1, 1, 1, false},
                                                     {3, 1, 1, 1, false},
                                                     {1, 1, 1, 3, false},
                                                     {1, 2, 1, 1, false},
                                                     {2, 2, 1, 1, true},
                                                     {2, 1, 2, 3, false},
                                                     {3, 2, 2, 2, false},
                                                     {3, 2, 2, 2, true}}) {
    Strategy strategy;
    strategy.data_parallel = degrees.dp;
    strategy.tensor_parallel = degrees.tp;
    strategy.pipeline_parallel = degrees.pp;
    strategy.microbatches = degrees.microbatches;
    strategy.sequence_parallel = degrees.sequence_parallel;
    if (degrees.dp == 3) strategy.loss_scale = "1024";
    const auto plans = Generate(*model, TrainingConfig(), strategy);
    ASSERT_TRUE(plans.ok()) << plans.status();
    auto problem = plan::BuildProblemFromFiles(
        {{"logical.plan", plans->logical}, {"parallel.plan", plans->parallel}},
        sdfg::OperatorLibrary::BuiltIn());
    ASSERT_TRUE(problem.ok()) << problem.status();
    const stages::Result result = strategy::Verify(*problem, stages::VerifyOptions());
    const std::string arguments =
        absl::StrCat("--model ", GetParam(), " --dp ", degrees.dp, " --tp ", degrees.tp, " --pp ",
                     degrees.pp, " --microbatches ", degrees.microbatches,
                     degrees.sequence_parallel ? " --sequence-parallel" : "",
                     degrees.dp == 3 ? " --loss-scale" : "");
    EXPECT_EQ(absl::StrCat(result.operators.parallel), Counted(arguments)) << arguments;
    // Nothing reads the scaled loss; the backward pass starts from its gradient.
    const int64_t unread = degrees.dp == 3 ? degrees.dp * degrees.microbatches : 0;
    EXPECT_EQ(result.operators.covered + unread, result.operators.parallel) << arguments;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, InstanceCountTest,
                         testing::Values("llama-tiny", "qwen-tiny", "gpt-tiny", "deepseek-tiny"),
                         [](const auto& info) {
                           return info.param.substr(0, info.param.find('-'));
                         });

}  // namespace
}  // namespace planproof::generator
