// `verify --confirm`: a counterexample is run on numbers, and the report says what came of it.
#include "cli/confirmation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "frontend/plan/read_plan.h"
#include "strategy/verify.h"
#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string Broken() { return RepositoryPath("examples/first_plan/missing_sum.json"); }

TEST(Confirmation, SaysDeviceTypeValuesAndTolerance) {
  const Finished run = RunProgram("verify --no-cache --confirm cpu " + Broken());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(
      run.output,
      ContainsRegex("\n  replay     confirmed on the CPU in float32: loss.* is 380.138, the "
                    "model's loss.* 457.854; error 0.13, rounding explains .*e-0"));
}

TEST(Confirmation, IsInTheReportAndReadFromIt) {
  const std::string file = TemporaryFile("confirmed.json", "");
  const Finished run =
      RunProgram("verify --no-cache --confirm cpu --confirm-dtype float64,float8_e4m3 --json " +
                 file + " " + Broken());
  EXPECT_EQ(run.exit_code, 1);
  const json confirmations = json::parse(std::ifstream(file))["confirmations"];
  ASSERT_EQ(confirmations.size(), 2u);
  EXPECT_EQ(confirmations[0]["confirmed"], true);
  EXPECT_EQ(confirmations[0]["device"], "cpu");
  EXPECT_EQ(confirmations[0]["dtype"], "float64");
  EXPECT_EQ(confirmations[0]["logical"], "loss[0]");
  EXPECT_NEAR(std::stod(confirmations[0]["parallel_value"].get<std::string>()), 380.138, 1e-3);
  EXPECT_NEAR(std::stod(confirmations[0]["logical_value"].get<std::string>()), 457.854, 1e-3);
  EXPECT_GT(confirmations[0]["error"], confirmations[0]["tolerance"]);
  // One epsilon of this type is an eighth: the loss hides the fault, its stage does not.
  EXPECT_EQ(confirmations[1]["confirmed"], true);
  EXPECT_THAT(confirmations[1]["logical"].get<std::string>(), testing::StartsWith("y["));
  EXPECT_GT(confirmations[1]["error"], confirmations[1]["tolerance"]);
  const Finished explained = RunProgram("explain " + file);
  EXPECT_THAT(explained.output, HasSubstr("replay     confirmed on the CPU in float64"));
  EXPECT_THAT(explained.output, HasSubstr("confirmed on the CPU in float8_e4m3, each stage on the "
                                          "model's operands: devices hold different values of y["));
}

TEST(Confirmation, WithoutAGpuTheCpuConfirmsAndThatIsSaid) {
  const Finished run = RunProgram("verify --no-cache --confirm cuda " + Broken());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output,
              testing::AnyOf(ContainsRegex("confirmed on the CPU in float32.*; no CUDA device: "),
                             ContainsRegex("confirmed on the CPU.*; this build has no CUDA"),
                             Not(HasSubstr("on the CPU"))));
  EXPECT_THAT(run.output, HasSubstr("  replay     confirmed on "));
}

// A plan whose loss is too small by the factor dp.
std::string BrokenPlan(const std::string& name, const std::string& model) {
  const std::string directory = TemporaryFile(name, "") + ".d/";
  EXPECT_EQ(RunProgram("generate " + model + " --dp 2 --output " + directory).exit_code, 0);
  const std::string broken = TemporaryFile(name + "_broken.plan", "");
  EXPECT_EQ(RunProgram("mutate " + directory + "logical.plan " + directory +
                       "parallel.plan --kind TT4 -o " + broken)
                .exit_code,
            0);
  return broken;
}

TEST(Confirmation, APlanBeyondItsLimitsStaysRefuted) {
  const Finished run = RunProgram("verify --no-cache --confirm cpu " +
                                  BrokenPlan("large", "--model llama3-8b --layers 1"));
  EXPECT_EQ(run.exit_code, 1) << run.output;
  EXPECT_THAT(run.output, HasSubstr("not confirmed on the CPU in float32: model and plan have"));
}

constexpr char kSlow[] =
    "--model llama3-8b --layers 2 --hidden 256 --feed-forward 512 --heads 8 --key-value-heads 4 "
    "--vocabulary 1024 --sequence 128";

TEST(Confirmation, OneThatIsStoppedInTimeLeavesTheVerdict) {
  const Finished run =
      RunProgram("verify --no-cache --timeout 5 --confirm cpu " + BrokenPlan("slow", kSlow));
  EXPECT_EQ(run.exit_code, 1) << run.output << run.errors;
  EXPECT_THAT(run.output, HasSubstr("REFUTED"));
  EXPECT_THAT(run.output, HasSubstr("not confirmed on cpu in float32: it was stopped after "));
}

// Less time than a millisecond, of which the wait for an answer knows nothing, is no time.
TEST(Confirmation, IsStoppedInItsLastMillisecond) {
  const auto problem = plan::ReadPlan({Broken()}, sdfg::OperatorLibrary::BuiltIn());
  ASSERT_TRUE(problem.ok()) << problem.status();
  stages::VerifyOptions options;
  options.keep_witness = true;
  stages::Result result = strategy::Verify(*problem, options);
  ASSERT_NE(result.witness, nullptr);
  ConfirmationArguments arguments;
  arguments.device = "cpu";
  Confirm(arguments, *problem, 0.0019, &result);
  ASSERT_EQ(result.confirmations.size(), 1u);
  EXPECT_EQ(result.confirmations[0].text,
            "not confirmed on cpu in float32: it was stopped after 0 s");
}

TEST(Confirmation, OneThatCrashesLeavesTheVerdict) {
  if (std::getenv("PLANPROOF_SANITIZED") != nullptr)
    GTEST_SKIP() << "SKIPPED: sanitizers need more memory than the limit";
  const std::string plan = BrokenPlan("hungry", kSlow);
  // It has no room for its tensors.
  const Finished run =
      RunCommand("ulimit -v 200000; " PLANPROOF_PROGRAM " verify --no-cache --confirm cpu " + plan);
  EXPECT_EQ(run.exit_code, 1) << run.output << run.errors;
  EXPECT_THAT(run.output, HasSubstr("REFUTED"));
  EXPECT_THAT(run.output,
              HasSubstr("not confirmed on cpu in float32: the process that ran it was stopped"));
}

TEST(Confirmation, OfAPlanThatIsRightThereIsNone) {
  const Finished run =
      RunProgram("verify --no-cache --confirm cuda " + RepositoryPath("examples/mlp_tp2.json"));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.output, Not(HasSubstr("confirmed")));
}

TEST(Confirmation, WrongArgumentsAreUsageErrors) {
  EXPECT_EQ(RunProgram("verify --confirm tpu " + Broken()).exit_code, 64);
  EXPECT_EQ(RunProgram("verify --confirm cpu --confirm-dtype int8 " + Broken()).exit_code, 64);
}

}  // namespace
}  // namespace planproof::cli
