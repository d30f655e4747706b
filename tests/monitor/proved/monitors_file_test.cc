// Files of monitors: what is written is read, and what is damaged is an error with its place.
#include "monitor/proved/monitors_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/monitor/proved/written_step.h"

namespace planproof::monitor {
namespace {

using testing::HasSubstr;

ProvedMonitors AllOfThem() {
  ProvedMonitors monitors = MonitorsOfTests();
  monitors.anchored = true;
  monitors.tensors[0].contributions = ContributionMonitor{0.5, {0}};
  monitors.tensors[1].cut.clear();
  monitors.tensors[1].flat = {0};
  monitors.tensors[2].cut.clear();
  monitors.tensors[2].groups = {{0, 1}, {2}};
  monitors.tensors[2].sets[0].same = Sameness::kAlike;
  monitors.tensors[2].sets[0].ranks = {0, 2};
  monitors.tensors[2].sets[1].late = true;
  monitors.collectives.push_back(
      {CollectiveKind::kAllReduce, {1}, sdfg::DType::kFloat32, 9, "train.py:3", {0, 1}});
  monitors.tensors[0].dtype = sdfg::DType::kBFloat16;
  monitors.assumptions = {"ranks run the same program"};
  monitors.without = {{"head.weight", "no relation of it was required"}};
  return monitors;
}

TEST(MonitorsFile, WhatIsWrittenIsRead) {
  const std::string text = MonitorsToText(AllOfThem());
  const absl::StatusOr<ProvedMonitors> read = MonitorsFromText(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(MonitorsToText(*read), text);
  EXPECT_EQ(read->world, 4);
  EXPECT_EQ(read->tensors[2].sets[0].same, Sameness::kAlike);
  EXPECT_EQ(read->tensors[1].flat, std::vector<int32_t>{0});
}

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(MonitorsFile, WhatIsDamagedIsAnErrorWithItsPlace) {
  const std::string text = MonitorsToText(AllOfThem());
  struct Damage {
    const char* what;
    const char* by;
    const char* error;
  };
  const Damage damages[] = {
      {"\"planproof_monitors\": 1", "\"planproof_monitors\": 2", "another version"},
      {"\"cut\":[[0]]", "\"cut\":[[2]]", "/tensors/0/cut/0/0"},
      {"\"cut\":[[0]]", "\"cut\":[[0],[1]]", "/tensors/0/cut"},
      {"\"same\":\"bits\"", "\"same\":\"bit\"", "no word of this version"},
      {"\"clipped\":true", "\"clipped\":1", "neither true nor false"},
      {"\"factor\":0.9", "\"factor\":\"0.9\"", "is no number"},
      {"\"bound\":0.5", "\"bound\":-1", "no bound of a norm"},
      {"[\"dp\",2]", "[\"dp\",70000]", "is not between"},
      {"\"anchored\"", "\"anchor\"", "no key of this version"},
      {"\"name\":", "\"Name\":", "no key of this version"},
  };
  for (const Damage& damage : damages) {
    const auto read = MonitorsFromText(Replaced(text, damage.what, damage.by));
    ASSERT_FALSE(read.ok()) << damage.by;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(damage.error)) << damage.by;
  }
}

TEST(MonitorsFile, WhatIsCutOffIsAnError) {
  const std::string text = MonitorsToText(AllOfThem());
  for (size_t length = 0; length + 2 < text.size(); length += 37) {
    EXPECT_FALSE(MonitorsFromText(text.substr(0, length)).ok()) << length;
  }
}

TEST(MonitorsFile, DepthIsLimited) {
  EXPECT_FALSE(MonitorsFromText(std::string(100000, '[')).ok());
}

}  // namespace
}  // namespace planproof::monitor
