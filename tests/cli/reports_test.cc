// Reports as files, and explanations of JSON reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string Broken() { return RepositoryPath("examples/mlp_tp2_broken.json"); }

TEST(Reports, AreWrittenAllAtOnce) {
  const std::string json = TemporaryFile("r.json", ""), html = TemporaryFile("r.html", ""),
                    sarif = TemporaryFile("r.sarif", ""), junit = TemporaryFile("r.xml", "");
  const Finished run = RunProgram("verify " + Broken() + " --json " + json + " --html " + html +
                                  " --sarif " + sarif + " --junit " + junit);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, StartsWith("REFUTED: stage y"));
  EXPECT_EQ(nlohmann::json::parse(ContentOf(json))["claims"].size(), 6u);
  EXPECT_THAT(ContentOf(html), StartsWith("<!DOCTYPE html>"));
  EXPECT_EQ(nlohmann::json::parse(ContentOf(sarif))["version"], "2.1.0");
  EXPECT_THAT(ContentOf(junit), StartsWith("<?xml"));
}

TEST(Reports, TakeStandardOutputForThemselves) {
  const Finished run = RunProgram("verify " + Broken() + " --sarif -");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(nlohmann::json::parse(run.output)["runs"].size(), 1u);
}

TEST(Reports, OfAPlanThatCannotBeReadAreWritten) {
  const std::string html = TemporaryFile("malformed.html", "");
  const Finished run = RunProgram(
      "verify " + RepositoryPath("examples/first_plan/wrong_name.json") + " --html " + html);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(ContentOf(html), HasSubstr("wrong_name.json:22"));
}

TEST(Reports, DoNotShareAFile) {
  const Finished run = RunProgram("verify " + Broken() + " --json - --junit -");
  EXPECT_EQ(run.exit_code, 64);
  EXPECT_EQ(run.errors,
            "planproof: two reports go to standard output: give each a file of its own\n");
}

TEST(Reports, ThatCannotBeWrittenAreAnError) {
  const Finished run = RunProgram("verify " + Broken() + " --html /nowhere/r.html");
  EXPECT_EQ(run.exit_code, 64);
  EXPECT_THAT(run.errors, HasSubstr("planproof: cannot write /nowhere/r.html\n"));
}

TEST(Explain, PrintsWhatVerifyPrinted) {
  for (const char* plan : {"examples/mlp_tp2_broken.json", "examples/mlp_tp2.json",
                           "examples/pipeline_1f1b_broken.json"}) {
    const std::string json = TemporaryFile("explained.json", "");
    const Finished verified = RunProgram("verify " + RepositoryPath(plan) + " --json " + json);
    const Finished explained = RunProgram("explain " + json);
    EXPECT_EQ(explained.exit_code, 0);
    EXPECT_EQ(explained.output, verified.output) << plan;
  }
}

TEST(Explain, PrintsOneStage) {
  const std::string json = TemporaryFile("explained.json", "");
  RunProgram("verify " + Broken() + " --json " + json);
  const Finished fault = RunProgram("explain " + json + " y");
  EXPECT_EQ(fault.exit_code, 0);
  EXPECT_THAT(fault.output, StartsWith("REFUTED: stage y: sum over tp missing\n  logical "));
  EXPECT_THAT(fault.output, HasSubstr("\nstage y: refuted\n"));
  EXPECT_THAT(RunProgram("explain " + json + " grad.w1").output,
              HasSubstr("stage grad.w1: after fault"));
}

TEST(Explain, SaysInOneLineWhatIsWrong) {
  const std::string json = TemporaryFile("explained.json", "");
  RunProgram("verify " + Broken() + " --json " + json);
  const Finished unknown = RunProgram("explain " + json + " grad.w3");
  EXPECT_EQ(unknown.exit_code, 64);
  EXPECT_THAT(unknown.errors, HasSubstr("the report knows no stage grad.w3; did you mean grad.w"));
  const Finished missing = RunProgram("explain /nowhere/report.json");
  EXPECT_EQ(missing.exit_code, 64);
  const Finished plan = RunProgram("explain " + Broken());
  EXPECT_EQ(plan.exit_code, 64);
  EXPECT_THAT(plan.errors, HasSubstr("this is JSON, but no report"));
  const std::string damaged =
      TemporaryFile("damaged.json", "{\"verdict\": \"PROVED\", \"files\": [1]}");
  const Finished wrong = RunProgram("explain " + damaged);
  EXPECT_EQ(wrong.exit_code, 64);
  EXPECT_EQ(wrong.errors, "planproof: " + damaged + ": no report: /files/0 is to be text\n");
}

}  // namespace
}  // namespace planproof::cli
