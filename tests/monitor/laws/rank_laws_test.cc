// Laws of ranks that train one model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitor/laws/laws.h"
#include "monitor/watch.h"
#include "tests/monitor/simulated_run.h"

namespace planproof::monitor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// All laws together, as `check` has them.
std::vector<CountedAlarm> AlarmsOf(SimulatedRun* run, int steps) {
  Watch watch(AllLaws(), MutedRules(), nullptr);
  for (int i = 0; i < steps; ++i) watch.Observe(run->run, run->Step());
  watch.End(run->run);
  EXPECT_GT(watch.checked(), 0);
  return watch.alarms();
}

TEST(RankLaws, HealthyReplicasHaveNoAlarm) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdamW}) {
    SimulatedRun run(kind, 3);
    EXPECT_THAT(AlarmsOf(&run, 8), IsEmpty());
  }
}

TEST(RankLaws, GradientsThatAreNotReducedAreOneAlarm) {
  SimulatedRun run(OptimizerKind::kAdamW, 2);
  run.between = [&run](int64_t step, int, SimulatedRank*) { run.reduce = step < 4; };
  const auto alarms = AlarmsOf(&run, 8);
  ASSERT_EQ(alarms.size(), 1u);
  EXPECT_EQ(alarms[0].alarm.rule, "gradients_reduced");
  EXPECT_EQ(alarms[0].alarm.step, 4);
  EXPECT_THAT(alarms[0].alarm.ranks, ElementsAre(0, 1));
  EXPECT_EQ(alarms[0].steps, 4);
  EXPECT_THAT(alarms[0].alarm.others, ElementsAre("a.bias", "b.weight"));
}

TEST(RankLaws, ASumIsNoMean) {
  SimulatedRun run(OptimizerKind::kAdamW, 2);
  run.between = [&run](int64_t step, int, SimulatedRank*) {
    run.contribution_factor = step < 4 ? 1 : 2;
  };
  const auto alarms = AlarmsOf(&run, 6);
  ASSERT_EQ(alarms.size(), 1u);
  EXPECT_EQ(alarms[0].alarm.rule, "gradients_averaged");
  EXPECT_EQ(alarms[0].alarm.step, 4);
  EXPECT_NEAR(*alarms[0].alarm.found, 2, 1e-4);
}

TEST(RankLaws, OnlyOneRankClips) {
  SimulatedRun run(OptimizerKind::kAdamW, 2);
  run.clips = [](int64_t step, int rank) { return step < 4 || rank == 0; };
  const auto alarms = AlarmsOf(&run, 6);
  ASSERT_EQ(alarms.size(), 1u);
  EXPECT_EQ(alarms[0].alarm.rule, "clipped_alike");
  EXPECT_EQ(alarms[0].alarm.step, 4);
}

TEST(RankLaws, AReplicaThatDriftsIsNamed) {
  SimulatedRun run(OptimizerKind::kAdamW, 2);
  run.in_update = [](int64_t step, int rank, SimulatedRank* state) {
    if (step == 3 && rank == 1) state->tensors[2].parameter[7] += 1e-5F;
  };
  const auto alarms = AlarmsOf(&run, 6);
  ASSERT_THAT(alarms, Not(IsEmpty()));
  EXPECT_EQ(alarms[0].alarm.rule, "replicas_equal");
  EXPECT_EQ(alarms[0].alarm.step, 3);
  EXPECT_EQ(alarms[0].alarm.subject, "b.weight");
  EXPECT_THAT(alarms[0].alarm.ranks, ElementsAre(1));
}

TEST(RankLaws, UnequalStartsAreSeenAtTheFirstStep) {
  SimulatedRun run(OptimizerKind::kSgd, 2);
  run.rank(1).tensors[0].parameter[0] += 1;
  const auto alarms = AlarmsOf(&run, 3);
  ASSERT_THAT(alarms, Not(IsEmpty()));
  EXPECT_EQ(alarms[0].alarm.rule, "replicas_equal");
  EXPECT_EQ(alarms[0].alarm.step, 0);
}

TEST(RankLaws, TheSameDataOnAllRanksIsSeenAtTheSecondStep) {
  SimulatedRun run(OptimizerKind::kSgd, 2);
  run.same_batch = true;
  const auto alarms = AlarmsOf(&run, 4);
  ASSERT_EQ(alarms.size(), 1u);
  EXPECT_EQ(alarms[0].alarm.rule, "data_of_ranks");
  EXPECT_EQ(alarms[0].alarm.step, 1);
}

Event AllReduce(const Collective* collective, double elements) {
  return {.type = EventType::kCollective, .a = elements, .c = 1, .collective = collective};
}

TEST(RankLaws, RanksReduceAsManyElements) {
  const Collective collective{
      .kind = CollectiveKind::kAllReduce, .group = {0, 1}, .operation = "sum", .dtype = "float32"};
  for (const double other : {8.0, 9.0}) {
    SimulatedRun run(OptimizerKind::kSgd, 2);
    std::unique_ptr<Judge> law = CollectivesAgreeLaw();
    Findings findings;
    for (int i = 0; i < 4; ++i) {
      StepOfRun step = run.Step();
      for (auto& [rank, facts] : step.ranks) {
        StepOfRank changed = *facts;
        changed.events.push_back(AllReduce(&collective, rank == 0 || i > 0 ? 8.0 : other));
        facts = std::make_shared<StepOfRank>(changed);
      }
      law->Observe(run.run, step, &findings);
    }
    ASSERT_EQ(findings.alarms.size(), other == 8 ? 0u : 1u);
    for (const Alarm& alarm : findings.alarms) EXPECT_EQ(alarm.step, 2);
  }
}

}  // namespace
}  // namespace planproof::monitor
