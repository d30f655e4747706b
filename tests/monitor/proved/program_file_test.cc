#include "monitor/proved/program_file.h"

#include <gtest/gtest.h>

#include <string>

#include "monitor/proved/program_comparison.h"
#include "tests/monitor/proved/small_program.h"

namespace planproof::monitor {
namespace {

absl::StatusOr<std::vector<RankProgram>> Read(const std::string& text) {
  const MonitorJson json = MonitorJson::parse(text);
  return ReadPrograms(MonitorValue(json, "/program"));
}

TEST(ProgramFile, WhatIsWrittenIsRead) {
  const RankProgram program = ProgramOf({});
  const auto read = Read(ProgramsToText({program}));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 1);
  const ProgramComparison found = ComparePrograms(
      program, read->front(), SizeRatios(), [](const auto& a, const auto& b) { return a == b; });
  EXPECT_FALSE(found.difference.has_value());
  EXPECT_EQ(found.compared, 5);
}

TEST(ProgramFile, NumbersThatDoNotExistAreErrors) {
  std::string text = ProgramsToText({ProgramOf({})});
  const std::string key = "\"updated\":[";
  ASSERT_NE(text.find(key), std::string::npos);
  text.replace(text.find(key), key.size(), "\"updated\":[99,");
  EXPECT_FALSE(Read(text).ok());
}

TEST(ProgramFile, ProgramsAreThoseOfAllRanks) {
  RankProgram second = ProgramOf({});
  second.rank = 2;
  EXPECT_FALSE(Read(ProgramsToText({ProgramOf({}), second})).ok());
}

}  // namespace
}  // namespace planproof::monitor
