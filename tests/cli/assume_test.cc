// `planproof verify --assume`: approved approximations, in every report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string AssumeExample(const std::string& name) {
  return RepositoryPath("examples/assume/" + name + ".json");
}

class Assume : public testing::Test {
 protected:
  Assume() { std::filesystem::create_directories(directory_); }
  ~Assume() override { std::filesystem::remove_all(directory_); }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  Finished Verify(const std::string& arguments) const {
    return RunProgram("verify --cache " + Path("cache") + " " + arguments);
  }
  const std::string directory_ = testing::TempDir() + "assume" + std::to_string(getpid());
  const std::string approved_ = " --assume " + AssumeExample("batch_norm_approved") + " ";
};

TEST_F(Assume, StatisticsPerRankAreWrongUnlessTheyAreApproved) {
  const Finished strict = Verify(AssumeExample("batch_norm"));
  EXPECT_EQ(strict.exit_code, 1) << strict.output;
  const Finished approved = Verify(AssumeExample("batch_norm") + approved_);
  EXPECT_EQ(approved.exit_code, 0) << approved.output << approved.errors;
  EXPECT_THAT(approved.output,
              AllOf(StartsWith("PROVED under 3 assumptions: every required output equals"),
                    HasSubstr("if what is assumed has the model's values\n"),
                    HasSubstr("  assumed    norm.mean = norm.mean[0:12], of mean"),
                    HasSubstr("statistics per rank; a batch of 8 is large enough ("),
                    HasSubstr("grad.h = grad.h[8 dp:8 dp + 8, 0:12]"), HasSubstr("  unproved   ")));
}

TEST_F(Assume, NoRunTakesOverWhatAnotherAssumed) {
  EXPECT_EQ(Verify(AssumeExample("batch_norm") + approved_).exit_code, 0);
  EXPECT_EQ(Verify("--no-explain " + AssumeExample("batch_norm")).exit_code, 3);
  EXPECT_EQ(Verify(AssumeExample("batch_norm")).exit_code, 1);
  const std::string journal = " --journal " + Path("journal") + " ";
  EXPECT_EQ(Verify(AssumeExample("batch_norm") + approved_ + journal).exit_code, 0);
  EXPECT_THAT(RunProgram("journal " + Path("journal")).output,
              HasSubstr("PROVED under 3 assumptions"));
  EXPECT_EQ(Verify("--no-explain --resume " + AssumeExample("batch_norm") + journal).exit_code, 3);
  EXPECT_EQ(Verify(AssumeExample("batch_norm") + approved_).exit_code, 0);
}

TEST_F(Assume, AnotherFaultIsStillRefuted) {
  const Finished finished = Verify(AssumeExample("batch_norm_broken") + approved_);
  EXPECT_EQ(finished.exit_code, 1) << finished.output << finished.errors;
  EXPECT_THAT(finished.output,
              AllOf(StartsWith("REFUTED under 3 assumptions: stage grad.v: sum over dp missing"),
                    HasSubstr("  assumed    norm.mean")));
}

TEST_F(Assume, ExpertsOfOneNodeAreApproved) {
  const Finished strict = Verify("-q --no-explain --timeout 10 " + AssumeExample("routing"));
  EXPECT_NE(strict.exit_code, 0) << strict.output;
  const Finished approved =
      Verify(AssumeExample("routing") + " --assume " + AssumeExample("routing_approved"));
  EXPECT_EQ(approved.exit_code, 0) << approved.output << approved.errors;
  EXPECT_THAT(approved.output, StartsWith("PROVED under 3 assumptions: "));
}

// A sum that is missing before the assumed gradient: no output depends on it otherwise.
TEST_F(Assume, AFaultBehindOneIsFound) {
  std::string plan = ContentOf(AssumeExample("routing"));
  const std::string sum = R"({"op": "all_reduce", "over": "ep", "in": "weight.part")";
  ASSERT_NE(plan.find(sum), std::string::npos);
  plan.replace(plan.find(sum), sum.size(), R"({"op": "identity", "in": "weight.part")");
  const Finished finished = Verify("--timeout 60 " + TemporaryFile("missing_sum.json", plan) +
                                   " --assume " + AssumeExample("routing_approved"));
  EXPECT_EQ(finished.exit_code, 3) << finished.output << finished.errors;
  EXPECT_THAT(finished.output,
              AllOf(StartsWith("UNKNOWN under 3 assumptions: stage grad.weight: sum over ep "
                               "missing\n"),
                    HasSubstr("  witness    grad.weight["),
                    HasSubstr("assume it, too, or leave its lineage out of the plan")));
}

// Ranks are spelled out in traces; what stands for what is said with the mesh's coordinates.
TEST_F(Assume, RecordedProgramsHaveThem) {
  const std::string traces = RepositoryPath("tests/torch/traces/fsdp2/") + "*.trace ";
  const std::string file = TemporaryFile("silu.json", R"({"assumptions": [{
      "tensor": "layers.*.mlp.silu", "stands_for": {"of": "layers.*.mlp.silu", "0": "dp"},
      "reason": "a table in place of the function"}]})");
  const Finished finished = Verify(traces + "--assume " + file);
  EXPECT_EQ(finished.exit_code, 0) << finished.output << finished.errors;
  EXPECT_THAT(finished.output,
              AllOf(StartsWith("PROVED under 4 assumptions: "),
                    HasSubstr("layers.1.mlp.silu on device 1 = layers.1.mlp.silu[1:2, 0:8, 0:24]"),
                    HasSubstr("; not needed: the rest implies it"),
                    HasSubstr("[16 dp:16 dp + 16, 0:16]\n")))
      << "ranks are folded, with what is assumed of them";
  const Finished one =
      Verify("-q " + traces + "--assume " + TemporaryFile("one.json", R"({"assumptions": [{
          "tensor": "layers.*.mlp.silu", "devices": [1],
          "stands_for": {"of": "layers.*.mlp.silu", "0": "dp"}, "reason": "on one rank"}]})"));
  EXPECT_EQ(one.exit_code, 0) << one.output << one.errors;
  EXPECT_THAT(one.output, StartsWith("PROVED under 2 assumptions: "));
  const Finished wrong =
      Verify("-q --no-explain " + traces + "--assume " +
             TemporaryFile("shifted.json", R"({"assumptions": [{"tensor": "layers.0.mlp.silu",
          "devices": [1], "stands_for": "layers.0.mlp.silu", "reason": "all of it"}]})"));
  EXPECT_EQ(wrong.exit_code, 64);
  EXPECT_THAT(wrong.errors, HasSubstr("shape mismatch"));
}

