// JUnit's XML by its text; tests/report/check_formats.py reads it with others' readers.
#include "report/junit_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/report/results.h"

namespace planproof::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string JunitOf(const std::string& file) {
  return JunitReport(Describe(ResultOfFile(file), {file}));
}

TEST(JunitReport, OfAProofHasAPassedTestForEachOutput) {
  const std::string xml = JunitOf("examples/mlp_tp2.json");
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"planproof.required\" name=\"loss\""));
  EXPECT_THAT(xml, HasSubstr("<property name=\"verdict\" value=\"PROVED\"/>"));
}

TEST(JunitReport, OfAFaultFailsOnceAndSkipsWhatRestsOnIt) {
  const std::string xml = JunitOf("examples/mlp_tp2_broken.json");
  EXPECT_THAT(xml, HasSubstr("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"3\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"stage y: sum over tp missing\" "
                             "type=\"value differs\">REFUTED: stage y"));
}

// No test may pass alone that the plan is proved by.
TEST(JunitReport, OfWhatIsNotProvedFailsThoughNothingWasFound) {
  stages::Result result;
  result.verdict = stages::Verdict::kUnknown;
  EXPECT_THAT(JunitReport(Describe(result, {})), HasSubstr("failures=\"0\" errors=\"1\""));
  result.verdict = stages::Verdict::kRefuted;
  EXPECT_THAT(JunitReport(Describe(result, {})), HasSubstr("failures=\"1\" errors=\"0\""));
}

TEST(JunitReport, OfWhatIsUnknownIsAnError) {
  stages::Result result;
  stages::Violation violation;
  violation.kind = "not proved";
  result.violations = {violation};
  EXPECT_THAT(JunitReport(Describe(result, {})), HasSubstr("failures=\"0\" errors=\"1\""));
}

TEST(JunitReport, OfAPlanThatIsNoneFails) {
  EXPECT_THAT(JunitOf("examples/first_plan/missing_comma.json"),
              HasSubstr("tests=\"1\" failures=\"1\""));
}

TEST(JunitReport, NamesAreNoMarkup) {
  stages::Result result = ResultOfText(PlanWithNames("x\"<a>", "w&", "]]><b/>", "y<!--"));
  ASSERT_EQ(result.verdict, stages::Verdict::kRefuted);
  result.violations[0].cause = "</failure>\x01";
  const std::string xml = JunitReport(Describe(result, {"<plan>"}));
  for (const char* raw : {"<a>", "]]>", "<!--", "</failure>\x01", "<plan>", "w& "})
    EXPECT_THAT(xml, Not(HasSubstr(raw)));
}

}  // namespace
}  // namespace planproof::report
