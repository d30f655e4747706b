#include "report/stage_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/report/results.h"

namespace planproof::report {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const Report& Broken() {
  static const Report report = Describe(ResultOfFile("examples/mlp_tp2_broken.json"), {});
  return report;
}

TEST(StageText, OfAFaultBeginsAsTheReportDoes) {
  const auto text = StageText(Broken(), "y");
  ASSERT_TRUE(text.ok());
  const std::string whole = TextReport(Broken().result);
  EXPECT_THAT(*text, StartsWith(whole.substr(0, whole.find("\n\n") + 1)));
  EXPECT_THAT(*text, HasSubstr("\nstage y: refuted\n  lineage    y = y[0:16, 0:64]\n"));
  EXPECT_THAT(*text, HasSubstr("  difference "));
}

TEST(StageText, OfWhatIsRequiredSaysSo) {
  const auto text = StageText(Broken(), "grad.w1");
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, StartsWith("stage grad.w1: after fault\n  required   grad.w1\n"));
  EXPECT_THAT(*text, HasSubstr("  held by    ranks 0, 1\n"));
}

TEST(StageText, NamesWhatComesNearWhatIsNotThere) {
  const auto near = StageText(Broken(), "w1");
  EXPECT_EQ(near.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(near.status().message()), HasSubstr("there are grad.w1"));
  EXPECT_THAT(std::string(StageText(Broken(), "grd.w1").status().message()),
              HasSubstr("did you mean grad.w1?"));
  EXPECT_THAT(std::string(StageText(Broken(), "a\nb").status().message()),
              HasSubstr("no stage a b"));
}

}  // namespace
}  // namespace planproof::report
