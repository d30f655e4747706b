// The JSON report holds all that the others say, and is read back.
#include "report/json_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "report/html/html_report.h"
#include "report/junit_report.h"
#include "report/sarif_report.h"
#include "report/text_report.h"
#include "tests/report/results.h"

namespace planproof::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr char kBroken[] = "examples/llama_dp2_pp2_tp2_mb2_broken.json";

Report Broken() { return Describe(ResultOfFile(kBroken), {kBroken}); }

TEST(JsonReport, IsReadBackWhole) {
  for (const char* file : {kBroken, "examples/mlp_tp2.json", "examples/pipeline_1f1b_broken.json",
                           "examples/first_plan/wrong_name.json", "examples/daily/fsdp.json"}) {
    const Report report = Describe(ResultOfFile(file), {file});
    const std::string text = JsonReport(report);
    const absl::StatusOr<Report> read = ReadJsonReport(text);
    ASSERT_TRUE(read.ok()) << file << ": " << read.status();
    EXPECT_EQ(JsonReport(*read), text) << file;
    for (const bool verbose : {false, true}) {
      TextOptions options;
      options.verbose = verbose;
      EXPECT_EQ(TextReport(read->result, options), TextReport(report.result, options)) << file;
    }
  }
}

TEST(JsonReport, KeepsWhereRelationsEndBesideACauseOfTheStage) {
  Report report = Broken();
  report.result.violations[0].cause_of_stage = true;
  report.result.inference.end.logical_operator = "add (y)";
  const absl::StatusOr<Report> read = ReadJsonReport(JsonReport(report));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(TextReport(read->result, TextOptions()),
              HasSubstr("; nothing in the plan is the result of add (y)\n"));
}

TEST(JsonReport, SaysWhichFormatItHas) {
  EXPECT_EQ(json::parse(JsonReport(Broken()))["planproof_report"], 1);
}

TEST(JsonReport, HasRelationsAsMapsAndPlacesInFiles) {
  const json report = json::parse(JsonReport(Broken()));
  const json& finding = report["violations"][0];
  EXPECT_EQ(finding["relation"]["is"], "grad.m");
  EXPECT_EQ(finding["relation"]["tensor"], "last:g.m");
  // Rows 4 microbatch + 8 dp and on.
  EXPECT_EQ(finding["relation"]["map"].size(), 3u);
  EXPECT_EQ(finding["relation"]["map"][0]["terms"].size(), 3u);
  EXPECT_EQ(finding["logical_place"]["file"], "llama.py");
  EXPECT_EQ(finding["logical_place"]["line"], 43);
  EXPECT_THAT(finding["parallel_places"][0]["file"].get<std::string>(), HasSubstr("_broken.json"));
  EXPECT_GT(finding["parallel_places"][0]["line"], 0);
  EXPECT_FALSE(finding["witness"]["inputs"].empty());
  EXPECT_EQ(finding["witness"]["element"],
            json::parse(R"({"tensor": "last:grad.n2", "axes": ["tp"], "index": [0, 16],
                            "is": "grad.n2", "of_index": [16]})"));
}

TEST(JsonReport, HasBothSidesOfAFailingStage) {
  const json report = json::parse(JsonReport(Broken()));
  const json& operators = report["violations"][0]["stage_operators"];
  const json& parallel = report["graphs"]["parallel"]["operators"];
  const json& logical = report["graphs"]["logical"]["operators"];
  ASSERT_FALSE(operators["parallel"].empty());
  ASSERT_FALSE(operators["logical"].empty());
  EXPECT_EQ(operators["suspected"], 1);
  EXPECT_EQ(parallel[operators["parallel"][0].get<int>()]["name"], "identity");
  EXPECT_EQ(parallel[operators["parallel"][0].get<int>()]["ranks"], json::parse("[[2,3],[6,7]]"));
  EXPECT_EQ(logical[operators["logical"][0].get<int>()]["label"], "grad.m");
}