TEST_F(Assume, EveryReportListsThem) {
  const Finished finished =
      Verify("-q " + AssumeExample("batch_norm") + approved_ + "--json " + Path("json") +
             " --html " + Path("html") + " --sarif " + Path("sarif") + " --junit " + Path("junit"));
  EXPECT_EQ(finished.exit_code, 0) << finished.errors;
  EXPECT_THAT(finished.output, StartsWith("PROVED under 3 assumptions"));
  const json report = json::parse(ContentOf(Path("json")));
  EXPECT_EQ(report["verdict"], "PROVED");
  EXPECT_EQ(report["exit_code"], 0);
  ASSERT_EQ(report["assumed"].size(), 3u);
  const json& first = report["assumed"][0];
  EXPECT_EQ(first["tensor"], "norm.mean");
  EXPECT_EQ(first["stands_for"], "norm.mean");
  EXPECT_EQ(first["need"], "used");
  EXPECT_EQ(first["reason"], "statistics per rank; a batch of 8 is large enough");
  EXPECT_THAT(first["stated_at"].get<std::string>(), HasSubstr("batch_norm_approved.json:4"));
  EXPECT_THAT(ContentOf(Path("html")),
              AllOf(HasSubstr("PROVED under 3 assumptions"), HasSubstr("Assumed and not proved"),
                    HasSubstr("statistics per rank")));
  EXPECT_THAT(ContentOf(Path("junit")), AllOf(HasSubstr("value=\"PROVED under 3 assumptions\""),
                                              HasSubstr("name=\"assumed\" value=\"norm.mean")));
  const json sarif = json::parse(ContentOf(Path("sarif")));
  const json& run = sarif["runs"][0];
  EXPECT_EQ(run["invocations"][0]["exitCodeDescription"], "PROVED under 3 assumptions");
  EXPECT_EQ(run["properties"]["assumed"].size(), 3u);
  EXPECT_EQ(run["invocations"][0]["toolExecutionNotifications"][0]["level"], "note");
  const Finished explained = RunProgram("explain " + Path("json"));
  EXPECT_THAT(explained.output,
              AllOf(HasSubstr("PROVED under 3 assumptions"), HasSubstr("  assumed    norm.mean")));
}

TEST_F(Assume, WithoutAssumptionsReportsSayNothingOfThem) {
  const Finished finished =
      Verify(RepositoryPath("examples/mlp_tp2.json") + " --json " + Path("json"));
  EXPECT_THAT(finished.output, AllOf(StartsWith("PROVED: "), Not(HasSubstr("\n  assumed "))));
  EXPECT_FALSE(json::parse(ContentOf(Path("json"))).contains("assumed"));
}

TEST_F(Assume, AWrongFileIsAUsageError) {
  const auto said = [&](const std::string& name, const std::string& text) {
    const Finished finished =
        Verify(AssumeExample("batch_norm") + " --assume " + TemporaryFile(name, text));
    EXPECT_EQ(finished.exit_code, 64) << finished.output;
    EXPECT_EQ(finished.output, "");
    return finished.errors;
  };
  EXPECT_THAT(
      said("matches_nothing.json", R"({"assumptions": [{"tensor": "norm", "reason": "a"}]})"),
      HasSubstr("matches_nothing.json:1: /assumptions/0: no tensor of the plan is called "
                "\"norm\""));
  EXPECT_THAT(said("required.json", R"({"assumptions": [{"tensor": "grad.w", "stands_for": "grad.w",
                    "reason": "a"}]})"),
              HasSubstr("grad.w is a required output"));
  EXPECT_THAT(said("input.json", R"({"assumptions": [{"tensor": "w", "reason": "a"}]})"),
              HasSubstr("w is an input of the plan"));
  EXPECT_EQ(Verify(AssumeExample("batch_norm") + " --assume /nowhere").exit_code, 64);
}

TEST_F(Assume, APlanBringsNoAssumptions) {
  std::string plan = ContentOf(AssumeExample("batch_norm"));
  const std::string key = "\"planproof\": 1,";
  plan.replace(plan.find(key), key.size(),
               key + R"( "assumptions": [{"tensor": "norm.mean", "reason": "trust me"}],)");
  const Finished finished = Verify(TemporaryFile("smuggles.json", plan));
  EXPECT_EQ(finished.exit_code, 2) << finished.output;
  EXPECT_THAT(finished.output, HasSubstr("key \"assumptions\" is not known"));
}

TEST_F(Assume, WhatRunsThePlanOnNumbersWouldRunTheApproximation) {
  const Finished finished =
      Verify(AssumeExample("batch_norm_broken") + approved_ + "--confirm cpu");
  EXPECT_EQ(finished.exit_code, 64);
  EXPECT_THAT(finished.errors, HasSubstr("--confirm runs the plan with its approximations"));
}

}  // namespace
}  // namespace planproof::cli
