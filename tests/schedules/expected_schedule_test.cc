// --expect-schedule: the published orders and the first step that differs.
#include "stages/expected_schedule.h"

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
  const std::string other =
      Replaced(PipelinePlan(R"(["X:0..4", "B:0..4", "end"])", R"(["F:0..4", "B:0..4", "end"])"),
               R"("out": "h", "phase": "F")", R"("out": "h", "phase": "X")");
  EXPECT_THAT(
      Said(other, PipelineSchedule::k1F1B),
      HasSubstr("program \"stage0\" (stage 0 of 1) at position 4: F:0 is expected, B:0 found"));
}

}  // namespace
}  // namespace planproof::schedules
