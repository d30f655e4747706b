// --expect-schedule: the published orders and the first step that differs.
#include "strategy/expected_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/schedules/pipeline_plan.h"

namespace planproof::schedules {
namespace {

using lineage::PipelineSchedule;
using lineage::PipelineStep;
using lineage::PublishedSchedule;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string Text(const std::vector<PipelineStep>& steps) {
  return absl::StrJoin(steps, " ", [](std::string* out, const PipelineStep& step) {
    absl::StrAppend(out, step.backward ? "B" : "F", step.chunk, ":", step.microbatch);
  });
}

TEST(PublishedSchedule, GPipeRunsAllForwardPassesFirst) {
  EXPECT_EQ(Text(PublishedSchedule(PipelineSchedule::kGPipe, 4, 1, 1, 3)),
            "F0:0 F0:1 F0:2 B0:0 B0:1 B0:2");
}

// Narayanan et al., 2021, figure 4 (top): 4 stages, 8 microbatches.
TEST(PublishedSchedule, OneForwardOneBackward) {
  EXPECT_EQ(Text(PublishedSchedule(PipelineSchedule::k1F1B, 4, 0, 1, 8)),
            "F0:0 F0:1 F0:2 F0:3 B0:0 F0:4 B0:1 F0:5 B0:2 F0:6 B0:3 F0:7 B0:4 B0:5 B0:6 B0:7");
  EXPECT_EQ(Text(PublishedSchedule(PipelineSchedule::k1F1B, 4, 3, 1, 3)),
            "F0:0 B0:0 F0:1 B0:1 F0:2 B0:2");
  // Fewer microbatches than stages before the last.
  EXPECT_EQ(Text(PublishedSchedule(PipelineSchedule::k1F1B, 4, 0, 1, 2)), "F0:0 F0:1 B0:0 B0:1");
}

// The same figure (bottom): two chunks per stage. Stage 3 begins with microbatches 0 to 3 of its
// chunk 0 and microbatch 0 of its chunk 1, which goes back at once.
TEST(PublishedSchedule, InterleavedGoesByGroupsOfMicrobatches) {
  const std::string last = Text(PublishedSchedule(PipelineSchedule::kInterleaved, 4, 3, 2, 8));
  EXPECT_THAT(last, StartsWith("F0:0 F0:1 F0:2 F0:3 F1:0 B1:0 F1:1 B1:1 F1:2 B1:2 F1:3 B1:3 F0:4 "
                               "B0:0 F0:5 B0:1 F0:6 B0:2 F0:7 B0:3 F1:4 B1:4"));
  EXPECT_THAT(last, testing::EndsWith("B0:4 B0:5 B0:6 B0:7"));
  const std::vector<PipelineStep> first =
      PublishedSchedule(PipelineSchedule::kInterleaved, 4, 0, 2, 8);
  EXPECT_EQ(first.size(), 32u);
  EXPECT_EQ(first[9], (PipelineStep{false, 0, 5}));  // 10 passes fill the pipeline
  EXPECT_EQ(first[11], (PipelineStep{true, 1, 0}));
}

TEST(ExpectedSchedule, APlanThatFollowsItIsProved) {
  EXPECT_EQ(Said(OneForwardOneBackward(), PipelineSchedule::k1F1B), "PROVED");
  const std::string all = R"(["F:0..4", "B:0..4", "end"])";
  EXPECT_EQ(Said(PipelinePlan(all, all), PipelineSchedule::kGPipe), "PROVED");
  const std::string reversed =
      R"(["F:0..4", {"for": "i", "from": 0, "to": 4, "do": ["B:3-i"]}, "end"])";
  EXPECT_EQ(Said(PipelinePlan(reversed, reversed), PipelineSchedule::kGPipe), "PROVED");
}

TEST(ExpectedSchedule, TheFirstStepThatDiffersIsNamed) {
  const std::string all = R"(["F:0..4", "B:0..4", "end"])";
  EXPECT_THAT(Said(PipelinePlan(all, all), PipelineSchedule::k1F1B),
              AllOf(StartsWith("MALFORMED: not the schedule 1f1b"),
                    HasSubstr("program \"stage0\" (stage 0 of 2) at position 2: B:0 is expected, "
                              "F:2 found")));
  EXPECT_THAT(Said(OneForwardOneBackward(), PipelineSchedule::kGPipe),
              HasSubstr("program \"stage0\" (stage 0 of 2) at position 2: F:2 is expected, B:0 "
                        "found"));
  // Stage 0 is right, stage 1 waits too long.
  EXPECT_THAT(
      Said(PipelinePlan(
               R"(["F:0", {"for": "i", "from": 0, "to": 3, "do": ["F:i+1", "B:i"]}, "B:3", "end"])",
               R"(["F:0..2", "B:0..2", "F:2", "B:2", "F:3", "B:3", "end"])"),
           PipelineSchedule::k1F1B),
      HasSubstr("program \"stage1\" (stage 1 of 2) at position 1: B:0 is expected, F:1 found"));
  const std::string backwards = R"(["F:0..4", "B:3", "B:1..3", "B:0", "end"])";
  EXPECT_THAT(Said(PipelinePlan(backwards, backwards), PipelineSchedule::kGPipe),
              HasSubstr("at position 5: B:2 is expected, B:1 found"));
}

TEST(ExpectedSchedule, AClaimThatDoesNotFitThePlanSaysWhatIsMissing) {
  EXPECT_THAT(Said(PipelinePlan("", ""), PipelineSchedule::k1F1B),
              AllOf(StartsWith("MALFORMED: not the schedule 1f1b"),
                    HasSubstr("program \"stage0\" states no order of its instances: begin phases "
                              "F0, B0, ... at its operators (\"phase\") and list their steps under "
                              "\"schedule\"")));
  EXPECT_THAT(Said(OneForwardOneBackward(), PipelineSchedule::kInterleaved),
              HasSubstr("has one chunk, not at least two"));
}

constexpr char kAll[] = R"(["F:0..4", "B:0..4", "end"])";
// Every microbatch goes through the whole stage before the next one: no pipeline at all.
constexpr char kSerial[] = R"([{"for": "i", "from": 0, "to": 4, "do": ["F:i", "B:i"]}, "end"])";

std::string Follows(const std::string& plan, PipelineSchedule schedule = PipelineSchedule::k1F1B) {
  return Said(plan, schedule);
}

TEST(ExpectedSchedule, PhasesWithoutAMeaningAreNamed) {
  const auto renamed = [](const std::string& forward, const std::string& backward) {
    std::string text = PipelinePlan(kAll, kAll);
    const auto rename = [&text](const std::string& from, const std::string& to) {
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
        text.replace(at, from.size(), to);
      }
    };
    rename(R"("phase": "F")", absl::StrCat(R"("phase": ")", forward, "\""));
    rename(R"("phase": "B")", absl::StrCat(R"("phase": ")", backward, "\""));
    rename("F:0..4", absl::StrCat(forward, ":0..4"));
    rename("B:0..4", absl::StrCat(backward, ":0..4"));
    return Follows(text, PipelineSchedule::kGPipe);
  };
  EXPECT_EQ(renamed("F0", "B0"), "PROVED");
  EXPECT_THAT(
      renamed("fwd", "bwd"),
      HasSubstr("not the schedule gpipe: program \"stage0\" has no phase F0, the forward pass "
                "of its layers; its phases are \"fwd\", \"bwd\", \"end\""));
  EXPECT_THAT(renamed("F", "backward"), HasSubstr("has no phase B0, the backward pass"));
  EXPECT_THAT(renamed("Forward", "B"), HasSubstr("has no phase F0"));
  EXPECT_THAT(renamed("F", "B1"), HasSubstr("has no phase B0, the backward pass of its chunk 0"));
  EXPECT_THAT(renamed("F7", "B7"), HasSubstr("names a chunk 7, but not all before it"));
  EXPECT_THAT(renamed("F1", "B1"), HasSubstr("has no phase F0, the forward pass of its chunk 0"));
}

