// `planproof monitor check`, `show` and `compare`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/cli/command_line.h"
#include "tests/monitor/journal_writer.h"
#include "tests/temporary_directory.h"

namespace planproof::cli {
namespace {

using monitor::JournalWriter;
using testing::HasSubstr;
using testing::StartsWith;

// A run of one rank; from step 3 on its gradients are not cleared if `broken`.
class MonitorCheck : public testing::Test {
 protected:
  void Write(bool broken, const std::string& damage = "") {
    JournalWriter writer;
    for (int64_t step = 0; step < 8; ++step) writer.PlainStep(step, !broken || step < 3);
    writer.bytes() += damage;
    if (damage.empty()) writer.Close(8);
    writer.WriteTo(directory_.path());
  }
  Finished Run(const std::string& command, const std::string& options = "") {
    return RunProgram(absl::StrCat("monitor ", command, " ", directory_.path(), " ", options));
  }

  TemporaryDirectory directory_{"monitor_check"};
};

TEST_F(MonitorCheck, AHealthyRunIsNoAlarm) {
  Write(false);
  const Finished run = Run("check");
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_THAT(run.output, StartsWith("NO ALARM: "));
}

TEST_F(MonitorCheck, AnAlarmNamesStepAndSubject) {
  Write(true);
  const Finished run = Run("check");
  EXPECT_EQ(run.exit_code, 1) << run.errors;
  EXPECT_THAT(run.output, StartsWith("ALARM: step 3: zero_grad: "));
  EXPECT_THAT(run.output, HasSubstr("in 4 later steps, the last is 7"));
  const std::string mute = TemporaryFile("mute", "gradients_cleared zero*\n");
  EXPECT_EQ(Run("check", "--mute " + mute).exit_code, 0);
}

TEST_F(MonitorCheck, AFileOfMutedRulesHasAMebibyteAtMost) {
  Write(true);
  std::string rules = "gradients_cleared zero*\n";
  rules.resize(size_t{1} << 20, '\n');
  EXPECT_EQ(Run("check", "--mute " + TemporaryFile("mute", rules)).exit_code, 0);
  const Finished longer = Run("check", "--mute " + TemporaryFile("mute", rules + "\n"));
  EXPECT_EQ(longer.exit_code, 2);
  EXPECT_THAT(longer.errors, HasSubstr("mute"));
}

TEST_F(MonitorCheck, JsonHasALineForEachAlarm) {
  Write(true);
  const std::string output = Run("check", "--follow --json -").output;
  const auto alarm = nlohmann::json::parse(output.substr(0, output.find('\n')))["alarm"];
  EXPECT_EQ(alarm["rule"], "gradients_cleared");
  EXPECT_EQ(alarm["tier"], "law");
  EXPECT_EQ(alarm["step"], 3);
  const size_t last = output.rfind('\n', output.size() - 2);
  const auto report = nlohmann::json::parse(output.substr(last + 1))["report"];
  EXPECT_EQ(report["exit_code"], 1);
  EXPECT_EQ(report["alarms"][0]["steps"], 5);
}

TEST_F(MonitorCheck, HtmlIsAPage) {
  Write(true);
  const Finished run = Run("check", "--html -");
  EXPECT_THAT(run.output, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(run.output, HasSubstr("gradients_cleared"));
}

TEST_F(MonitorCheck, DamageAndMissingFilesHaveCodesOfTheirOwn) {
  Write(false, std::string(200, '\1'));
  const Finished run = Run("check");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.errors, HasSubstr("rank00000.journal: at byte "));
  EXPECT_EQ(RunProgram("monitor check /nonexistent/run").exit_code, 64);
  EXPECT_EQ(RunProgram("monitor check").exit_code, 64);
  EXPECT_EQ(RunProgram("monitor").exit_code, 64);
}

TEST_F(MonitorCheck, ARunWithoutStepsIsNotChecked) {
  JournalWriter().WriteTo(directory_.path());
  const Finished run = Run("check");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.output, StartsWith("NOTHING CHECKED"));
}

TEST_F(MonitorCheck, ShowPrintsSteps) {
  Write(false);
  const Finished run = Run("show", "--step 2");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.output, HasSubstr("\n  step 2 at "));
  EXPECT_THAT(run.output, HasSubstr("gradients cleared SGD"));
  EXPECT_THAT(run.output, testing::Not(HasSubstr("step 3")));
}

TEST_F(MonitorCheck, CompareListsTheFirstCallThatDiffers) {
  Write(true);
  TemporaryDirectory reference("monitor_check_reference");
  JournalWriter writer;
  for (int64_t step = 0; step < 8; ++step) writer.PlainStep(step);
  writer.WriteTo(reference.path());
  const Finished run = Run("compare " + reference.path());
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_THAT(run.output, StartsWith("8 steps compared, 1 differences\n"));
  EXPECT_THAT(run.output, HasSubstr("step 3: calls: rank 0, call 0: gradients cleared SGD"));
}

}  // namespace
}  // namespace planproof::cli
