// The path of docs/first-plan.md: a plan written by hand, its broken twins, and slips on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Finished VerifyExample(const std::string& name) {
  return RunProgram("verify -j 1 " + RepositoryPath("examples/first_plan/" + name + ".json"));
}

TEST(FirstPlan, IsProvedAndItsRelationsReadAsSlices) {
  for (const char* name : {"plan", "sliced"}) {
    const Finished finished = VerifyExample(name);
    EXPECT_EQ(finished.exit_code, 0) << finished.output;
    EXPECT_THAT(finished.output, HasSubstr("required   loss: loss = loss[0:1]\n"));
    EXPECT_THAT(finished.output, HasSubstr("grad.w: grad.w = grad.w[0:32, 8 tp:8 tp + 8]\n"));
  }
}

TEST(FirstPlan, EveryTwinIsCaughtAndSaysWhatToMend) {
  struct Twin {
    const char* name;
    int exit_code;
    const char* says;
  };
  for (const Twin& twin :
       {Twin{"missing_sum", 1, "REFUTED: stage y: sum over tp missing\n"},
        Twin{"missing_sum_no_lineage", 1, "sum over tp missing after identity (y)"},
        Twin{"same_slice", 1, "REFUTED: stage y: "},
        Twin{"sum_twice", 1,
             "REFUTED: stage grad.w: 2 times too large = size of tp: all_reduce (g) "},
        Twin{"same_range", 2, "nobody holds [8, 16) of dimension 1"},
        Twin{"wrong_shape", 2, "given sub(y[8, 32], t[8, 31])"},
        Twin{"wrong_name", 2, "did you mean \"part\"?"},
        Twin{"no_seed", 2, "list it under \"inputs\""},
        Twin{"missing_comma", 2, "a comma is missing"}}) {
    const Finished finished = VerifyExample(twin.name);
    EXPECT_EQ(finished.exit_code, twin.exit_code) << twin.name;
    EXPECT_THAT(finished.output, HasSubstr(twin.says)) << twin.name;
  }
}

TEST(FirstPlan, AnUnknownCommandIsNamedWithTheOnesThereAre) {
  const Finished finished = RunProgram("frobnicate");
  EXPECT_EQ(finished.exit_code, 64);
  EXPECT_THAT(finished.errors,
              StartsWith("planproof: no command 'frobnicate'; commands are verify"));
}

TEST(FirstPlan, HelpShowsChoicesAsWords) {
  const Finished help = RunProgram("verify --help");
  EXPECT_THAT(help.output, HasSubstr("verify [OPTIONS] FILES..."));
  EXPECT_THAT(help.output, HasSubstr("{hybrid,smt,audit}"));
  EXPECT_THAT(help.output, Not(HasSubstr("->")));
  const Finished wrong = RunProgram("verify x --engine magic");
  EXPECT_EQ(wrong.exit_code, 64);
  EXPECT_THAT(wrong.errors, HasSubstr("magic not in {hybrid,smt,audit}"));
}

TEST(FirstPlan, EveryKindOfFaultIsExplainedInTheHelp) {
  const std::string help = RunProgram("mutate --help").output;
  for (int i = 1; i <= 14; ++i) EXPECT_THAT(help, HasSubstr("BR" + std::to_string(i)));
  for (int i = 1; i <= 3; ++i) EXPECT_THAT(help, HasSubstr("C" + std::to_string(i)));
}

TEST(FirstPlan, AnOperatorThatIsNotDeclaredIsMatchedWithSimilarOnes) {
  EXPECT_THAT(RunProgram("operators soft").errors, HasSubstr("log_softmax, softmax"));
  EXPECT_THAT(RunProgram("operators linaer").errors, HasSubstr("there is linear"));
  EXPECT_THAT(RunProgram("operators all_reduce").errors, HasSubstr("docs/plan-format.md"));
  EXPECT_THAT(RunProgram("operators qqqqqqq").errors, HasSubstr("lists them"));
}

}  // namespace
}  // namespace planproof::cli
