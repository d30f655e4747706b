// Steps that have, and lack, what the proved iteration has.
#include "monitor/proved/conformance_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "monitor/proved/proved_judge.h"
#include "tests/monitor/proved/written_step.h"

namespace planproof::monitor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ProvedMonitors WithReduction() {
  ProvedMonitors monitors = MonitorsOfTests();
  CollectiveMonitor reduction;
  reduction.kind = CollectiveKind::kAllReduce;
  reduction.axes = {0};
  reduction.dtype = sdfg::DType::kFloat32;
  reduction.place = "train.py:11";
  monitors.collectives.push_back(reduction);
  for (TensorMonitor& tensor : monitors.tensors) tensor.dtype = sdfg::DType::kFloat32;
  return monitors;
}

void Reduce(WrittenRun* run, const std::string& dtype = "float32") {
  for (int rank = 0; rank < 4; ++rank) {
    run->collectives[rank] = {{CollectiveKind::kAllReduce, {rank % 2, rank % 2 + 2}, "sum", dtype}};
  }
}

Findings JudgedSteps(WrittenRun* run, const std::function<void(int)>& change,
                     ProvedMonitors monitors = WithReduction()) {
  const std::unique_ptr<Judge> judge = MakeProvedJudge(std::move(monitors));
  Findings findings;
  for (int k = 0; k < 4; ++k) {
    run->Fill(k);
    run->sampled = k < 2;
    Reduce(run);
    change(k);
    judge->Observe(run->run, run->Step(), &findings);
  }
  judge->End(run->run, &findings);
  return findings;
}

TEST(CheckConformance, WhatHasAllCollectivesIsNoAlarm) {
  WrittenRun run;
  EXPECT_THAT(JudgedSteps(&run, [](int) {}).alarms, IsEmpty());
}

TEST(CheckConformance, ACollectiveThatIsLackingIsAnAlarmThoughTheStepIsNotSampled) {
  WrittenRun run;
  const Findings findings = JudgedSteps(&run, [&](int k) {
    if (k >= 2) run.collectives[3].clear();
  });
  ASSERT_EQ(findings.alarms.size(), 1u);
  const Alarm& alarm = findings.alarms[0];
  EXPECT_EQ(alarm.rule, "collectives");
  EXPECT_EQ(alarm.step, 2);
  EXPECT_EQ(alarm.subject, "all_reduce over dp");
  EXPECT_EQ(alarm.place, "train.py:11");
  EXPECT_THAT(alarm.ranks, ElementsAre(3));
  EXPECT_THAT(alarm.statement, HasSubstr("has none"));
}

// What gathers updated parameters comes after the optimizers' step, so journals have it in the
// next.
TEST(CheckConformance, WhatComesAfterTheOptimizerIsNotAskedForInAStepThatFollowsNoIteration) {
  for (const int first : {0, 2}) {
    WrittenRun run;
    const Findings findings = JudgedSteps(&run, [&](int k) {
      for (int rank = 0; rank < 4; ++rank) {
        // In the step before, a loss scaler has left the optimizers' step out.
        run.run.headers[rank].optimizers.resize(k == first - 1 ? 2 : 1);
        if (k == first) run.collectives[rank].clear();
      }
    });
    EXPECT_THAT(findings.alarms, IsEmpty());
  }
  WrittenRun run;
  const Findings findings = JudgedSteps(&run, [&](int) { run.collectives.clear(); });
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].step, 1);
}

TEST(CheckConformance, AnotherGroupAndAnotherTypeAreAlarms) {
  WrittenRun run;
  Findings findings = JudgedSteps(&run, [&](int k) {
    if (k == 3) run.collectives[0][0].group = {0, 1};
  });
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_THAT(findings.alarms[0].statement, HasSubstr("over other ranks only"));
  WrittenRun other;
  findings = JudgedSteps(&other, [&](int k) {
    if (k == 3) Reduce(&other, "bfloat16");
  });
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_THAT(findings.alarms[0].statement, HasSubstr("of another type"));
}

TEST(CheckConformance, TypesAreNotAskedForWhereParametersHaveOthersThanInTheProof) {
  WrittenRun run;
  ProvedMonitors monitors = WithReduction();
  for (TensorMonitor& tensor : monitors.tensors) tensor.dtype = sdfg::DType::kBFloat16;
  EXPECT_THAT(JudgedSteps(
                  &run, [](int) {}, monitors)
                  .alarms,
              IsEmpty());
}

TEST(CheckConformance, WhatJournalsLackIsNotObserved) {
  for (const NotObservedKind kind : {NotObservedKind::kCollectives, NotObservedKind::kModules}) {
    WrittenRun run;
    for (int rank = 0; rank < 4; ++rank) run.run.not_observed[rank] = {{"what", "why", kind}};
    const Findings findings = JudgedSteps(&run, [&](int) { run.collectives.clear(); });
    EXPECT_THAT(findings.alarms, IsEmpty());
    ASSERT_FALSE(findings.notices.empty());
    EXPECT_EQ(findings.notices[0].kind, NoticeKind::kNotObserved);
  }
}

TEST(CheckConformance, AStepInWhichNoOptimizerStepsIsNoIteration) {
  WrittenRun run;
  for (int rank = 0; rank < 4; ++rank) run.run.headers[rank].optimizers.push_back({.name = "B"});
  EXPECT_THAT(JudgedSteps(&run, [&](int) { run.collectives.clear(); }).alarms, IsEmpty());
}

TEST(CheckConformance, PlacesThatContradictTheProofAreNotApplicable) {
  WrittenRun run;
  for (auto& [rank, table] : run.tables) (*table)[1].place = {{{0, kRowsOfTests}}};
  EXPECT_THAT(JudgedSteps(&run, [&](int) { run.collectives.clear(); }).alarms, IsEmpty());
}

TEST(CheckConformance, WhatTheProofTrainsAndIsFrozenIsADifference) {
  WrittenRun run;
  for (auto& [rank, table] : run.tables) (*table)[0].trainable = false;
  const Findings findings = JudgedSteps(&run, [](int) {});
  EXPECT_THAT(findings.alarms, IsEmpty());
  const auto of_trained = [](const Notice& notice) { return notice.rule == "trained"; };
  const auto found = std::find_if(findings.notices.begin(), findings.notices.end(), of_trained);
  ASSERT_NE(found, findings.notices.end());
  EXPECT_EQ(found->kind, NoticeKind::kDifference);
  EXPECT_EQ(found->subject, "layers.0.weight");
}

TEST(CheckConformance, WhatAStepLacksIsToldWithWhatItsValuesShow) {
  WrittenRun run;
  const Findings findings = JudgedSteps(&run, [&](int k) {
    if (k != 1) return;
    run.collectives[3].clear();
    run.gradients[3]["layers.0.norm"][0] += 1;
  });
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].rule, "replicas");
  EXPECT_THAT(findings.alarms[0].statement, HasSubstr("train.py:11"));
}

}  // namespace
}  // namespace planproof::monitor
