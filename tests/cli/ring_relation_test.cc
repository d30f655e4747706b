// Relations that say which part a rank of a ring holds: read exactly, whichever way around.
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

constexpr char kRing[] = R"json({
  "planproof": 1,
  "specification": {
    "inputs": {"x": [8, 4]},
    "operators": [{"op": "silu", "in": "x", "out": "y"}],
    "outputs": {"y": {"0": "cp"}}
  },
  "plan": {
    "mesh": {"cp": 4},
    "programs": [{
      "inputs": {"x": {"map": ["((cp + HELD) % 4) * 2 + i0", "i1"], "shape": [2, 4]}},
      "operators": [
        {"op": "permute", "over": "cp", "shift": SHIFT, "in": "x", "out": "mine"},
        {"op": "silu", "in": "mine", "out": "y"}
      ],
      "lineage": {"mine": {"of": "x", "map": ["((cp + CLAIMED) % 4) * 2 + i0", "i1"]}}
    }]
  }
}
)json";

int ExitCode(const char* held, const char* shift, const char* claimed) {
  const std::string path = TemporaryFile(
      "ring.json",
      absl::StrReplaceAll(kRing, {{"HELD", held}, {"SHIFT", shift}, {"CLAIMED", claimed}}));
  return RunProgram("verify -q --no-cache " + path).exit_code;
}

// Rank r holds part r + 3, which is that of the rank before it; passing back gives it its own.
TEST(RingRelation, APartPassedBackIsProved) { EXPECT_EQ(ExitCode("3", "-1", "0"), 0); }
TEST(RingRelation, AnyOffsetIsTakenModuloTheRing) { EXPECT_EQ(ExitCode("7", "3", "4"), 0); }

TEST(RingRelation, TheOtherWayAroundIsRefuted) {
  EXPECT_EQ(ExitCode("3", "1", "0"), 1);
  EXPECT_EQ(ExitCode("1", "-1", "0"), 1);
  EXPECT_EQ(ExitCode("0", "-1", "0"), 1);
}

// Two ranks hold two of four parts, wherever they begin: that is no whole output.
TEST(RingRelation, AHoleIsFound) {
  constexpr char kHole[] = R"json({
  "planproof": 1,
  "specification": {
    "inputs": {"x": [8, 4]},
    "operators": [{"op": "silu", "in": "x", "out": "y"}],
    "outputs": {"y": {"map": ["((cp + 1) % PARTS) * 2 + i0", "i1"], "shape": [2, 4]}}
  },
  "plan": {
    "mesh": {"cp": RANKS},
    "programs": [{
      "inputs": {"x": {"map": ["((cp + 1) % PARTS) * 2 + i0", "i1"], "shape": [2, 4]}},
      "operators": [{"op": "silu", "in": "x", "out": "y"}]
    }]
  }
}
)json";
  const auto run = [&](const char* ranks, const char* parts) {
    return RunProgram("verify -q --no-cache " +
                      TemporaryFile("hole.json", absl::StrReplaceAll(
                                                     kHole, {{"RANKS", ranks}, {"PARTS", parts}})));
  };
  EXPECT_EQ(run("4", "4").exit_code, 0);
  EXPECT_EQ(run("8", "4").exit_code, 0);
  for (const char* ranks : {"2", "3"}) {
    const Finished finished = run(ranks, "4");
    EXPECT_EQ(finished.exit_code, 2) << finished.output;
    EXPECT_NE(finished.output.find("hole"), std::string::npos) << finished.output;
  }
}

// What a rank holds on the way is claimed wrongly; the result is right all the same.
TEST(RingRelation, AWrongClaimOnTheWayDecidesNothing) {
  EXPECT_EQ(ExitCode("3", "-1", "1"), 0);
  EXPECT_EQ(ExitCode("3", "1", "2"), 1);
}

}  // namespace
}  // namespace planproof::cli
