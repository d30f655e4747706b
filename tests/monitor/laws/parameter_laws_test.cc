// Laws of parameters, gradients and losses in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitor/laws/laws.h"
#include "tests/monitor/simulated_run.h"

namespace planproof::monitor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(GradientsCleared, ARunThatNeverClearsIsSeenAtItsSecondStep) {
  SimulatedRun run(OptimizerKind::kSgd);
  run.clears = [](int64_t, int) { return false; };
  const Findings findings = Judged(GradientsClearedLaw().get(), &run, 4);
  ASSERT_THAT(findings.alarms, Not(IsEmpty()));
  EXPECT_EQ(findings.alarms[0].step, 1);
  EXPECT_EQ(findings.alarms[0].subject, "zero_grad");
}

TEST(GradientsCleared, AccumulationWithOneClearingIsNoAlarm) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.backwards = 3;
  const Findings findings = Judged(GradientsClearedLaw().get(), &run, 4);
  EXPECT_THAT(findings.alarms, IsEmpty());
  EXPECT_EQ(findings.checked[static_cast<int>(Tier::kLaw)], 3);
}

TEST(BackwardFromLoss, AnotherScaleIsSeenAtItsStep) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.between = [&run](int64_t step, int, SimulatedRank*) {
    run.loss_factor = step < 3 ? 1 : 1.0 / 16;
  };
  const Findings findings = Judged(BackwardFromLossLaw().get(), &run, 5);
  ASSERT_EQ(findings.alarms.size(), 2u);
  EXPECT_EQ(findings.alarms[0].step, 3);
}

TEST(BackwardFromLoss, AccumulationDividesOnPurpose) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.backwards = 4;
  const Findings findings = Judged(BackwardFromLossLaw().get(), &run, 3);
  EXPECT_THAT(findings.alarms, IsEmpty());
  EXPECT_EQ(findings.checked[static_cast<int>(Tier::kLaw)], 3);
}

TEST(BackwardFromLoss, ALossScalerIsKnown) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.loss_factor = 1024;
  run.extra_events = {{.type = EventType::kLossScale, .a = 1024}};
  EXPECT_THAT(Judged(BackwardFromLossLaw().get(), &run, 3).alarms, IsEmpty());
}

TEST(BackwardFromLoss, WithoutALossNothingIsSaid) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.say_loss = false;
  EXPECT_EQ(Judged(BackwardFromLossLaw().get(), &run, 3).checked[static_cast<int>(Tier::kLaw)], 0);
}

TEST(OptimizerHasParameters, AReplacedLayerIsSeenAtTheSecondStep) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.rank(0).tensors[2].optimizers.clear();
  run.others = {{16, 48}};
  const Findings findings = Judged(OptimizerHasParametersLaw().get(), &run, 3);
  ASSERT_THAT(findings.alarms, Not(IsEmpty()));
  EXPECT_EQ(findings.alarms[0].step, 1);
  EXPECT_EQ(findings.alarms[0].subject, "b.weight");
}

TEST(OptimizerHasParameters, APartOfTheModelMayBeTrained) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.rank(0).tensors[2].optimizers.clear();
  const Findings findings = Judged(OptimizerHasParametersLaw().get(), &run, 3);
  EXPECT_THAT(findings.alarms, IsEmpty());
  EXPECT_EQ(findings.notices.front().subject, "b.weight");
}

TEST(OptimizerHasParameters, CopiesInAnotherTypeAreTrainedElsewhere) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.rank(0).tensors[2].optimizers.clear();
  run.others = {{16, 48}};
  run.between = [](int64_t, int, SimulatedRank* rank) { rank->tensors[2].parameter[1] += 0.01F; };
  EXPECT_THAT(Judged(OptimizerHasParametersLaw().get(), &run, 3).alarms, IsEmpty());
}

TEST(ChangedBetweenSteps, OneFlippedBitIsSeen) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.between = [](int64_t step, int, SimulatedRank* rank) {
    if (step == 4) rank->tensors[1].parameter[3] = -rank->tensors[1].parameter[3];
  };
  const Findings findings = Judged(ChangedBetweenStepsLaw().get(), &run, 6);
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].rule, "changed_between_steps");
  EXPECT_EQ(findings.alarms[0].step, 4);
  EXPECT_EQ(findings.alarms[0].subject, "a.bias");
}

