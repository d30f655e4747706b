// --witness-out FILE.npz: the stage that is wrong as a script, which gives what verify says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cli/command_line.h"
#include "tests/numpy_python.h"
#include "tests/temporary_directory.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kNoPython[] = "no Python with NumPy: apt-get install python3-numpy";
const char* const kNumber = "(-?[0-9.]+(?:e[-+][0-9]+)?|-?inf|nan)";

// The numbers that two groups of a pattern match in a text; NaN if it does not.
std::pair<double, double> Numbers(const std::string& text, const std::string& pattern) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(pattern))) return {NAN, NAN};
  return {std::atof(found[1].str().c_str()), std::atof(found[2].str().c_str())};
}

// The model's value and the plan's, as verify prints them: of the stage's tensor, or of the output
// if that is it.
std::pair<double, double> Reported(const std::string& report) {
  const auto stage =
      Numbers(report, absl::StrCat("that is .* is ", kNumber, ", the model's is ", kNumber));
  if (!std::isnan(stage.first)) return {stage.second, stage.first};
  return Numbers(report, absl::StrCat("witness .*: logical ", kNumber, ", parallel ", kNumber));
}

std::pair<double, double> Computed(const std::string& output) {
  return Numbers(output,
                 absl::StrCat("the model's .* = ", kNumber, "\nthe plan's .* = ", kNumber, "\n"));
}

void RunAndCompare(const std::string& python, const std::string& plan, int64_t* lines) {
  const TemporaryDirectory directory("stage_script");
  const std::string file = directory.path() + "w";
  const Finished verified =
      RunProgram(absl::StrCat("verify --no-cache ", plan, " --witness-out ", file, ".npz"));
  ASSERT_THAT(verified.output, StartsWith("REFUTED: stage "));
  ASSERT_EQ(verified.errors, "");
  *lines = std::atol(RunCommand("wc -l < " + file + ".py").output.c_str());
  const Finished run = RunCommand("'" + python + "' " + file + ".py");
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(run.errors, "");
  EXPECT_THAT(run.output, testing::EndsWith("they differ\n"));
  const auto wanted = Reported(verified.output), found = Computed(run.output);
  // Printed with six digits.
  EXPECT_NEAR(found.first, wanted.first, 1e-5 * std::fabs(wanted.first) + 1e-12) << run.output;
  EXPECT_NEAR(found.second, wanted.second, 1e-5 * std::fabs(wanted.second) + 1e-12) << run.output;
}

// Of the script; `plan` is what verify reads.
int64_t ExpectTheScriptAgrees(const std::string& python, const std::string& plan) {
  int64_t lines = 0;
  RunAndCompare(python, plan, &lines);
  return lines;
}

TEST(StageScript, TheCatalogueGivesTheValuesThatVerifyReports) {
  const std::string python = NumpyPython();
  if (python.empty()) GTEST_SKIP() << kNoPython;
  const std::vector<std::pair<std::string, std::string>> bugs = {
      {"BR1", "llama-tiny --dp 2 --tp 2 --pp 2 --microbatches 2"},
      {"BR9", "llama-tiny --dp 2 --tp 2"},
      {"BR10", "llama-tiny --tp 2"},
      {"BR14", "llama-tiny --dp 2 --tp 2 --pp 2 --microbatches 2"},
      {"C1", "llama-tiny --cp 2"},
      {"GG2", "deepseek-tiny --tp 2 --sequence-parallel"},
      {"GG6", "llama-tiny --microbatches 2"},
      {"TT1", "llama-tiny --tp 2"},
      {"TT6", "deepseek-tiny --cp 2"},
      {"TT9", "llama-tiny --dp 2 --zero 1"},
      {"TT13", "llama-tiny --cp 2 --sequences 2"},
      {"X1", "llama-tiny --dp 2"},
      {"X4", "llama-tiny --dp 2 --cp 2 --zero 2"}};
  const TemporaryDirectory directory("stage_script_bugs");
  const std::string& path = directory.path();
  for (const auto& [kind, plan] : bugs) {
    SCOPED_TRACE(kind);
    ASSERT_EQ(RunProgram(absl::StrCat("generate --model ", plan, " --output ", path)).exit_code, 0);
    ASSERT_EQ(RunProgram(absl::StrCat("mutate ", path, "logical.plan ", path,
                                      "parallel.plan --kind ", kind, " -o ", path, "b.plan"))
                  .exit_code,
              0);
    ExpectTheScriptAgrees(python, path + "b.plan");
  }
}