TEST(JsonReport, ListsEveryClaimAndCutsNothingShort) {
  stages::Result result = ResultOfFile(kBroken);
  const std::string long_text(100'000, 'x');
  result.violations[0].cause = long_text;
  result.violations[0].devices.assign(10'000, 3);
  const json report = json::parse(JsonReport(result, {}));
  EXPECT_EQ(report["claims"].size(), report["stages"]["total"]);
  EXPECT_EQ(report["violations"][0]["cause"], long_text);
  EXPECT_EQ(report["violations"][0]["devices"].size(), 10'000u);
}

TEST(JsonReport, WithoutAnAccountHasItsFindings) {
  stages::Result result = ResultOfFile(kBroken);
  result.account = nullptr;
  const json report = json::parse(JsonReport(result, {}));
  EXPECT_TRUE(report["claims"].empty());
  EXPECT_EQ(report["violations"].size(), 1u);
}

TEST(ReadJsonReport, NamesWhatIsWrongInOneLine) {
  const auto error = [](const std::string& text) {
    const absl::StatusOr<Report> report = ReadJsonReport(text);
    EXPECT_FALSE(report.ok()) << text;
    const std::string message(report.status().message());
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_LT(message.size(), 400u);
    return message;
  };
  EXPECT_THAT(error(""), HasSubstr("no JSON report"));
  EXPECT_THAT(error("[1]"), HasSubstr("no JSON report"));
  EXPECT_THAT(error("{\"a\": 1}"), HasSubstr("but no report"));
  EXPECT_THAT(error(R"({"verdict": "YES"})"), HasSubstr("/verdict is to be PROVED"));
  EXPECT_THAT(error(R"({"verdict": 1})"), HasSubstr("/verdict is to be text"));
  EXPECT_THAT(error(R"({"verdict": "PROVED", "planproof_report": 2})"), HasSubstr("format 2"));
  EXPECT_THAT(error(R"({"verdict": "PROVED", "violations": {}})"),
              HasSubstr("/violations is to be a list"));
  EXPECT_THAT(error(R"({"verdict": "PROVED", "violations": [{"devices": ["a\nb"]}]})"),
              HasSubstr("/violations/0/devices/0 is to be a whole number"));
  EXPECT_THAT(error(R"({"verdict": "PROVED", "claims": [{"ranks": [[3, 1]]}]})"),
              HasSubstr("/claims/0/ranks/0"));
  EXPECT_THAT(error(R"({"verdict": "PROVED", "claims": [{"class": 99999999999}]})"),
              HasSubstr("a smaller number"));
  EXPECT_THAT(error(R"({"verdict": "PROVED", "claims": [{"ranks": [[0, 2147483647]]}]})"),
              HasSubstr("a smaller number"));
  EXPECT_THAT(error(R"({"verdict": "PROVED", "stages": {"total": 1e30}})"),
              HasSubstr("/stages/total"));
  EXPECT_THAT(error(R"({"verdict": "PROVED", "stages": {"total": 18446744073709551615}})"),
              HasSubstr("/stages/total"));
}

TEST(ReadJsonReport, RefusesPositionsThatAreNotThere) {
  for (const char* members :
       {R"("map": {"cells": [{"layer": 0}]})", R"("map": {"cells": [{"layer": -1}]})",
        R"("violations": [{"stage_operators": {"parallel": [0]}}])",
        R"("violations": [{"stage_operators": {"suspected": 1}}])",
        R"("graphs": {"logical": {"operators": [{"inputs": [7]}]}})"}) {
    const auto report = ReadJsonReport(std::string(R"({"verdict": "REFUTED", )") + members + "}");
    ASSERT_FALSE(report.ok()) << members;
    EXPECT_THAT(std::string(report.status().message()), HasSubstr("that is not there")) << members;
  }
}

TEST(ReadJsonReport, RefusesWhatIsDeepWithoutEndingTheProgram) {
  EXPECT_FALSE(ReadJsonReport(std::string(1'000'000, '[')).ok());
  std::string nested = R"({"verdict": "PROVED", "map": )";
  for (int i = 0; i < 100'000; ++i) nested += R"({"map": )";
  EXPECT_FALSE(ReadJsonReport(nested).ok());
  EXPECT_FALSE(ReadJsonReport(nested + "1" + std::string(100'001, '}')).ok());
}

TEST(ReadJsonReport, LeavesOutWhatItDoesNotKnow) {
  const auto report = ReadJsonReport(R"({"verdict": "UNKNOWN", "later": {"a": [1]}})");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->result.verdict, stages::Verdict::kUnknown);
}

// Every prefix and every changed byte of a report is read or refused.
TEST(ReadJsonReport, SurvivesDamage) {
  const std::string text = JsonReport(Describe(ResultOfFile("examples/mlp_tp2_broken.json"), {}));
  for (size_t at = 0; at < text.size(); at += 37) {
    (void)ReadJsonReport(text.substr(0, at)).ok();
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    const auto report = ReadJsonReport(changed);
    if (!report.ok()) continue;
    (void)TextReport(report->result);
    (void)HtmlReport(*report);
    (void)SarifReport(*report);
    (void)JunitReport(*report);
  }
}

}  // namespace
}  // namespace planproof::report