TEST(ExpectedSchedule, OnePassHasOneName) {
  const auto both = [](const std::string& other) {
    std::string text =
        PipelinePlan(absl::StrCat(R"(["F:0..4", ")", other, R"(:0..4", "B:0..4", "end"])"), kAll);
    return Follows(Replaced(text, R"({"op": "move", "in": "stage1:grad.h")",
                            absl::StrCat(R"({"op": "neg", "in": "h", "out": "n", "phase": ")",
                                         other, R"("}, {"op": "move", "in": "stage1:grad.h")")));
  };
  EXPECT_THAT(both("F0"), HasSubstr("names one pass twice, as phases \"F\" and \"F0\""));
  EXPECT_THAT(both("F00"), HasSubstr("names one pass twice"));
}

// What a microbatch's passes compute elsewhere is compared with nothing.
TEST(ExpectedSchedule, WhatIsComputedPerMicrobatchBelongsToAPass) {
  // The layers themselves stand in a phase "fwd".
  const std::string stage1 = R"([{"for": "i", "from": 0, "to": 4, "do": ["F:i", "fwd:i", "B:i"]},
                                 "end"])";
  const std::string text = PipelinePlan(
      R"(["F:0", {"for": "i", "from": 0, "to": 3, "do": ["F:i+1", "B:i"]}, "B:3", "end"])", stage1);
  EXPECT_THAT(Follows(Replaced(text, R"("out": "h", "phase": "F"},
         {"op": "linear", "in": ["h", "v"], "out": "y"},)",
                               R"("out": "h", "phase": "F"},
         {"op": "linear", "in": ["h", "v"], "out": "y", "phase": "fwd"},)")),
              AllOf(HasSubstr("program \"stage1\" computes linear (y) at plan.json"),
                    HasSubstr("of each microbatch in phase \"fwd\", which is no pass")));
  // In one step for all microbatches.
  const std::string once = PipelinePlan(R"(["fwd", "F:0..4", "B:0..4", "end"])", kAll);
  EXPECT_THAT(
      Follows(Replaced(once, R"({"op": "linear", "in": ["x", "w"], "out": "h", "phase": "F"},)",
                       R"({"op": "linear", "in": ["x", "w"], "out": "k", "phase": "fwd"},
                          {"op": "identity", "in": "k", "out": "h", "phase": "F"},
                          {"backward": "h", "out": {"k": "grad.k"}, "phase": "B"},)"),
              PipelineSchedule::kGPipe),
      testing::Not(StartsWith("PROVED")));
  // What is prepared from the batch alone is none of the layers.
  const std::string prepared = PipelinePlan(R"(["P", "F:0..4", "B:0..4", "end"])", kAll);
  EXPECT_EQ(
      Follows(Replaced(prepared, R"({"op": "linear", "in": ["x", "w"], "out": "h", "phase": "F"})",
                       R"({"op": "exp", "in": "x", "out": "e", "phase": "P"},
                                {"op": "linear", "in": ["x", "w"], "out": "h", "phase": "F"})"),
              PipelineSchedule::kGPipe),
      "PROVED");
}