TEST(ChangedBetweenSteps, WhatIsChangedFromTheStartIsThePrograms) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.between = [](int64_t, int, SimulatedRank* rank) {
    for (float& value : rank->tensors[1].parameter) value *= 0.99F;
  };
  EXPECT_THAT(Judged(ChangedBetweenStepsLaw().get(), &run, 6).alarms, IsEmpty());
}

TEST(ChangedBetweenSteps, AnAverageOfAllIsANotice) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.between = [](int64_t step, int, SimulatedRank* rank) {
    if (step % 3 != 2) return;
    for (SimulatedTensor& tensor : rank->tensors)
      for (float& value : tensor.parameter) value *= 0.95F;
  };
  const Findings findings = Judged(ChangedBetweenStepsLaw().get(), &run, 6);
  EXPECT_THAT(findings.alarms, IsEmpty());
  EXPECT_THAT(findings.notices, Not(IsEmpty()));
}

void InitialiseAgain(int64_t step, int, SimulatedRank* rank) {
  if (step != 4) return;
  std::mt19937_64 random(99);
  std::normal_distribution<float> normal;
  for (SimulatedTensor& tensor : rank->tensors)
    for (float& value : tensor.parameter) value = 0.2F * normal(random);
}

TEST(InitialisedAgain, NewRandomParametersAreSeen) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.between = InitialiseAgain;
  const Findings findings = Judged(ChangedBetweenStepsLaw().get(), &run, 6);
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].rule, "initialised_again");
  EXPECT_EQ(findings.alarms[0].step, 4);
  EXPECT_EQ(findings.alarms[0].subject, "a.weight");
}

TEST(InitialisedAgain, TheFirstParametersAgainAreSeen) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.lr = 1e-4;
  SimulatedRank start;
  run.between = [&start](int64_t step, int, SimulatedRank* rank) {
    if (step == 0) start = *rank;
    for (size_t i = 0; step == 4 && i < rank->tensors.size(); ++i)
      rank->tensors[i].parameter = start.tensors[i].parameter;
  };
  const Findings findings = Judged(ChangedBetweenStepsLaw().get(), &run, 6);
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_THAT(findings.alarms[0].statement, HasSubstr("first step"));
}

TEST(InitialisedAgain, ALoadedCheckpointIsNoAlarm) {
  SimulatedRun run(OptimizerKind::kAdamW);
  run.between = [&run](int64_t step, int number, SimulatedRank* rank) {
    InitialiseAgain(step, number, rank);
    if (step == 4) run.extra_events = {{.type = EventType::kStateLoaded}};
  };
  EXPECT_THAT(Judged(ChangedBetweenStepsLaw().get(), &run, 6).alarms, IsEmpty());
}

uint64_t SumOfBits(const StepOfRun& step) {
  uint64_t sum = 0;
  for (const Values& values : step.ranks.at(0)->values) {
    if (values.moment != Moment::kAfter || values.kind != TensorSet::kParameter) continue;
    for (const uint64_t fingerprint : values.fingerprints) sum += fingerprint;
  }
  return sum;
}

TEST(StateDict, WhatIsSavedIsTheModel) {
  for (const uint64_t off : {0, 1}) {
    SimulatedRun run(OptimizerKind::kAdamW);
    const std::unique_ptr<Judge> law = StateDictLaw();
    Findings findings;
    const StepOfRun first = run.Step();
    law->Observe(run.run, first, &findings);
    run.extra_events = {
        {.type = EventType::kStateRead, .c = static_cast<int64_t>(SumOfBits(first) + off)}};
    law->Observe(run.run, run.Step(), &findings);
    EXPECT_EQ(findings.alarms.size(), off);
    EXPECT_EQ(findings.checked[static_cast<int>(Tier::kLaw)], 1);
  }
}

}  // namespace
}  // namespace planproof::monitor
