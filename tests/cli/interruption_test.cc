// A signal ends a run with what is known, whatever the run is doing.
#include "cli/interruption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/command_line.h"
#include "tests/cli/plans.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Interrupted {
  Finished finished;
  double seconds = 0;  // after the signal
};

// Runs the program with this signal after so many seconds, while workers sleep in tasks of this
// name.
Interrupted Interrupt(const std::string& arguments, const std::string& asleep,
                      const std::string& signal = "INT", double after = 1) {
  static const std::string cache = TemporaryFile("interruption.cache", "") + ".d";
  const Clock::time_point start = Clock::now();
  Interrupted result;
  result.finished =
      RunCommand("XDG_CACHE_HOME=" + cache + " PLANPROOF_TEST_WORKER_FAULT='sleep:" + asleep +
                 "' timeout --preserve-status -s " + signal + " " + std::to_string(after) +
                 " " PLANPROOF_PROGRAM " " + arguments);
  result.seconds = Since(start) - after;
  return result;
}

// On a busy machine the run may not have come to the sleeping task yet: then later, as long as the
// report does not say what it says there.
Interrupted InterruptAt(const std::string& asleep, const std::string& said,
                        const std::string& arguments, const std::string& signal = "INT") {
  Interrupted run;
  for (const double after : {1.5, 4., 16.}) {
    run = Interrupt(arguments, asleep, signal, after);
    if (run.finished.output.find(said) != std::string::npos) break;
  }
  return run;
}

// The report comes soon, even on a machine that is busy.
void ExpectSoon(const Interrupted& run) {
  EXPECT_GT(run.seconds, -0.1) << run.finished.output << run.finished.errors;
  EXPECT_LT(run.seconds, 2.5) << run.finished.output << run.finished.errors;
}

std::string WrongPlan() { return RepositoryPath("examples/first_plan/missing_sum.json"); }
std::string RightPlan() { return RepositoryPath("examples/first_plan/plan.json"); }

class Engines : public testing::TestWithParam<const char*> {};

TEST_P(Engines, AreInterruptedWhileTheyProve) {
  const std::string stages = "stages     4 in 4 classes";
  for (const char* signal : {"INT", "TERM"}) {
    const Interrupted run = InterruptAt(
        "y", stages.c_str(),
        "verify --no-cache --engine " + std::string(GetParam()) + " " + RightPlan(), signal);
    ExpectSoon(run);
    EXPECT_EQ(run.finished.exit_code, 3) << run.finished.output << run.finished.errors;
    EXPECT_THAT(run.finished.output, HasSubstr("interrupted"));
    EXPECT_THAT(run.finished.output, HasSubstr(stages));
  }
}

TEST_P(Engines, AreInterruptedWhileTheySearchForACounterexample) {
  const Interrupted run =
      InterruptAt("search for a counterexample", "UNKNOWN: interrupted after 4 of 4 classes",
                  "verify --no-cache --engine " + std::string(GetParam()) + " " + WrongPlan());
  ExpectSoon(run);
  EXPECT_EQ(run.finished.exit_code, 3) << run.finished.output << run.finished.errors;
  EXPECT_THAT(run.finished.output, StartsWith("UNKNOWN: interrupted after 4 of 4 classes"));
}

TEST_P(Engines, ReportACounterexampleThatIsConfirmed) {
  const Interrupted run =
      InterruptAt("diagnosis", "REFUTED: stage y",
                  "verify --no-cache --engine " + std::string(GetParam()) + " " + WrongPlan());
  ExpectSoon(run);
  if (GetParam() == std::string("audit")) {  // which is not audited then
    EXPECT_THAT(run.finished.output, HasSubstr("not audited: interrupted"));
  }
  EXPECT_EQ(run.finished.exit_code, 1) << run.finished.output << run.finished.errors;
  EXPECT_THAT(run.finished.output, StartsWith("REFUTED: stage y"));
  EXPECT_THAT(run.finished.output, HasSubstr("witness    loss[0] on tp=0: logical"));
}