// Wherever the move of a stage stands: the stages are behind each other.
TEST(ExpectedSchedule, StagesAreNumberedByWhatTheirPassesRead) {
  const auto received = [](const std::string& steps0, const std::string& steps1) {
    return Follows(Replaced(PipelinePlan(steps0, steps1),
                            R"({"op": "move", "in": "stage0:h", "out": "h", "phase": "F"},
         {"op": "linear", "in": ["h", "v"], "out": "y"},)",
                            R"({"op": "move", "in": "stage0:h", "out": "h", "phase": "recv"},
         {"op": "linear", "in": ["h", "v"], "out": "y", "phase": "F"},)"));
  };
  const std::string serial1 = R"([{"for": "i", "from": 0, "to": 4, "do": ["recv:i", "F:i", "B:i"]},
                                  "end"])";
  EXPECT_THAT(
      received(kSerial, serial1),
      HasSubstr("program \"stage0\" (stage 0 of 2) at position 1: F:1 is expected, B:0 found"));
  EXPECT_EQ(received(R"(["F:0", {"for": "i", "from": 0, "to": 3, "do": ["F:i+1", "B:i"]}, "B:3",
                         "end"])",
                     serial1),
            "PROVED");
  // Started ahead, waited for in the pass.
  const std::string ahead =
      Replaced(PipelinePlan(kSerial, R"(["R:0..4", {"for": "i", "from": 0, "to": 4,
                                                    "do": ["F:i", "B:i"]}, "end"])"),
               R"({"op": "move", "in": "stage0:h", "out": "h", "phase": "F"},)",
               R"({"op": "move", "in": "stage0:h", "out": "h", "phase": "R", "async": "h"},
                  {"op": "wait", "in": "h", "phase": "F"},)");
  EXPECT_THAT(Follows(ahead), HasSubstr("(stage 0 of 2) at position 1: F:1 is expected"));
}

