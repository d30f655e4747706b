// Exit codes and messages of the command line that need no verdict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::vector<std::string> kCommands = {"verify", "show", "convert", "mutate", "operators"};

int64_t LineCount(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Usage, EveryCommandHasHelpWithAnExample) {
  EXPECT_THAT(RunProgram("--help").output, HasSubstr("Exit code"));
  for (const std::string& command : kCommands) {
    const Finished finished = RunProgram(command + " --help");
    EXPECT_EQ(finished.exit_code, 0) << command;
    EXPECT_THAT(finished.output, HasSubstr("planproof " + command)) << command;
    EXPECT_THAT(finished.output, HasSubstr("Example")) << command;
  }
}

TEST(Usage, VersionIsPrinted) {
  const Finished finished = RunProgram("--version");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.output, StartsWith("planproof "));
}

TEST(Usage, WrongArgumentsExitWith64AndNeverWithAVerdict) {
  for (const std::string& arguments : std::vector<std::string>{
           "", "prove x", "verify", "verify a b c", "verify x --engine magic", "verify x --jobs 0",
           "verify x --stage-timeout none", "verify x --collective-order random",
           "verify x --expect-schedule zigzag", "verify --frobnicate x", "convert x", "mutate x",
           "operators no_such_operator"}) {
    const Finished finished = RunProgram(arguments);
    EXPECT_EQ(finished.exit_code, 64) << arguments;
    EXPECT_FALSE(finished.errors.empty()) << arguments;
  }
}

TEST(Usage, MissingFileIsAUsageErrorThatNamesTheFile) {
  for (const std::string& command : std::vector<std::string>{"verify", "show"}) {
    const Finished finished = RunProgram(command + " /nonexistent/plan.json");
    EXPECT_EQ(finished.exit_code, 64);
    EXPECT_THAT(finished.errors, HasSubstr("/nonexistent/plan.json"));
    EXPECT_EQ(LineCount(finished.errors), 1);
  }
}

TEST(Usage, WhatCannotBeWrittenIsAUsageErrorThatNamesThePath) {
  const std::string file = TemporaryFile("file", "");
  for (const std::string& option : std::vector<std::string>{
           "--dump-smt /proc/none", "--dump-smt " + file, "--json /nonexistent/report.json"}) {
    const Finished finished =
        RunProgram("verify " + RepositoryPath("examples/mlp_tp2.json") + " " + option);
    EXPECT_EQ(finished.exit_code, 64) << option;
    EXPECT_THAT(finished.errors, HasSubstr(option.substr(option.find(' ') + 1)));
  }
}

TEST(Usage, AMistypedCommandOrOptionNamesTheNearest) {
  EXPECT_THAT(RunProgram("verfiy x").errors, HasSubstr("did you mean 'verify'?"));
  EXPECT_THAT(RunProgram("verify x --engin smt").errors, HasSubstr("did you mean '--engine'"));
  EXPECT_THAT(RunProgram("generate --microbatch 2").errors,
              HasSubstr("did you mean '--microbatches'"));
}

TEST(Usage, TheManualPageAndCompletionsListEveryOption) {
  const std::string manual = RunProgram("manual").output;
  EXPECT_THAT(manual, StartsWith(".TH PLANPROOF 1"));
  for (const std::string& command : kCommands) EXPECT_THAT(manual, HasSubstr(command));
  EXPECT_THAT(manual, HasSubstr("accept\\-restrictions"));
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = RunProgram("completion " + shell).output;
    EXPECT_THAT(script, HasSubstr("expect-schedule")) << shell;
    EXPECT_THAT(script, HasSubstr("gpipe 1f1b interleaved")) << shell;
  }
  EXPECT_EQ(RunProgram("completion tcsh").exit_code, 64);
}

TEST(Usage, DirectoryIsAUsageError) { EXPECT_EQ(RunProgram("verify /tmp").exit_code, 64); }

TEST(Usage, FileOfNoKnownFormatIsMalformedWithOneLine) {
  for (const std::string& content : std::vector<std::string>{
           "hello\n", std::string(), std::string(5000, '\0'), std::string("\x80\x7f garbage")}) {
    const Finished finished = RunProgram("verify -q " + TemporaryFile("odd.plan", content));
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_THAT(finished.output, StartsWith("MALFORMED"));
    EXPECT_EQ(LineCount(finished.output), 1);
  }
}

TEST(Usage, APickleAloneAsksForItsPair) {
  const Finished finished = RunProgram("verify " + TemporaryFile("one.pkl", "\x80\x04N."));
  EXPECT_EQ(finished.exit_code, 64);
  EXPECT_THAT(finished.errors, HasSubstr("LOGICAL PARALLEL"));
}

TEST(Usage, TruncatedPicklesAreNoCrash) {
  const std::string pickle = TemporaryFile("short.pkl", "\x80\x04\x95");
  const Finished finished = RunProgram("verify " + pickle + " " + pickle);
  EXPECT_TRUE(finished.exit_code == 2 || finished.exit_code == 3) << finished.exit_code;
}

TEST(Usage, AWrongDeclarationIsReportedWithLineAndColumn) {
  const std::string declarations = TemporaryFile("my.op", "\nop broken(x[i]) -> y[i] = x[i] +\n");
  const Finished finished = RunProgram("operators --operators " + declarations);
  EXPECT_EQ(finished.exit_code, 64);
  EXPECT_THAT(finished.errors, testing::ContainsRegex("my.op:[0-9]+:[0-9]+: "));
}

TEST(Usage, OperatorsListsAndExplains) {
  const Finished list = RunProgram("operators");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.output, HasSubstr("\nsoftmax\n"));
  const Finished page = RunProgram("operators softmax");
  EXPECT_EQ(page.exit_code, 0);
  EXPECT_THAT(page.output, HasSubstr("exp("));
}

TEST(Usage, NothingIsDrawnOnAPipe) {
  const Finished finished = RunProgram("verify " + TemporaryFile("odd.plan", "hello"));
  EXPECT_EQ(finished.errors, "");
  EXPECT_EQ(finished.output.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace planproof::cli
