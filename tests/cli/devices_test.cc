// The devices of a finding: all on which it shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;

// A matrix product cut over dp and tp, doubled on the ranks `at`.
Finished DoubledAt(const std::string& at) {
  return RunProgram("verify --no-cache " + TemporaryFile("devices.json", R"json({
  "planproof": 1,
  "specification": {
    "inputs": {"x": [4, 6]}, "parameters": {"w": [8, 6]},
    "operators": [{"op": "linear", "in": ["x", "w"], "out": "y"}],
    "outputs": {"y": {"0": "dp", "1": "tp"}}},
  "plan": {"mesh": {"dp": 2, "tp": 4}, "programs": [{
    "inputs": {"x": {"0": "dp"}, "w": {"0": "tp"}},
    "operators": [{"op": "linear", "in": ["x", "w"], "out": "y"}],
    "exceptions": [{"at": )json" + at + R"json(, "replace": "y", "with": [
      {"op": "linear", "in": ["x", "w"], "out": "q"},
      {"op": "mul", "in": ["q", 2], "out": "y"}]}]}]}})json"));
}

TEST(Devices, OfAnExceptionAreThoseAtEveryCoordinateThatItDoesNotName) {
  EXPECT_THAT(DoubledAt(R"({"tp": 2})").output, HasSubstr("; devices 2, 6;"));
  EXPECT_THAT(DoubledAt(R"({"dp": 1})").output, HasSubstr("; devices 4-7;"));
  EXPECT_THAT(DoubledAt(R"({"dp": 1, "tp": 2})").output, HasSubstr("; device 6;"));
}

}  // namespace
}  // namespace planproof::cli