// Forward passes that receive nothing while backward passes receive everything are no pipeline.
TEST(ExpectedSchedule, ValuesFlowDownInForwardAndUpInBackwardPasses) {
  const std::string stage1 = R"(
         {"op": "exp", "in": "v", "out": "ev", "phase": "F"},
         {"op": "mul", "in": ["ev", 0], "out": "zero"},
         {"op": "add", "in": ["zero", "v"], "out": "v2"},
         {"op": "move", "in": "stage0:h", "out": "h", "phase": "B"},
         {"op": "linear", "in": ["h", "v2"], "out": "y"},
         {"op": "sum", "in": "y", "out": "loss.part"},
         {"backward": "loss.part", "grad": {"loss.part": "grad.loss"}, "out": {"y": "grad.y"}},)";
  std::string text = PipelinePlan(kSerial, kSerial);
  const size_t from = text.find(R"({"op": "move", "in": "stage0:h")");
  const size_t to = text.find(R"({"backward": "y", "out": {"v")");
  text.replace(from, to - from, stage1);
  text = Replaced(text, R"({"v": "grad.v.part", "h": "grad.h"})",
                  R"({"v2": "grad.v.part", "h": "grad.h"})");
  EXPECT_THAT(Follows(text),
              AllOf(StartsWith("MALFORMED: not the schedule 1f1b"), HasSubstr("in its phase B0"),
                    HasSubstr("computes in its phase F0"),
                    HasSubstr("what a forward pass needs of another one, it receives itself")));
}

TEST(ExpectedSchedule, APassOnWhichNothingRequiredDependsIsNoPass) {
  // The forward pass proper stands in B.
  std::string text = PipelinePlan(kSerial, kSerial);
  text = Replaced(text, R"({"op": "linear", "in": ["x", "w"], "out": "h", "phase": "F"},)",
                  R"({"op": "linear", "in": ["x", "w"], "out": "unused", "phase": "F"},
                     {"op": "linear", "in": ["x", "w"], "out": "h", "phase": "B"},)");
  EXPECT_THAT(Follows(text),
              HasSubstr("program \"stage0\" computes nothing in phase \"F\" on which a "
                        "required output depends"));
}

