// `planproof mutate`: one fault, said aloud, and found again by `verify`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "tests/cli/command_line.h"
#include "tests/cli/plans.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;

TEST(Mutate, AMissingSumIsNamedAndRefuted) {
  const std::string plan = TemporaryFile("right.json", RowParallelPlan());
  const std::string broken = TemporaryFile("broken.plan", "");
  const Finished mutated = RunProgram("mutate " + plan + " --kind BR1 -o " + broken);
  ASSERT_EQ(mutated.exit_code, 0) << mutated.errors;
  EXPECT_THAT(mutated.output, HasSubstr("all_reduce"));
  EXPECT_EQ(RunProgram("verify " + broken).exit_code, 1);
}

TEST(Mutate, ARemovedOperatorLeavesADanglingTensor) {
  const std::string plan = TemporaryFile("right.json", RowParallelPlan());
  const std::string broken = TemporaryFile("broken.plan", "");
  ASSERT_EQ(RunProgram("mutate " + plan + " --kind BR2 -o " + broken).exit_code, 0);
  EXPECT_EQ(RunProgram("verify " + broken).exit_code, 2);
}

TEST(Mutate, TwoProducersAreMalformed) {
  const std::string plan = TemporaryFile("right.json", RowParallelPlan());
  const std::string broken = TemporaryFile("broken.plan", "");
  ASSERT_EQ(RunProgram("mutate " + plan + " --kind C2 -o " + broken).exit_code, 0);
  const Finished finished = RunProgram("verify " + broken);
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.output, HasSubstr("produced by"));
}

TEST(Mutate, TheSeedDecidesAndIsRepeatable) {
  const std::string plan = TemporaryFile("right.json", RowParallelPlan());
  std::set<std::string> changes;
  for (int seed = 0; seed < 12; ++seed) {
    const std::string arguments = "mutate " + plan + " --seed " + std::to_string(seed) + " -o ";
    const std::string first = TemporaryFile("first.plan", "");
    const std::string second = TemporaryFile("second.plan", "");
    const Finished mutated = RunProgram(arguments + first);
    ASSERT_EQ(mutated.exit_code, 0) << mutated.errors;
    changes.insert(mutated.output);
    EXPECT_EQ(RunProgram(arguments + second).output, mutated.output);
    EXPECT_EQ(ContentOf(first), ContentOf(second));
  }
  EXPECT_GE(changes.size(), 4u);
}

TEST(Mutate, APlanWithoutAPlaceForTheBugIsAUsageError) {
  const std::string plan = TemporaryFile("right.json", RowParallelPlan());
  const Finished finished = RunProgram("mutate " + plan + " --kind BR11 -o /dev/null");
  EXPECT_EQ(finished.exit_code, 64);
  EXPECT_THAT(finished.errors, HasSubstr("rotary"));
  EXPECT_EQ(RunProgram("mutate " + plan + " --kind BR99 -o /dev/null").exit_code, 64);
}

}  // namespace
}  // namespace planproof::cli
