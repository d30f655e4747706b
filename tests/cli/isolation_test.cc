// What goes wrong outside the claims costs what was looked for there, and never another verdict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/command_line.h"
#include "tests/cli/plans.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;  // memory is not limited under the address sanitizer
#else
constexpr bool kSanitized = false;
#endif

// Verifies while workers misbehave in this way in tasks of this name.
Finished VerifyWithFault(const std::string& plan, const std::string& kind,
                         const std::string& task) {
  return RunProgram("verify --no-cache --stage-timeout 0.5 --memory-limit 64 " + plan,
                    "PLANPROOF_TEST_WORKER_FAULT='" + kind + ":" + task + "'");
}

// y = x (x^2 + 1)^(-1/2) on two ranks; by another way, so that the claim has a premise of its own.
std::string DividingPlan(const std::string& factor) {
  return TemporaryFile("dividing.json", R"({"planproof": 1,
    "specification": {"inputs": {"x": [8], "z": [8]}, "operators": [
        {"op": "mul", "in": ["x", "x"], "out": "square"},
        {"op": "add", "in": ["square", 1], "out": "sum"},
        {"op": "rsqrt", "in": "sum", "out": "root"},
        {"op": "div", "in": ["x", "z"], "out": "part"},
        {"op": "mul", "in": ["part", "root"], "out": "y"}],
      "outputs": {"y": {"0": "dp"}}},
    "plan": {"mesh": {"dp": 2}, "programs": [{"inputs": {"x": {"0": "dp"}, "z": {"0": "dp"}},
      "operators": [
        {"op": "mul", "in": ["x", "x"], "out": "square"},
        {"op": "add", "in": ["square", )" + factor +
                                            R"(], "out": "sum"},
        {"op": "rsqrt", "in": "sum", "out": "root"},
        {"op": "div", "in": ["x", "z"], "out": "part"},
        {"op": "mul", "in": ["root", "part"], "out": "y"}]}]}})");
}

class Fault : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (kSanitized && std::string(GetParam()) == "alloc") GTEST_SKIP();
  }
};

TEST_P(Fault, InTheDiagnosisCostsTheCauseOnly) {
  const std::string plan = RepositoryPath("examples/first_plan/missing_sum.json");
  const Finished right = RunProgram("verify --no-cache " + plan);
  ASSERT_THAT(right.output, StartsWith("REFUTED: stage y: sum over tp missing"));
  const Finished finished = VerifyWithFault(plan, GetParam(), "diagnosis");
  EXPECT_EQ(finished.exit_code, 1) << finished.output << finished.errors;
  EXPECT_THAT(finished.output, StartsWith("REFUTED: stage y"));
  EXPECT_THAT(finished.output, HasSubstr("witness    loss[0] on tp=0: logical"));
  EXPECT_THAT(finished.output, HasSubstr("inputs     x = "));
  EXPECT_THAT(finished.output, HasSubstr("the diagnosis failed: worker "));
}

TEST_P(Fault, InTheSearchCostsTheCounterexampleOnly) {
  const Finished finished = VerifyWithFault(TemporaryFile("wrong.json", RowParallelPlan("")),
                                            GetParam(), "search for a counterexample");
  EXPECT_EQ(finished.exit_code, 3) << finished.output << finished.errors;
  EXPECT_THAT(finished.output, StartsWith("UNKNOWN: stage y"));
  EXPECT_THAT(finished.output, HasSubstr("the search for a counterexample failed: worker "));
}

// A proof needs inputs at which its premises hold.
TEST_P(Fault, InTheSearchForASampleLeavesTheProofOpen) {
  const std::string plan = DividingPlan("1");
  ASSERT_EQ(RunProgram("verify --no-cache " + plan).exit_code, 0);
  const Finished finished = VerifyWithFault(plan, GetParam(), "search for a sample");
  EXPECT_EQ(finished.exit_code, 3) << finished.output << finished.errors;
  EXPECT_THAT(finished.output, HasSubstr("was not tested: worker "));
}

TEST_P(Fault, InTheSearchForSignsLeavesAVerdict) {
  for (const std::string factor : {"1", "2"}) {
    const Finished finished =
        VerifyWithFault(DividingPlan(factor), GetParam(), "signs of logical tensors");
    EXPECT_EQ(finished.exit_code, factor == "1" ? 0 : 1) << finished.output << finished.errors;
    EXPECT_THAT(finished.output, HasSubstr("signs of logical tensors are not known: worker "));
  }
}

// The model takes a logarithm whose value it multiplies by 0.
TEST_P(Fault, InTheListOfPremisesIsAWarning) {
  const std::string plan = TemporaryFile("premises.json", R"({"planproof": 1,
    "specification": {"inputs": {"x": [8], "t": [8]}, "operators": [
        {"op": "mul", "in": ["x", "x"], "out": "square"},
        {"op": "log", "in": "square", "out": "logarithm"},
        {"op": "mul", "in": ["logarithm", 0], "out": "zero"},
        {"op": "add", "in": ["zero", "t"], "out": "y"}],
      "outputs": {"y": {"0": "dp"}}},
    "plan": {"mesh": {"dp": 2}, "programs": [{"inputs": {"t": {"0": "dp"}},
      "operators": [{"op": "mul", "in": ["t", 1], "out": "y"}]}]}})");
  const Finished finished = VerifyWithFault(plan, GetParam(), "premises of");
  EXPECT_EQ(finished.exit_code, 0) << finished.output << finished.errors;
  EXPECT_THAT(finished.output,
              HasSubstr("premises of log (logarithm) could not be listed: worker "));
}

// What the plan's operators ask for was not seen to hold.
TEST_P(Fault, InTheCheckOfConditionsLeavesTheProofOpen) {
  const std::string plan = TemporaryFile("conditions.json", R"({"planproof": 1,
    "specification": {"inputs": {"w": [8, 4], "id": "int64[6]"},
      "operators": [{"op": "embedding", "in": ["id", "w"], "out": "y"}], "outputs": {"y": {}}},
    "plan": {"mesh": {"dp": 2}, "programs": [{"inputs": {"w": {}, "id": {}},
      "operators": [{"op": "embedding", "in": ["id", "w"], "out": "y"}]}]}})");
  ASSERT_EQ(RunProgram("verify --no-cache " + plan).exit_code, 0);
  const Finished finished = VerifyWithFault(plan, GetParam(), "conditions of");
  EXPECT_EQ(finished.exit_code, 3) << finished.output << finished.errors;
  EXPECT_THAT(finished.output, HasSubstr("could not be evaluated (worker "));
}

INSTANTIATE_TEST_SUITE_P(Isolation, Fault,
                         testing::Values("kill", "abort", "sleep", "spin", "alloc"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace planproof::cli