INSTANTIATE_TEST_SUITE_P(Interruption, Engines, testing::Values("hybrid", "smt", "audit"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(Interruption, SignsAndSamplesAreGivenUp) {
  const std::string plan = TemporaryFile("sample.json", R"({"planproof": 1,
    "specification": {"inputs": {"x": [8], "z": [8]}, "operators": [
        {"op": "div", "in": ["x", "z"], "out": "part"}, {"op": "exp", "in": "part", "out": "e"},
        {"op": "log", "in": "e", "out": "y"}], "outputs": {"y": {}}},
    "plan": {"mesh": {"dp": 1}, "programs": [{"inputs": {"x": {}, "z": {}},
      "operators": [{"op": "div", "in": ["x", "z"], "out": "y"}]}]}})");
  for (const char* task : {"signs of logical tensors", "search for a sample"}) {
    const Interrupted run = InterruptAt(task, "interrupted", "verify --no-cache " + plan);
    ExpectSoon(run);
    EXPECT_EQ(run.finished.exit_code, 3) << task << run.finished.output << run.finished.errors;
    EXPECT_THAT(run.finished.output, HasSubstr("interrupted")) << task;
  }
}

TEST(Interruption, AnAuditThatIsInterruptedAuditsNothing) {
  // What is proved first is asked again, under the same names.
  const Interrupted run = InterruptAt("y", "not audited: interrupted",
                                      "verify --no-cache --engine audit " + RightPlan());
  ExpectSoon(run);
  EXPECT_EQ(run.finished.exit_code, 3) << run.finished.output << run.finished.errors;
  EXPECT_THAT(run.finished.output, HasSubstr("not audited: interrupted"));
}

// A file that nobody writes: what is read with the plan does not come to an end.
std::string Pipe() {
  static int made = 0;  // writing to one that is there would wait for a reader
  const std::string pipe = TemporaryFile("pipe" + std::to_string(made++) + ".op", "");
  EXPECT_EQ(std::system(("rm " + pipe + "; mkfifo " + pipe).c_str()), 0);
  return pipe;
}

// Nothing is known of a plan that is not read.
TEST(Interruption, AReportIsWrittenWhereThePlanWasNotReadYet) {
  const std::string report = TemporaryFile("report.json", "");
  const Interrupted run =
      InterruptAt("nothing", "interrupted while the plan was read",
                  "verify --json " + report + " --operators " + Pipe() + " " + RightPlan());
  ExpectSoon(run);
  EXPECT_EQ(run.finished.exit_code, 3) << run.finished.output << run.finished.errors;
  EXPECT_THAT(run.finished.output, StartsWith("UNKNOWN: interrupted while the plan was read"));
  std::ifstream stream(report);
  const nlohmann::json json = nlohmann::json::parse(stream, nullptr, false);
  EXPECT_EQ(json["verdict"], "UNKNOWN");
}

// With a worker that sleeps, in a task of this name.
Finished RunFor(const std::string& seconds, const std::string& asleep, const std::string& plan) {
  return RunCommand("PLANPROOF_TEST_WORKER_FAULT='sleep:" + asleep +
                    "' " PLANPROOF_PROGRAM " verify --no-cache --timeout " + seconds + " " + plan);
}

TEST(TimeLimit, EndsARunWithWhatIsKnown) {
  const Finished proving = RunFor("2", "y", RightPlan());
  EXPECT_EQ(proving.exit_code, 3) << proving.output << proving.errors;
  EXPECT_THAT(proving.output, StartsWith("UNKNOWN: out of time"));
  // On a busy machine the counterexample may come later.
  Finished explaining;
  for (const char* seconds : {"3", "12", "40"}) {
    explaining = RunFor(seconds, "diagnosis", WrongPlan());
    if (explaining.exit_code == 1) break;
  }
  EXPECT_THAT(explaining.output, StartsWith("REFUTED: stage y"));
  EXPECT_THAT(explaining.output, HasSubstr("witness    loss[0] on tp=0: logical"));
}

// Wherever the time ends, between two stages or while the conditions of a proof are looked at.
TEST(TimeLimit, NeverMakesAProof) {
  const std::string restricted = TemporaryFile("restricted.json", R"({"planproof": 1,
    "specification": {"inputs": {"x": [8]}, "operators": [
        {"op": "neg", "in": "x", "out": "y"}], "outputs": {"y": {}}},
    "plan": {"mesh": {"dp": 1}, "programs": [{"inputs": {"x": {}}, "operators": [
        {"op": "sqrt", "in": "x", "out": "root"}, {"op": "mul", "in": ["root", "root"], "out": "square"},
        {"op": "neg", "in": "square", "out": "y"}]}]}})");
  int ended = 0;
  for (const std::string& plan : {WrongPlan(), restricted}) {
    EXPECT_EQ(RunFor("600", "nothing", plan).exit_code, 1) << plan;
    for (int k = 0; k < 40; ++k) {
      const Finished run = RunFor(std::to_string(0.001 * std::pow(1.15, k)), "nothing", plan);
      EXPECT_THAT(run.exit_code, testing::AnyOf(1, 3)) << plan << "\n" << run.output;
      ended += run.output.find("out of time") != std::string::npos;
    }
  }
  EXPECT_GT(ended, 20);
}

