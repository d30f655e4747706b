#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/json_report.h"
#include "report/text_layout.h"
#include "report/text_report.h"

namespace planproof::report {
namespace {

using stages::Result;
using stages::Verdict;
using stages::Violation;

Violation MissingSum() {
  Violation violation;
  violation.verdict = Verdict::kRefuted;
  violation.kind = "value differs";
  violation.stage = "layers.0.attention.wo";
  violation.logical_operator = "linear (layers.0.attention.wo)";
  violation.logical_source = "model.py:42: return self.wo(x)";
  violation.parallel_operators = {"linear (cell 17)", "identity (cell 18)"};
  violation.devices = {5, 4, 6, 12};
  violation.microbatches = "0-1";
  violation.lineage = "full [0:8, 0:1024] of layers.0.attention.wo";
  violation.cause = "sum over tp missing";
  violation.witness_logical = "3.25";
  violation.witness_parallel = "1.5";
  violation.witness_inputs = {"x[0, 0] = 1", "x[0, 1] = 2"};
  violation.message = "device 4 holds one of 2 terms";
  return violation;
}

Result Refuted() {
  Result result;
  result.verdict = Verdict::kRefuted;
  result.stages.total = 1234;
  result.stages.classes = 20;
  result.stages.proved = 1233;
  result.stages.refuted = 1;
  result.operators.logical = 80;
  result.operators.parallel = 4000;
  result.operators.covered = 3990;
  result.outputs.required = 16;
  result.outputs.claimed = 16;
  result.tiers = {{"identical", 12}, {"normal form", 8}};
  result.relations = {"loss: one term for each copy and microbatch"};
  result.premises = {"layers.0.norm: x^2 + eps > 0"};
  result.assumptions = {"dropout is the identity"};
  result.violations = {MissingSum()};
  result.engine = "hybrid";
  result.time_s.total = 0.125;
  return result;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

TEST(TextReport, FirstFiveLinesOfARefutationSayWhereToLook) {
  const std::vector<std::string> lines = Lines(TextReport(Refuted()));
  ASSERT_GE(lines.size(), 5u);
  EXPECT_EQ(lines[0], "REFUTED: stage layers.0.attention.wo: sum over tp missing");
  EXPECT_EQ(lines[1],
            "  logical    linear (layers.0.attention.wo), at model.py:42: return self.wo(x)");
  EXPECT_EQ(lines[2],
            "  parallel   linear (cell 17), identity (cell 18); devices 4-6, 12; microbatches 0-1");
  EXPECT_EQ(lines[3], "  lineage    full [0:8, 0:1024] of layers.0.attention.wo");
  EXPECT_EQ(lines[4], "  witness    logical 3.25, parallel 1.5");
}

TEST(TextReport, ValuesAreShortAndInputsReadableUnlessAskedOtherwise) {
  Result result = Refuted();
  Violation& v = result.violations[0];
  v.witness_place = "loss[0] on dp=1";
  v.witness_logical = "[3.2500000000000001, 3.2500000000000004]";
  v.witness_logical_short = "3.25";
  v.witness_parallel_short = "1.5";
  v.witness_precision = 53;
  v.witness_inputs = {"x [2 = 2x{0,1}]: 1 2"};
  v.witness_example = {"x = [1, 2]"};
  const std::string text = TextReport(result);
  EXPECT_THAT(text,
              testing::HasSubstr("  witness    loss[0] on dp=1: logical 3.25, parallel 1.5\n"));
  EXPECT_THAT(text, testing::HasSubstr("  inputs     x = [1, 2]\n"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("2x{0,1}")));
  TextOptions options;
  options.verbose = true;
  const std::string all = TextReport(result, options);
  EXPECT_THAT(all, testing::HasSubstr("logical [3.2500000000000001, 3.2500000000000004], parallel "
                                      "1.5 (enclosures at 53 bits)"));
  EXPECT_THAT(all, testing::HasSubstr("x [2 = 2x{0,1}]: 1 2"));
}

TEST(TextReport, LongLinesAreWrappedToTheTerminalAndNothingIsLost) {
  Result result = Refuted();
  TextOptions options;
  options.columns = 60;
  const std::vector<std::string> lines = Lines(TextReport(result, options));
  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), 60u) << line;
    joined += line;
  }
  const auto without_blanks = [](std::string text) {
    text.erase(
        std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n'; }),
        text.end());
    return text;
  };
  EXPECT_EQ(without_blanks(joined), without_blanks(TextReport(result)));
  EXPECT_EQ(lines[2].substr(0, 13), "             ");
}

TEST(TextLayout, WrappedLinesKeepLongWordsAndDoNotCountColours) {
  EXPECT_EQ(Wrapped("a bb ccc", 4, 1), "a bb\n ccc");
  EXPECT_EQ(Wrapped("aaaaaaaa b", 4, 1), "aaaaaaaa\n b");
  EXPECT_EQ(Wrapped("short", 10, 2), "short");
  EXPECT_EQ(Wrapped("\033[1mab\033[0m cd", 5, 0, 8), "\033[1mab\033[0m cd");
}

TEST(TextReport, AVagueRefutationOfAPlanFileSaysHowToNarrowIt) {
  Result result = Refuted();
  TextOptions options;
  options.lineage_can_be_claimed = true;
  EXPECT_THAT(TextReport(result, options), testing::Not(testing::HasSubstr("narrow it")));
  result.violations[0].cause.clear();
  EXPECT_THAT(TextReport(result, options), testing::Not(testing::HasSubstr("narrow it")));
  result.violations[0].parallel_operators.push_back("add (cell 19)");
  EXPECT_THAT(TextReport(result, options), testing::HasSubstr("narrow it  claim \"lineage\""));
  EXPECT_THAT(TextReport(result), testing::Not(testing::HasSubstr("narrow it")));
}

