// Steps against data dependencies: every instance once, nothing read before it is computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/schedules/pipeline_plan.h"

namespace planproof::schedules {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kForwardFirst[] = R"(["F:0..4", "B:0..4", "end"])";

TEST(StepOrder, PlansWithAndWithoutAScheduleAreProved) {
  EXPECT_EQ(Said(PipelinePlan("", "")), "PROVED");
  EXPECT_EQ(Said(PipelinePlan(kForwardFirst, kForwardFirst)), "PROVED");
  EXPECT_EQ(Said(OneForwardOneBackward()), "PROVED");
  // One stage states its order, the other one runs each operator for all microbatches.
  EXPECT_EQ(Said(PipelinePlan(kForwardFirst, "")), "PROVED");
  // Backward passes in the opposite order, microbatches in any.
  const std::string mixed = R"(["F:2", "F:0..2", "F:3", "B:3", "B:0", "B:2", "B:1", "end"])";
  EXPECT_EQ(Said(PipelinePlan(mixed, mixed)), "PROVED");
}

TEST(StepOrder, AnInstanceThatReadsBeforeItIsComputedIsNamedWithTheOther) {
  EXPECT_THAT(
      Said(PipelinePlan(kForwardFirst, R"(["F:0", "B:0", "B:1", "F:1..4", "B:2..4", "end"])")),
      AllOf(StartsWith("MALFORMED: read before it is computed: program \"stage1\": step 2 "
                       "(B:1) reads stage1:"),
            HasSubstr(" of microbatch 1, which step 3 (F:1) computes"), HasSubstr("backward"),
            HasSubstr(" at plan.json:")));
}

TEST(StepOrder, AnAccumulationWaitsForAllMicrobatches) {
  EXPECT_THAT(Said(PipelinePlan(R"(["F:0..4", "B:0..3", "end", "B:3"])", kForwardFirst)),
              AllOf(StartsWith("MALFORMED: read before it is computed"), HasSubstr("step 7 (end)"),
                    HasSubstr("stage0:grad.w.part of microbatch 3, which step 8 (B:3) computes"),
                    HasSubstr("accumulate (grad.w)")));
  // Within the phase that computes its terms it would run with the first of them.
  EXPECT_THAT(Said(Replaced(PipelinePlan(R"(["F:0..4", "B:0..4"])", kForwardFirst),
                            R"("out": "grad.w", "phase": "end")", R"("out": "grad.w")")),
              AllOf(StartsWith("MALFORMED: read before it is computed"), HasSubstr("step 4 (B:0)"),
                    HasSubstr("of microbatch 3, which step 7 (B:3) computes")));
}

TEST(StepOrder, WhatDoesNotVaryRunsWithTheFirstStepOfItsPhase) {
  // c is the same for all microbatches; it is there from step F:2 on.
  const std::string text = R"json({"planproof": 1,
    "specification": {"inputs": {"x": [4, 8]}, "parameters": {"w": [8, 8]}, "operators": [
      {"op": "exp", "in": "w", "out": "c"}, {"op": "linear", "in": ["x", "c"], "out": "h"}],
      "outputs": {"h": {"0": "microbatch"}}},
    "plan": {"mesh": {}, "microbatches": 4, "programs": [{
      "inputs": {"x": {"0": "microbatch"}, "w": {}}, "schedule": STEPS,
      "operators": [{"op": "exp", "in": "w", "out": "c", "phase": "P"},
                    {"op": "linear", "in": ["x", "c"], "out": "h", "phase": "F"}]}]}})json";
  EXPECT_EQ(Said(Replaced(text, "STEPS", R"(["P:2", "F:0", "P:0..2", "P:3", "F:1..4"])")),
            "PROVED");
  EXPECT_THAT(Said(Replaced(text, "STEPS", R"(["F:0", "P:0..4", "F:1..4"])")),
              HasSubstr("step 0 (F:0) reads c, which step 1 (P:0) computes"));
}

TEST(StepOrder, EveryInstanceIsScheduledExactlyOnce) {
  const auto said = [](const std::string& steps) {
    return Said(PipelinePlan(steps, kForwardFirst));
  };
  EXPECT_THAT(
      said(R"(["F:0..4", "B:0..3", "end"])"),
      AllOf(StartsWith("MALFORMED: instance not scheduled exactly once"),
            HasSubstr("program \"stage0\": phase \"B\" is never scheduled for microbatch 3")));
  EXPECT_THAT(said(R"(["F:0..4", "F:1", "B:0..4", "end"])"),
              HasSubstr("step 1 (F:1) and step 4 (F:1) run the same instances"));
  EXPECT_THAT(said(R"(["F:0..4", "B:0..4", "end", "end"])"),
              HasSubstr("step 8 (end) and step 9 (end) run the same instances"));
  EXPECT_THAT(said(R"(["F", "F:0", "B:0..4", "end"])"),
              HasSubstr("step 0 (F) and step 1 (F:0) run the same instances"));
  EXPECT_THAT(said(R"(["F:0..4", "B:0..4"])"), HasSubstr("phase \"end\" is never scheduled"));
}

TEST(StepOrder, CoordinatesInAttributesAreNoOtherMicrobatch) {
  // Instances of a slice that depends on the microbatch read their own microbatch only.
  const std::string text = R"json({"planproof": 1,
    "specification": {"inputs": {"x": [4, 8]}, "operators": [
      {"op": "exp", "in": "x", "out": "h"}], "outputs": {"h": {"0": "microbatch"}}},
    "plan": {"mesh": {}, "microbatches": 4, "programs": [{
      "inputs": {"x": {}}, "schedule": ["F:3", "G:3", "F:0..3", "G:0..3"],
      "operators": [
        {"op": "narrow", "in": "x", "out": "part", "phase": "F",
         "attrs": {"dim": 0, "start": "=microbatch", "length": 1}},
        {"op": "exp", "in": "part", "out": "h", "phase": "G"}],
      "exceptions": [{"at": {"microbatch": 2}, "replace": "h",
                      "with": {"op": "exp", "in": "part", "out": "h"}}]}]}})json";
  EXPECT_EQ(Said(text), "PROVED");
}

}  // namespace
}  // namespace planproof::schedules