TEST(StageScript, BrokenExamplesGiveTheValuesThatVerifyReports) {
  const std::string python = NumpyPython();
  if (python.empty()) GTEST_SKIP() << kNoPython;
  for (const char* plan :
       {"first_plan/missing_sum.json", "bugs/GG2_broken.json", "bugs/GG3_broken.json",
        "bugs/GG4_broken.json", "bugs/X2_broken.json", "bugs/X7_broken.json"}) {
    SCOPED_TRACE(plan);
    ExpectTheScriptAgrees(python, RepositoryPath(absl::StrCat("examples/", plan)));
  }
}

// A recorded program says nothing of what lies between inputs and outputs; what was proved of it
// makes the stage short.
TEST(StageScript, AStageOfARecordedProgramStartsWithWhatWasProved) {
  const std::string python = NumpyPython();
  if (python.empty()) GTEST_SKIP() << kNoPython;
  const std::string traces =
      RepositoryPath("tests/torch/fault_traces/labels_of_another_microbatch");
  const int64_t lines = ExpectTheScriptAgrees(
      python, absl::StrCat(traces, "/reference.trace ", traces, "/rank*.trace"));
  EXPECT_GT(lines, 10);
  EXPECT_LT(lines, 200);  // the whole has 1,240
}

// Names of a plan are data: none becomes code, whatever is in it.
TEST(StageScript, NoNameOfAPlanIsRun) {
  const std::string evil = R"(x\"\"\"; __import__('os').system('touch owned') #\"\"\"')\\)";
  const std::string plan = absl::StrCat(R"({"planproof": 1,
  "specification": {"inputs": {")",
                                        evil, R"(": [4, 8]}, "parameters": {"w": [2, 8]},
    "operators": [{"op": "linear", "in": [")",
                                        evil, R"(", "w"], "out": "y", "source": ")", evil, R"("}],
    "outputs": {"y": {}}},
  "plan": {"mesh": {"tp": 2}, "programs": [{
    "inputs": {")",
                                        evil, R"(": {"1": "tp"}, "w": {"1": "tp"}},
    "operators": [{"op": "linear", "in": [")",
                                        evil, R"(", "w"], "out": "y"}]}]}})");
  const TemporaryDirectory directory("stage_script_names");
  const std::string file = TemporaryFile("evil_plan.json", plan);
  const Finished verified = RunProgram(
      absl::StrCat("verify --no-cache ", file, " --witness-out ", directory.path(), "w.npz"));
  ASSERT_THAT(verified.output, StartsWith("REFUTED")) << verified.errors;
  const std::string python = NumpyPython();
  if (python.empty()) GTEST_SKIP() << kNoPython;
  const Finished run = RunCommand("cd " + directory.path() + " && '" + python + "' w.py");
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("they differ"));
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "owned"));
}

TEST(StageScript, FilesThatCannotBeWrittenAreAnError) {
  const Finished run = RunProgram(
      absl::StrCat("verify --no-cache ", RepositoryPath("examples/first_plan/missing_sum.json"),
                   " --witness-out /nowhere/w.npz"));
  EXPECT_EQ(run.exit_code, 64);
  EXPECT_THAT(run.errors, HasSubstr("/nowhere/w.npz"));
}

// The verdict is given all the same.
TEST(StageScript, OfAPlanThatIsTooLargeThereIsNone) {
  const std::string plan = TemporaryFile("large_plan.json", R"({"planproof": 1,
  "specification": {"inputs": {"x": [16384, 16384]}, "parameters": {"w": [2, 16384]},
    "operators": [{"op": "linear", "in": ["x", "w"], "out": "y"}], "outputs": {"y": {}}},
  "plan": {"mesh": {"tp": 2}, "programs": [{
    "inputs": {"x": {"1": "tp"}, "w": {"1": "tp"}},
    "operators": [{"op": "linear", "in": ["x", "w"], "out": "y"}]}]}})");
  const TemporaryDirectory directory("stage_script_large");
  const Finished run = RunProgram(
      absl::StrCat("verify --no-cache ", plan, " --witness-out ", directory.path(), "w.npz"));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, StartsWith("REFUTED"));
  EXPECT_THAT(run.errors, HasSubstr("more than the limit"));
  EXPECT_THAT(run.errors, HasSubstr("it is not written"));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(StageScript, WithoutACounterexampleNothingIsWritten) {
  const TemporaryDirectory directory("stage_script_none");
  const Finished run =
      RunProgram(absl::StrCat("verify --no-cache ", RepositoryPath("examples/first_plan/plan.json"),
                              " --witness-out ", directory.path(), "w.npz"));
  EXPECT_THAT(run.errors, HasSubstr("is not written"));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace planproof::cli
