#include "monitor/learned/combine.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "monitor/learned/checker.h"
#include "monitor/learned/facts_file.h"

namespace planproof::monitor::learned {
namespace {

LearnedRun RunWith(const std::string& value, int64_t support, ValueKind kind = ValueKind::kCode,
                   bool contradicted = false) {
  LearnedRun run;
  run.source = SourceKind::kTrace;
  run.steps = 10;
  run.phases = {"training"};
  Fact fact{.form = Form::kEquals,
            .phase = "training",
            .subject = "torch.nn.f",
            .other = "flag",
            .value = value};
  fact.kind = kind;
  fact.support = support;
  run.hypotheses.push_back({fact, contradicted});
  return run;
}

TEST(Combine, AFactNeedsSupport) {
  EXPECT_TRUE(Combine({RunWith("true", 1), RunWith("true", 1)})->facts.empty());
  const auto facts = Combine({RunWith("true", 2), RunWith("true", 1)});
  ASSERT_EQ(facts->facts.size(), 1);
  EXPECT_EQ(facts->facts[0].support, kLeastSupport);
  EXPECT_EQ(facts->facts[0].windows, 1);
}

TEST(Combine, WhatAReferenceContradictsIsNoFact) {
  EXPECT_TRUE(Combine({RunWith("true", 9), RunWith("false", 9)})->facts.empty());
  EXPECT_TRUE(
      Combine({RunWith("true", 9), RunWith("true", 9, ValueKind::kCode, true)})->facts.empty());
}

TEST(Combine, NumbersAreDifferences) {
  const auto facts =
      Combine({RunWith("0.1", 9, ValueKind::kNumber), RunWith("0.1", 9, ValueKind::kNumber)});
  ASSERT_EQ(facts->facts.size(), 1);
  EXPECT_EQ(facts->facts[0].windows, 0);
}

TEST(Combine, AStratumThatOneReferenceContradictsDoesNotAlarm) {
  std::vector<LearnedRun> runs = {RunWith("true", 9), RunWith("true", 9)};
  for (int i = 0; i < 2; ++i) {
    Fact other{.form = Form::kEquals,
               .phase = "training",
               .subject = "torch.nn.g",
               .other = "flag",
               .value = i == 0 ? "a" : "b"};
    other.support = 9;
    runs[i].hypotheses.push_back({other, false});
  }
  const auto facts = Combine(runs);
  ASSERT_EQ(facts->facts.size(), 1);
  EXPECT_EQ(facts->facts[0].windows, 0);
  ASSERT_EQ(facts->strata.size(), 1);
  EXPECT_EQ(facts->strata[0].contradicted, 1);
}

TEST(Combine, ReferencesOfTwoProgramsAreAnError) {
  LearnedRun other = RunWith("true", 9);
  other.program = {"weight [3]"};
  EXPECT_FALSE(Combine({RunWith("true", 9), other}).ok());
  EXPECT_FALSE(Combine({}).ok());
}

TEST(WindowsForAlarm, AreTheFewestThatKeepTheBudget) {
  // 1 - 0.05^(1/40) = 0.0722: 20 steps * 0.0722^3 = 7.5e-3, ^4 = 5.4e-4.
  EXPECT_EQ(WindowsForAlarm(40, 20, 1e-3), 4);
  EXPECT_EQ(WindowsForAlarm(40, 20, 1e-2), 3);
  EXPECT_EQ(WindowsForAlarm(0, 20, 1e-3), 0);
  EXPECT_EQ(WindowsForAlarm(1, 20, 1e-3), 0);  // 0.95^64 is not small enough
}

TEST(FactsFile, IsReadAsItWasWritten) {
  auto facts = Combine({RunWith("true", 9), RunWith("true", 9)});
  facts->program = {"weight [3]"};
  const std::string text = WriteFacts(*facts);
  const auto again = ParseFacts("facts.json", text);
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_EQ(again->facts.size(), 1);
  EXPECT_EQ(again->facts[0].value, "true");
  EXPECT_EQ(again->program, facts->program);
  EXPECT_EQ(again->references, 2);
}

TEST(FactsFile, SaysWhatIsWrong) {
  const std::string text = WriteFacts(*Combine({RunWith("true", 9), RunWith("true", 9)}));
  const auto error_of = [&text](const std::string& from, const std::string& to) {
    std::string wrong = text;
    const size_t at = wrong.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    wrong.replace(at, from.size(), to);
    return std::string(ParseFacts("f", wrong).status().message());
  };
  EXPECT_EQ(error_of("\"equals\",\"subject\"", "\"like\",\"subject\""),
            "f: fact 0: form is not one of the format's; learn the file again");
  EXPECT_EQ(error_of("\"version\": 1", "\"version\": 2"),
            "f: version 2 is not known; learn the file again");
  EXPECT_EQ(error_of("\"support\":18", "\"support\":-1").substr(0, 10), "f: fact 0:");
  EXPECT_FALSE(ParseFacts("f", std::string(20000, '[')).ok());
  EXPECT_FALSE(ParseFacts("f", "").ok());
}

TEST(Symbols, RefuseTextsThatAreTooLong) {
  Symbols symbols;
  EXPECT_NE(symbols.Of(std::string(512, 'x')), kNoSymbol);
  EXPECT_EQ(symbols.Of(std::string(513, 'x')), kNoSymbol);
  EXPECT_EQ(symbols.left_out(), 1);
}

}  // namespace
}  // namespace planproof::monitor::learned