// Two programs that compute one layer together are one stage; if one of them has no use for what it
// gets, the collective only hides a move.
TEST(ExpectedSchedule, ProgramsThatMeetInACollectiveAreOneStage) {
  const auto plan = [](const std::string& used1, const std::string& steps) {
    std::vector<std::string> programs;
    for (const std::string r : {"0", "1"}) {
      const std::string used = r == "0" ? "s" : used1;
      programs.push_back(absl::StrCat(
          R"({"name": "r)", r, R"(", "devices": {"r": )", r,
          R"(}, "inputs": {"x": {"0": "microbatch"}, "w": {}, "grad.loss": {}}, "operators": [
          {"op": "linear", "in": ["x", "w"], "out": "p", "phase": "F0"},
          {"op": "all_reduce", "reduce": "avg", "in": ["r0:p", "r1:p"], "out": "s"},
          {"op": "sum", "in": ")",
          used, R"(", "out": "loss.part"},
          {"backward": "loss.part", "grad": {"loss.part": "grad.loss"}, "out": {")",
          used, R"(": "grad.p"}, "phase": "B0"},
          {"backward": "p", "out": {"w": "grad.w.part"}},
          {"op": "accumulate", "in": "grad.w.part", "out": "grad.w", "phase": "update"}],
          "schedule": )",
          steps, "}"));
    }
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4, 8]},
      "parameters": {"w": [8, 8]}, "operators": [{"op": "linear", "in": ["x", "w"], "out": "y"},
        {"op": "sum", "in": "y", "out": "loss"}],
      "gradients": {"loss": "loss", "of": ["w"]}, "outputs": ["grad.w"]},
      "plan": {"mesh": {"r": 2}, "microbatches": 4, "programs": [)",
                        absl::StrJoin(programs, ", "), "]}}");
  };
  const std::string serial =
      R"([{"for": "i", "from": 0, "to": 4, "do": ["F0:i", "B0:i"]}, "update"])";
  EXPECT_EQ(Follows(plan("s", serial)), "PROVED");
  EXPECT_THAT(Follows(plan("s", R"(["F0:0..4", "B0:0..4", "update"])")),
              HasSubstr("program \"r0\" (stage 0 of 1) at position 1: B0:0 is expected"));
  EXPECT_THAT(Follows(plan("p", serial)),
              AllOf(HasSubstr("program \"r1\" takes part in all_reduce (s)"),
                    HasSubstr("but no required output depends on what it gets")));
}

TEST(ExpectedSchedule, AProgramWithoutPassesIsNamed) {
  // Stage 1 only updates: there is nothing to compare.
  const std::string text = R"json({"planproof": 1,
    "specification": {"inputs": {"x": [4]}, "operators": [{"op": "exp", "in": "x", "out": "y"}],
      "outputs": {"y": {"on": {"r": 0}}}},
    "plan": {"mesh": {"r": 2}, "programs": [
      {"name": "a", "devices": {"r": 0}, "inputs": ["x"], "schedule": ["update"], "operators": [
        {"op": "exp", "in": "x", "out": "y", "phase": "update"}]},
      {"name": "b", "devices": {"r": 1}, "operators": []}]}})json";
  for (PipelineSchedule schedule :
       {PipelineSchedule::kGPipe, PipelineSchedule::k1F1B, PipelineSchedule::kInterleaved}) {
    EXPECT_THAT(Follows(text, schedule), HasSubstr("program \"a\" has no phase F0"));
  }
}

TEST(ExpectedSchedule, StagesHaveTheSameNumberOfChunks) {
  std::string text = PipelinePlan(R"(["F0:0..4", "F1:0..4", "B1:0..4", "B0:0..4", "end"])",
                                  R"(["F0:0..4", "B0:0..4", "end"])");
  const std::string forward = R"({"op": "linear", "in": ["x", "w"], "out": "h", "phase": "F"},)";
  text = Replaced(text, forward,
                  R"({"op": "identity", "in": "x", "out": "x1", "phase": "F0"},
                     {"op": "linear", "in": ["x1", "w"], "out": "h", "phase": "F1"},)");
  text = Replaced(text, R"("out": "grad.h", "phase": "B")", R"("out": "grad.h", "phase": "B1")");
  text = Replaced(text, R"({"backward": "h", "out": {"w": "grad.w.part"}},)",
                  R"({"backward": "h", "out": {"w": "grad.w.one"}},
                     {"op": "identity", "in": "grad.w.one", "out": "grad.w.part", "phase": "B0"},)");
  text = Replaced(text, R"("out": "h", "phase": "F"})", R"("out": "h", "phase": "F0"})");
  text = Replaced(text, R"("out": {"y": "grad.y"},
          "phase": "B"})",
                  R"("out": {"y": "grad.y"}, "phase": "B0"})");
  EXPECT_THAT(Follows(text, PipelineSchedule::kInterleaved),
              HasSubstr("has 1 chunks of layers, another program 2"));
}

}  // namespace
}  // namespace planproof::schedules
