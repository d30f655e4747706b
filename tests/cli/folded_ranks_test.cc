// Plans of nnScaler for more devices than were published: every rank is spelled out.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

// GPT over `degree` devices, with a deviation ("KIND:SEED") or without; empty where the published
// plans or python3 are not there.
std::string WidenedGpt(int degree, const std::string& deviation) {
  const std::string shape = "_nm1_gbs16_dim1024_ly2_h16_hi1024_sq1024.pkl";
  const std::string model = SharedPlan("gpt_mgener_dp1_pp1_tp1" + shape);
  const std::string plan = SharedPlan("gpt_mgener_dp1_pp1_tp2" + shape);
  if (model.empty() || plan.empty()) return "";
  const std::string marker = TemporaryFile("widened.txt", "");
  const std::string directory = marker.substr(0, marker.rfind('/')) + "/gpt" + deviation;
  std::string command = "python3 -B " + RepositoryPath("tests/frontend/widen_nnscaler_plan.py") +
                        " " + model + " " + plan + " --tp " + std::to_string(degree) + " --out " +
                        directory;
  if (!deviation.empty()) command += " --deviate " + deviation;
  if (RunCommand(command).exit_code != 0) return "";
  return directory + "/logical.pkl " + directory + "/tp" + std::to_string(degree) + ".pkl";
}

TEST(FoldedRanks, EightRanksOfGptAreProvedAndEveryInstanceIsCounted) {
  const std::string files = WidenedGpt(8, "");
  if (files.empty()) GTEST_SKIP() << "published plans are not here";
  const Finished finished = RunProgram("verify --no-cache --jobs 2 " + files);
  EXPECT_EQ(finished.exit_code, 0) << finished.output << finished.errors;
  EXPECT_NE(finished.output.find("1,544 parallel, 1,544 covered"), std::string::npos)
      << finished.output;
}

TEST(FoldedRanks, OneDeviatingRankIsRefutedWithItsOperatorAndDevice) {
  const std::string files = WidenedGpt(8, "constant:3");
  if (files.empty()) GTEST_SKIP() << "published plans are not here";
  const Finished finished = RunProgram("verify --no-cache --jobs 2 " + files);
  EXPECT_EQ(finished.exit_code, 1) << finished.output << finished.errors;
  EXPECT_NE(finished.output.find("a constant of layernorm"), std::string::npos) << finished.output;
  EXPECT_NE(finished.output.find("; device 3;"), std::string::npos) << finished.output;
}

TEST(FoldedRanks, AnotherOrderOnOneRankIsStillProved) {
  const std::string files = WidenedGpt(4, "order:1");
  if (files.empty()) GTEST_SKIP() << "published plans are not here";
  EXPECT_EQ(RunProgram("verify --no-cache --jobs 2 -q " + files).exit_code, 0);
  EXPECT_EQ(RunProgram("verify --no-cache --jobs 2 -q --no-fold " + files).exit_code, 0);
}

}  // namespace
}  // namespace planproof::cli
