// Generated plans state the published pipeline schedules, and a schedule with one fault is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "generator/schedule.h"
#include "mutation/mutate.h"
#include "strategy/verify.h"

namespace planproof::generator {
namespace {

using lineage::PipelineSchedule;
using testing::AnyOf;
using testing::HasSubstr;

struct Case {
  std::string name;
  PipelineSchedule schedule;
  int64_t stages, chunks, microbatches;
  std::string model = "llama-tiny";
};

absl::StatusOr<GeneratedPlans> Generated(const Case& made) {
  ModelConfig model = *NamedModel(made.model);
  model.layers = made.stages * made.chunks;
  Strategy strategy;
  strategy.pipeline_parallel = made.stages;
  strategy.microbatches = made.microbatches;
  strategy.schedule = made.schedule;
  strategy.virtual_stages = made.chunks;
  return Generate(model, TrainingConfig(), strategy);
}

lineage::Problem Built(const GeneratedPlans& plans) {
  auto problem = plan::BuildProblemFromFiles(
      {{"logical.plan", plans.logical}, {"parallel.plan", plans.parallel}},
      sdfg::OperatorLibrary::BuiltIn());
  EXPECT_TRUE(problem.ok()) << problem.status();
  return problem.ok() ? *std::move(problem) : lineage::Problem();
}

stages::Result Verified(const lineage::Problem& problem, PipelineSchedule expected) {
  stages::VerifyOptions options;
  options.expect_schedule = expected;
  return strategy::Verify(problem, options);
}

class SchedulesTest : public testing::TestWithParam<Case> {};

TEST_P(SchedulesTest, IsProvedAndFollowsItsSchedule) {
  const auto plans = Generated(GetParam());
  ASSERT_TRUE(plans.ok()) << plans.status();
  lineage::Problem problem = Built(*plans);
  const stages::Result result = Verified(problem, GetParam().schedule);
  EXPECT_EQ(result.verdict, stages::Verdict::kProved)
      << (result.violations.empty() ? "" : result.violations[0].message);
  EXPECT_EQ(result.operators.covered, result.operators.parallel);
  for (PipelineSchedule other :
       {PipelineSchedule::kGPipe, PipelineSchedule::k1F1B, PipelineSchedule::kInterleaved}) {
    if (other == GetParam().schedule) continue;
    EXPECT_EQ(Verified(problem, other).verdict, stages::Verdict::kMalformed);
  }
  for (uint64_t seed = 0; seed < 8; ++seed) {
    lineage::Problem mutant = problem;
    ASSERT_TRUE(mutation::Mutate(mutant, "S1", seed).ok());
    const stages::Result found = Verified(mutant, PipelineSchedule::kAny);
    ASSERT_EQ(found.verdict, stages::Verdict::kMalformed) << seed;
    EXPECT_EQ(found.violations[0].kind, "read before it is computed");
    mutant = problem;
    ASSERT_TRUE(mutation::Mutate(mutant, "S2", seed).ok());
    const stages::Result crossed = Verified(mutant, PipelineSchedule::kAny);
    ASSERT_EQ(crossed.verdict, stages::Verdict::kMalformed) << seed;
    EXPECT_THAT(crossed.violations[0].kind,
                AnyOf("read before it is computed", "wait cycle", "messages cross"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, SchedulesTest,
    testing::Values(Case{"gpipe", PipelineSchedule::kGPipe, 2, 1, 4},
                    Case{"one_f_one_b", PipelineSchedule::k1F1B, 3, 1, 6},
                    Case{"deepseek", PipelineSchedule::k1F1B, 2, 1, 2, "deepseek-tiny"},
                    Case{"interleaved", PipelineSchedule::kInterleaved, 2, 2, 4},
                    Case{"interleaved_three_stages", PipelineSchedule::kInterleaved, 3, 2, 6},
                    Case{"interleaved_three_chunks", PipelineSchedule::kInterleaved, 2, 3, 4}),
    [](const auto& info) { return info.param.name; });

std::string TextOf(const google::protobuf::RepeatedPtrField<plan::ScheduleItem>& items) {
  std::string text;
  for (const plan::ScheduleItem& item : items) {
    text += text.empty() ? "" : " ";
    if (!item.variable().empty()) {
      text += item.to() + "x(" + TextOf(item.body()) + ")";
      continue;
    }
    text += item.phase();
    if (!item.microbatch().empty()) text += ":" + item.microbatch();
    if (!item.until().empty()) text += ".." + item.until();
  }
  return text;
}

TEST(ScheduleTest, RepeatedStepsAreLoops) {
  const auto plans = Generated({"", PipelineSchedule::k1F1B, 4, 1, 512});
  ASSERT_TRUE(plans.ok()) << plans.status();
  EXPECT_EQ(TextOf(plans->parallel.plan().programs(1).schedule()),
            "F0:0..3 509x(B0:i F0:i+3) B0:509..512 update");
  EXPECT_EQ(TextOf(plans->parallel.plan().programs(3).schedule()),
            "prepare 512x(F0:i B0:i) update");
}

TEST(ScheduleTest, WhatDoesNotFitIsNamed) {
  EXPECT_THAT(Generated({"", PipelineSchedule::kInterleaved, 2, 2, 3}).status().message(),
              HasSubstr("needs a multiple of 2 microbatches, not 3"));
  EXPECT_THAT(Generated({"", PipelineSchedule::k1F1B, 2, 2, 4}).status().message(),
              HasSubstr("several chunks per stage need the schedule interleaved"));
  EXPECT_THAT(Generated({"", PipelineSchedule::kInterleaved, 2, 1, 4}).status().message(),
              HasSubstr("at least two stages with two chunks"));
}

}  // namespace
}  // namespace planproof::generator
