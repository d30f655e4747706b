// The page by its text; scripts/check_html.py opens it in a browser where there is one.
#include "report/html/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "report/html/page_files.h"
#include "tests/report/results.h"

namespace planproof::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string PageOf(const std::string& file) {
  return HtmlReport(Describe(ResultOfFile(file), {file}));
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

nlohmann::json DataOf(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(HtmlReport, ShowsBothSidesOfAFailingStage) {
  const std::string page = PageOf("examples/mlp_tp2_broken.json");
  EXPECT_THAT(page, HasSubstr("<title>REFUTED: examples/mlp_tp2_broken.json</title>"));
  EXPECT_THAT(page, HasSubstr("What the model computes"));
  EXPECT_THAT(page, HasSubstr("What the plan computes"));
  EXPECT_EQ(Count(page, "<svg"), 2u);
  EXPECT_EQ(Count(page, "class=\"suspect\""), 1u);
  EXPECT_THAT(page, HasSubstr("422.494"));
  EXPECT_THAT(page, HasSubstr("sum over tp missing"));
}

TEST(HtmlReport, OfAProofHasItsMapAndWhatItRestsOn) {
  const std::string page = PageOf("examples/mlp_tp2.json");
  EXPECT_THAT(page, HasSubstr("PROVED</span>"));
  EXPECT_THAT(page, HasSubstr("devices hold the slices of inputs"));
  EXPECT_EQ(Count(page, "<svg"), 0u);
  EXPECT_EQ(Count(page, "<tr data-row="), 1u);
  EXPECT_EQ(DataOf(page)["stages"].size(), 6u);
}

TEST(HtmlReport, OfAPlanThatIsNoneSaysWhereItIsWrong) {
  const std::string page = PageOf("examples/first_plan/wrong_name.json");
  EXPECT_THAT(page, HasSubstr("MALFORMED"));
  EXPECT_THAT(page, HasSubstr("wrong_name.json:22"));
  EXPECT_THAT(page, HasSubstr("not taken apart into stages"));
}

TEST(HtmlReport, LoadsNothing) {
  for (const char* file : {"examples/mlp_tp2_broken.json", "examples/daily/fsdp.json"}) {
    const std::string page = PageOf(file);
    for (const char* outside : {"http:", "https:", "src=\"/", "@import", "url("})
      EXPECT_THAT(page, Not(HasSubstr(outside))) << file;
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
    EXPECT_THAT(page, HasSubstr(PageScriptHash()));
  }
}

// Names come from files that anybody may have written.
TEST(HtmlReport, NamesAreNeitherMarkupNorScript) {
  const std::string attack = "</script><img src=x onerror=alert(1)>";
  const std::string quotes = "\" onload=\"alert(2)\" '<!--";
  const stages::Result result =
      ResultOfText(PlanWithNames("x" + attack, "w" + quotes, "part" + attack, "y" + attack));
  ASSERT_EQ(result.verdict, stages::Verdict::kRefuted);
  const std::string page = HtmlReport(Describe(result, {attack + ".json"}));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("\" onload=")));
  EXPECT_EQ(Count(page, "<script"), 2u);
  EXPECT_EQ(Count(page, "</script"), 2u);
  EXPECT_EQ(Count(page, "<!--"), 0u);
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;img"));
  EXPECT_EQ(DataOf(page)["stages"][0][0], "y" + attack);
}

TEST(HtmlReport, IsTheSameForTheSameResult) {
  const stages::Result result = ResultOfFile("examples/mlp_tp2_broken.json");
  EXPECT_EQ(HtmlReport(Describe(result, {"a"})), HtmlReport(Describe(result, {"a"})));
}

}  // namespace
}  // namespace planproof::report
