// SARIF by structure; tests/report/check_formats.py validates it with the schema where it is at
// hand.
#include "report/sarif_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/report/results.h"

namespace planproof::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json SarifOf(const std::string& file) {
  return json::parse(SarifReport(Describe(ResultOfFile(file), {file})));
}

TEST(SarifReport, OfAProofHasNoResults) {
  const json run = SarifOf("examples/mlp_tp2.json")["runs"][0];
  EXPECT_TRUE(run["results"].is_array());
  EXPECT_TRUE(run["results"].empty());
  EXPECT_EQ(run["invocations"][0]["exitCode"], 0);
  EXPECT_EQ(run["properties"]["verdict"], "PROVED");
}

TEST(SarifReport, HasARuleForEachKindOfFindingAndAPlaceForEachResult) {
  for (const char* file :
       {"examples/mlp_tp2_broken.json", "examples/pipeline_1f1b_broken.json",
        "examples/first_plan/wrong_name.json", "examples/first_plan/missing_sum_no_lineage.json"}) {
    const json log = SarifOf(file);
    EXPECT_EQ(log["version"], "2.1.0");
    const json& run = log["runs"][0];
    const json& rules = run["tool"]["driver"]["rules"];
    std::set<std::string> ids;
    for (const json& rule : rules) {
      EXPECT_TRUE(ids.insert(rule["id"]).second);
      for (const char* text : {"shortDescription", "fullDescription", "help"})
        EXPECT_FALSE(rule[text]["text"].get<std::string>().empty());
    }
    ASSERT_FALSE(run["results"].empty()) << file;
    for (const json& result : run["results"]) {
      EXPECT_EQ(rules[result["ruleIndex"].get<size_t>()]["id"], result["ruleId"]);
      const json& place = result["locations"][0]["physicalLocation"];
      EXPECT_FALSE(place["artifactLocation"]["uri"].get<std::string>().empty());
      EXPECT_GE(place["region"]["startLine"], 1);
      std::set<std::string> names;  // the schema wants each once
      for (const json& logical : result["locations"][0].value("logicalLocations", json::array()))
        EXPECT_TRUE(names.insert(logical["fullyQualifiedName"]).second) << logical;
      EXPECT_FALSE(result["message"]["text"].get<std::string>().empty());
    }
  }
}

TEST(SarifReport, StandsInThePlanAndRelatesTheModel) {
  const json result = SarifOf("examples/mlp_tp2_broken.json")["runs"][0]["results"][0];
  EXPECT_EQ(result["ruleId"], "value-differs");
  EXPECT_EQ(result["level"], "error");
  EXPECT_THAT(result["message"]["text"].get<std::string>(), HasSubstr("sum over tp missing"));
  EXPECT_THAT(
      result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].get<std::string>(),
      HasSubstr("mlp_tp2_broken.json"));
  EXPECT_EQ(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "stage/y");
  const json& model = result["relatedLocations"].back()["physicalLocation"];
  EXPECT_EQ(model["artifactLocation"]["uri"], "mlp.py");
  EXPECT_EQ(model["region"]["startLine"], 10);
}

TEST(SarifReport, ErrorsOfReadersHaveTheirLine) {
  const std::string file =
      std::string(PLANPROOF_SOURCE_DIR) + "/examples/first_plan/wrong_name.json";
  const json result = SarifOf(file)["runs"][0]["results"][0];
  const json& place = result["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["region"]["startLine"], 22);
  EXPECT_EQ(place["artifactLocation"]["uri"], "file://" + file);
}

TEST(SarifReport, UnknownIsAWarning) {
  stages::Result result;
  stages::Violation violation;
  violation.kind = "not proved";
  violation.stage = "y";
  result.violations = {violation};
  const json log = json::parse(SarifReport(Describe(result, {"a plan.json"})));
  const json& found = log["runs"][0]["results"][0];
  EXPECT_EQ(found["level"], "warning");
  EXPECT_EQ(found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "a%20plan.json");
}

}  // namespace
}  // namespace planproof::report
