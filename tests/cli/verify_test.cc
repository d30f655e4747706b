// `planproof verify` from file to verdict, report and exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/command_line.h"
#include "tests/cli/plans.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

nlohmann::json JsonOf(const std::string& path) {
  std::ifstream stream(path);
  return nlohmann::json::parse(stream, nullptr, false);
}

TEST(Verify, ARightPlanIsProved) {
  const Finished finished = RunProgram("verify " + TemporaryFile("right.json", RowParallelPlan()));
  EXPECT_EQ(finished.exit_code, 0) << finished.output << finished.errors;
  EXPECT_THAT(finished.output, StartsWith("PROVED"));
}

TEST(Verify, WithoutExplanationAWrongPlanIsUnknownAndARightOneProved) {
  const Finished wrong =
      RunProgram("verify --no-explain " + TemporaryFile("wrong.json", RowParallelPlan("")));
  EXPECT_EQ(wrong.exit_code, 3) << wrong.output << wrong.errors;
  EXPECT_THAT(wrong.output, StartsWith("UNKNOWN: stage "));
  const Finished right =
      RunProgram("verify --no-explain " + TemporaryFile("right.json", RowParallelPlan()));
  EXPECT_EQ(right.exit_code, 0) << right.output << right.errors;
}

TEST(Verify, AMissingAllReduceIsRefutedAndTheFirstFiveLinesSayWhere) {
  const Finished finished =
      RunProgram("verify " + TemporaryFile("wrong.json", RowParallelPlan("")));
  EXPECT_EQ(finished.exit_code, 1) << finished.output << finished.errors;
  const std::string start = FirstLines(finished.output, 5);
  EXPECT_THAT(start, StartsWith("REFUTED: stage "));
  EXPECT_THAT(start, HasSubstr("model.py:1"));
  EXPECT_THAT(start, HasSubstr("device"));
  EXPECT_THAT(start, HasSubstr("lineage"));
  EXPECT_THAT(start, HasSubstr("witness"));
}

TEST(Verify, AWrongShapeIsMalformed) {
  const Finished finished = RunProgram(
      "verify " +
      TemporaryFile(
          "shape.json",
          RowParallelPlan(
              R"({"op": "all_gather", "over": "tp", "dim": 1, "in": "part", "out": "h"},)")));
  EXPECT_EQ(finished.exit_code, 2) << finished.output << finished.errors;
  EXPECT_THAT(finished.output, StartsWith("MALFORMED"));
}

TEST(Verify, AnUndeclaredOperatorIsUnknownAndNamed) {
  std::string plan = RowParallelPlan();
  for (size_t at = 0; (at = plan.find("\"silu\"", at)) != std::string::npos; at += 6) {
    plan.replace(at, 6, "\"wobble\"");
  }
  const Finished finished = RunProgram("verify " + TemporaryFile("undeclared.json", plan));
  EXPECT_EQ(finished.exit_code, 3) << finished.output << finished.errors;
  EXPECT_THAT(finished.output, StartsWith("UNKNOWN"));
  EXPECT_THAT(finished.output, HasSubstr("wobble"));
}

TEST(Verify, AUsersOperatorIsUsedInAProofAndInARefutation) {
  const std::string declarations = TemporaryFile(
      "wobble.op",
      "# x / (1 + x^2), elementwise\nop wobble(x[i..]) -> y[i..] = x[i..] / (1 + x[i..]^2)\n");
  for (const bool broken : {false, true}) {
    std::string plan = broken ? RowParallelPlan("") : RowParallelPlan();
    for (size_t at = 0; (at = plan.find("\"silu\"", at)) != std::string::npos; at += 6) {
      plan.replace(at, 6, "\"wobble\"");
    }
    const Finished finished =
        RunProgram("verify " + TemporaryFile("wobble.json", plan) + " --operators " + declarations);
    EXPECT_EQ(finished.exit_code, broken ? 1 : 0) << finished.output << finished.errors;
  }
}

TEST(Verify, TheJsonReportSaysWhatTheTextSays) {
  const std::string report = TemporaryFile("report.json", "");
  RunProgram("verify " + TemporaryFile("wrong.json", RowParallelPlan("")) + " --json " + report);
  const nlohmann::json json = JsonOf(report);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["verdict"], "REFUTED");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_GE(json["violations"].size(), 1u);
  EXPECT_FALSE(json["violations"][0]["witness"]["inputs"].empty());
  EXPECT_GT(json["outputs"]["required"], 0);
  EXPECT_EQ(json["outputs"]["required"], json["outputs"]["claimed"]);
  EXPECT_GT(json["time_s"]["total"], 0.0);
  EXPECT_GT(json["peak_rss_mb"]["total"], 0.0);
}