TEST(TextReport, TimesOfStepsThatDidNotRunAreLeftOut) {
  Result result = Refuted();
  EXPECT_THAT(TextReport(result), testing::HasSubstr("0.125 s (read "));
  result.stages = {};
  EXPECT_THAT(TextReport(result), testing::HasSubstr("time       0.125 s\n"));
}

TEST(TextReport, WorstFindingComesFirst) {
  Result result = Refuted();
  Violation unknown;
  unknown.verdict = Verdict::kUnknown;
  unknown.stage = "layers.1.norm";
  unknown.kind = "not proved";
  result.violations.insert(result.violations.begin(), unknown);
  const std::string text = TextReport(result);
  EXPECT_EQ(text.rfind("REFUTED: stage layers.0.attention.wo", 0), 0u);
  EXPECT_NE(text.find("UNKNOWN: stage layers.1.norm: not proved"), std::string::npos);
}

TEST(TextReport, ProvedSaysWhatIsRequiredAndCounts) {
  Result result = Refuted();
  result.verdict = Verdict::kProved;
  result.violations.clear();
  result.stages.proved = 1234;
  result.stages.refuted = 0;
  const std::string text = TextReport(result);
  EXPECT_EQ(text.rfind("PROVED: ", 0), 0u);
  EXPECT_NE(text.find("required   loss: one term for each copy and microbatch"), std::string::npos);
  EXPECT_NE(text.find("1,234 in 20 classes: 1,234 proved (identical 12, normal form 8)"),
            std::string::npos);
  EXPECT_NE(text.find("4,000 parallel, 3,990 covered"), std::string::npos);
  EXPECT_NE(text.find("16 required, 16 claimed"), std::string::npos);
  EXPECT_NE(text.find("premises   layers.0.norm"), std::string::npos);
  EXPECT_NE(text.find("assumes    dropout is the identity"), std::string::npos);
  EXPECT_EQ(text.find("REFUTED"), std::string::npos);
}

TEST(TextReport, NamesFromFilesCannotForgeALineOrReachTheTerminal) {
  Result result = Refuted();
  result.violations[0].stage = "a\nPROVED: all fine\x1b[2J";
  for (const std::string& line : Lines(TextReport(result))) {
    EXPECT_NE(line.rfind("PROVED", 0), 0u) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  }
}

TEST(TextReport, ManyFindingsAreCountedNotPrinted) {
  Result result = Refuted();
  result.violations.assign(500, MissingSum());
  const std::string text = TextReport(result);
  EXPECT_LT(Lines(text).size(), 120u);
  EXPECT_NE(text.find("and 490 more findings"), std::string::npos);
}

TEST(JsonReport, HasEveryPromisedKey) {
  const auto json = nlohmann::json::parse(JsonReport(Refuted(), {"a.pkl", "b.pkl"}));
  EXPECT_EQ(json["verdict"], "REFUTED");
  for (const char* key : {"total", "classes", "proved", "refuted", "unknown"}) {
    EXPECT_TRUE(json["stages"][key].is_number()) << key;
  }
  for (const char* key : {"logical", "parallel", "covered"}) {
    EXPECT_TRUE(json["operators"][key].is_number()) << key;
  }
  for (const char* key : {"required", "claimed"}) {
    EXPECT_TRUE(json["outputs"][key].is_number()) << key;
  }
  for (const char* key : {"violations", "premises", "assumptions", "restrictions", "warnings"}) {
    EXPECT_TRUE(json[key].is_array()) << key;
  }
  for (const char* key :
       {"read", "check", "cut", "reduce", "evaluate", "decide", "workers", "total"}) {
    EXPECT_TRUE(json["time_s"][key].is_number()) << key;
  }
  for (const char* key : {"total", "largest"}) {
    EXPECT_TRUE(json["peak_rss_mb"][key].is_number()) << key;
  }
  EXPECT_EQ(json["engine"], "hybrid");
  EXPECT_EQ(json["version"], Version());
  EXPECT_EQ(json["stages"]["total"], 1234);
  EXPECT_EQ(json["violations"][0]["devices"], (std::vector<int>{5, 4, 6, 12}));
  EXPECT_EQ(json["violations"][0]["witness"]["parallel"], "1.5");
}

TEST(JsonReport, BytesThatAreNoUtf8AreReplaced) {
  Result result = Refuted();
  result.violations[0].stage = "\xff\xfe";
  EXPECT_FALSE(nlohmann::json::parse(JsonReport(result, {}), nullptr, false).is_discarded());
}

TEST(TextLayout, RangesMergeNeighbours) {
  EXPECT_EQ(Ranges({}), "");
  EXPECT_EQ(Ranges({3}), "3");
  EXPECT_EQ(Ranges({4, 3}), "3, 4");
  EXPECT_EQ(Ranges({2, 0, 1, 1, 9, 7, 8, 5}), "0-2, 5, 7-9");
}

TEST(TextLayout, OneLineCutsAtCharacterBoundaries) {
  EXPECT_EQ(OneLine("a \t\n b  "), "a b");
  EXPECT_EQ(OneLine("ääääää", 8), "ää...");
  EXPECT_EQ(OneLine("12345678", 8), "12345678");
}

TEST(TextLayout, GroupedSeparatesThousands) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(-123456), "-123,456");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
}

}  // namespace
}  // namespace planproof::report
