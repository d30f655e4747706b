// Schedules on the command line: what `verify --expect-schedule`, `show` and `convert` make of
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string Pipeline() { return RepositoryPath("examples/pipeline_1f1b.json"); }

TEST(ScheduleOnTheCommandLine, TheClaimedScheduleIsChecked) {
  EXPECT_EQ(RunProgram("verify -j 1 " + Pipeline() + " --expect-schedule 1f1b").exit_code, 0);
  const Finished other = RunProgram("verify -j 1 " + Pipeline() + " --expect-schedule gpipe");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.output, StartsWith("MALFORMED: not the schedule gpipe: program \"stage0\""));
  const Finished none = RunProgram("verify -j 1 " + RepositoryPath("examples/mlp_tp2.json") +
                                   " --expect-schedule 1f1b");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.output, HasSubstr("states no order of its instances"));
}

TEST(ScheduleOnTheCommandLine, ShowAndConvertKeepIt) {
  const std::string steps = "stage0: 9 steps in 3 phases: F0:0 F0:1 B0:0 F0:2 B0:1 F0:3 B0:2 B0:3";
  EXPECT_THAT(RunProgram("show " + Pipeline()).output, HasSubstr(steps));
  for (const std::string name : {"pipeline.plan", "pipeline.json"}) {
    const std::string converted = TemporaryFile(name, "");
    ASSERT_EQ(RunProgram("convert " + Pipeline() + " -o " + converted).exit_code, 0);
    EXPECT_THAT(RunProgram("show " + converted).output, HasSubstr(steps));
    EXPECT_EQ(RunProgram("verify -j 1 " + converted + " --expect-schedule 1f1b").exit_code, 0);
    EXPECT_EQ(RunProgram("verify -j 1 " + converted + " --expect-schedule gpipe").exit_code, 2);
  }
}

}  // namespace
}  // namespace planproof::cli