TEST(Verify, JsonOnStandardOutputIsNothingButJson) {
  const Finished finished =
      RunProgram("verify --json - " + TemporaryFile("right.json", RowParallelPlan()));
  const auto json = nlohmann::json::parse(finished.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << finished.output;
  EXPECT_EQ(json["verdict"], "PROVED");
}

TEST(Verify, ConvertedPlansGetTheSameVerdict) {
  for (const bool broken : {false, true}) {
    const std::string plan =
        TemporaryFile("plan.json", broken ? RowParallelPlan("") : RowParallelPlan());
    for (const std::string& name : std::vector<std::string>{"converted.json", "converted.plan"}) {
      const std::string converted = TemporaryFile(name, "");
      ASSERT_EQ(RunProgram("convert " + plan + " -o " + converted).exit_code, 0);
      EXPECT_EQ(RunProgram("verify " + converted).exit_code, broken ? 1 : 0) << name;
    }
  }
}

class WorkerFault : public testing::TestWithParam<const char*> {};

// Of two unrelated outputs only the one whose worker fails stays open.
TEST_P(WorkerFault, CostsItsClaimAnUnknownAndNothingElse) {
  const std::string report = TemporaryFile("fault.json", "");
  const Finished finished =
      RunProgram("verify " + TemporaryFile("right.json", RowParallelPlan()) +
                     " --no-cache --jobs 2 --stage-timeout 1 --memory-limit 64 --json " + report,
                 "PLANPROOF_TEST_WORKER_FAULT=" + std::string(GetParam()));
  EXPECT_EQ(finished.exit_code, 3) << finished.output << finished.errors;
  EXPECT_THAT(finished.output, StartsWith("UNKNOWN: stage y"));
  const nlohmann::json json = JsonOf(report);
  EXPECT_GE(json["stages"]["unknown"], 1);
  EXPECT_EQ(json["stages"]["refuted"], 0);
  EXPECT_EQ(json["stages"]["proved"].get<int>() + json["stages"]["unknown"].get<int>(),
            json["stages"]["total"].get<int>());
}

#if defined(__SANITIZE_ADDRESS__)
INSTANTIATE_TEST_SUITE_P(Verify, WorkerFault, testing::Values("kill:y", "sleep:y"));
#else
INSTANTIATE_TEST_SUITE_P(Verify, WorkerFault, testing::Values("kill:y", "sleep:y", "alloc:y"));
#endif

class SharedPair : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(SharedPair, IsProvedFromThePickles) {
  const std::string logical = SharedPlan(GetParam().first);
  const std::string parallel = SharedPlan(GetParam().second);
  if (logical.empty() || parallel.empty()) GTEST_SKIP() << "published plans are not here";
  const std::string report = TemporaryFile("pair.json", "");
  const Finished finished = RunProgram("verify --no-cache --jobs 2 --stage-timeout 20 --json " +
                                       report + " " + logical + " " + parallel);
  EXPECT_EQ(finished.exit_code, 0) << finished.output << finished.errors;
  const nlohmann::json json = JsonOf(report);
  EXPECT_GT(json["outputs"]["required"], 0);
  EXPECT_EQ(json["outputs"]["required"], json["outputs"]["claimed"]);
}

INSTANTIATE_TEST_SUITE_P(
    Verify, SharedPair,
    testing::Values(std::pair{"mlp_mgener_dp1_pp1_tp1_nm1_gbs16_dim1024_ly2.pkl",
                              "mlp_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly2.pkl"},
                    std::pair{"gpt_mgener_dp1_pp1_tp1_nm1_gbs16_dim1024_ly2_h16_hi1024_sq1024.pkl",
                              "gpt_mgener_dp1_pp1_tp2_nm1_gbs16_dim1024_ly2_h16_hi1024_sq1024.pkl"},
                    std::pair{"gpt_mgener_dp1_pp1_tp1_nm1_gbs16_dim1024_ly2_h16_hi1024_sq1024.pkl",
                              "gpt_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly2_h16_hi1024_sq1024.pkl"},
                    std::pair{"llama3_default_dp1_pp1_tp1_nm1_gbs512_ly2_h32_hi4096_sq128.pkl",
                              "llama3_default_dp2_pp2_tp2_nm2_gbs512_ly2_h32_hi4096_sq128.pkl"},
                    std::pair{"llama3_default_dp1_pp1_tp1_nm1_gbs512_ly2_h32_hi4096_sq128.pkl",
                              "llama3_default_dp16_pp4_tp8_nm2_gbs512_ly2_h32_hi4096_sq128.pkl"},
                    std::pair{"llama3_default_dp1_pp1_tp1_nm1_gbs512_ly2_h32_hi4096_sq128.pkl",
                              "llama3_default_dp16_pp4_tp8_nm8_gbs512_ly2_h32_hi4096_sq128.pkl"},
                    std::pair{
                        "moe_default_dp1_pp1_tp1_nm1_gbs1024_ly2_h16_hi512_sq128_a2_r16.pkl",
                        "moe_default_dp2_pp2_tp2_nm2_gbs1024_ly2_h16_hi512_sq128_a2_r16.pkl"}));

}  // namespace
}  // namespace planproof::cli