TEST(TimeLimit, CountsWhileAPlanIsRead) {
  const Finished reading = RunFor("0.5", "nothing", "--operators " + Pipe() + " " + RightPlan());
  EXPECT_EQ(reading.exit_code, 3) << reading.output << reading.errors;
  EXPECT_THAT(reading.output, StartsWith("UNKNOWN: out of time while the plan was read"));
}

TEST(TimeLimit, DoesNothingToARunThatEndsBefore) {
  EXPECT_EQ(RunFor("600", "nothing", RightPlan()).exit_code, 0);
  EXPECT_NE(RunFor("0", "nothing", RightPlan()).errors, "");
}

// What a program does that is interrupted, in a process of its own: its exit status and output.
std::pair<int, std::string> RunInChild(void (*program)()) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    program();
    _exit(99);
  }
  close(ends[1]);
  std::string output;
  char bytes[256];
  for (ssize_t got; (got = read(ends[0], bytes, sizeof(bytes))) > 0;) {
    output.append(bytes, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return {status, output};
}

WordsInTime Words() {
  return {.interrupted = {.output = "last words\n", .files = {}, .exit_code = 3},
          .out_of_time = {.output = "too late\n", .files = {}, .exit_code = 4}};
}

void Sleep(double seconds) {
  const Clock::time_point start = Clock::now();
  while (Since(start) < seconds) usleep(10'000);  // also where a signal wakes it
}

TEST(Interruption, LastWordsAreSaidWhereNobodyLooksAtTheRequestInTime) {
  const Clock::time_point start = Clock::now();
  const auto [status, output] = RunInChild([] {
    stages::StopRequest* request = StopOnSignals(Words());
    const stages::StopWatch watch(request);
    raise(SIGINT);
    Sleep(60);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(output, "last words\n");
  EXPECT_LT(Since(start), 6);
}

TEST(TimeLimit, HasWordsOfItsOwn) {
  const auto [status, output] = RunInChild([] {
    StopOnSignals(Words());
    StopAfter(0.1);
    Sleep(60);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_EQ(output, "too late\n");
}

TEST(Interruption, TheSecondSignalEndsTheProgramAtOnce) {
  const auto [status, output] = RunInChild([] {
    stages::StopRequest* request = StopOnSignals(Words());
    const stages::StopWatch watch(request);
    raise(SIGTERM);
    if (!watch.Requested()) _exit(98);
    Sleep(0.5);
    raise(SIGTERM);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_EQ(output, "");
}

// timeout(1) sends its signal to the command, then to the command's group.
TEST(Interruption, ASignalThatComesTwiceAtOnceIsOne) {
  const auto [status, output] = RunInChild([] {
    stages::StopRequest* request = StopOnSignals(Words());
    const stages::StopWatch watch(request);
    raise(SIGINT);
    raise(SIGINT);
    _exit(watch.Requested() ? 97 : 98);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 97);
  EXPECT_EQ(output, "");
}

TEST(Interruption, AReportThatHasBegunIsNotReplaced) {
  const auto [status, output] = RunInChild([] {
    stages::StopRequest* request = StopOnSignals(Words());
    const stages::StopWatch watch(request);
    raise(SIGINT);
    ForgetLastWords();
    Sleep(3);
    _exit(0);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(output, "");
}

// A terminal sends its signal to all processes of the run.
TEST(Interruption, WorkersSayNothing) {
  const auto [status, output] = RunInChild([] {
    StopOnSignals(Words());
    const pid_t worker = fork();
    if (worker == 0) {
      raise(SIGINT);
      _exit(7);
    }
    int worker_status = 0;
    waitpid(worker, &worker_status, 0);
    _exit(WIFEXITED(worker_status) ? WEXITSTATUS(worker_status) : 98);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(output, "");
}

}  // namespace
}  // namespace planproof::cli
