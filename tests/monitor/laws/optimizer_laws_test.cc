// Laws of the optimizer: its update, its moments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitor/laws/laws.h"
#include "monitor/laws/rounding.h"
#include "monitor/laws/update_formulas.h"
#include "tests/monitor/simulated_run.h"

namespace planproof::monitor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class OptimizerLaws : public testing::TestWithParam<OptimizerKind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, OptimizerLaws,
                         testing::Values(OptimizerKind::kSgd, OptimizerKind::kAdamW));

TEST_P(OptimizerLaws, HealthyRunsHaveNoAlarmOfAny) {
  for (const double lr : {0.0, 1e-5, 0.3}) {
    SimulatedRun run(GetParam());
    run.lr = lr;
    for (const auto& law : AllLaws()) {
      const Findings findings = Judged(law.get(), &run, 12);
      EXPECT_THAT(findings.alarms, IsEmpty())
          << findings.alarms.front().rule << " " << findings.alarms.front().statement;
    }
  }
}

TEST_P(OptimizerLaws, AnUpdateWithAnotherRateIsSeen) {
  SimulatedRun run(GetParam());
  run.in_update = [](int64_t step, int, SimulatedRank* rank) {
    if (step == 5) rank->tensors[0].parameter[(5 * 5 + 3) % 768] += 1e-4F;
  };
  const Findings findings = Judged(OptimizerUpdateLaw().get(), &run, 8);
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].step, 5);
  EXPECT_EQ(findings.alarms[0].subject, "a.weight");
  EXPECT_NEAR(*findings.alarms[0].found - *findings.alarms[0].expected, 1e-4, 1e-6);
  EXPECT_LT(*findings.alarms[0].tolerance, 1e-6);
  EXPECT_GT(findings.checked[static_cast<int>(Tier::kLaw)], 20);
}

TEST_P(OptimizerLaws, MomentsThatAreZeroAgainDoNotContinue) {
  SimulatedRun run(GetParam());
  run.between = [](int64_t step, int, SimulatedRank* rank) {
    if (step < 4) return;
    for (SimulatedTensor& tensor : rank->tensors) {
      tensor.exp_avg.assign(tensor.exp_avg.size(), 0);
      tensor.momentum_buffer.assign(tensor.momentum_buffer.size(), 0);
    }
  };
  const Findings findings = Judged(MomentsContinueLaw().get(), &run, 6);
  ASSERT_THAT(findings.alarms, Not(IsEmpty()));
  EXPECT_EQ(findings.alarms[0].step, 4);
  EXPECT_THAT(findings.alarms[0].statement, HasSubstr("another one"));
}

TEST_P(OptimizerLaws, StatesThatAreGoneDoNotContinue) {
  SimulatedRun run(GetParam());
  run.between = [](int64_t step, int, SimulatedRank* rank) {
    if (step != 4) return;
    for (SimulatedTensor& tensor : rank->tensors) {
      tensor.exp_avg.clear();
      tensor.exp_avg_sq.clear();
      tensor.momentum_buffer.clear();
    }
    rank->step_count = 0;
  };
  const Findings findings = Judged(MomentsContinueLaw().get(), &run, 6);
  ASSERT_THAT(findings.alarms, Not(IsEmpty()));
  EXPECT_EQ(findings.alarms[0].step, 4);
  EXPECT_THAT(findings.alarms[0].statement, HasSubstr("gone"));
}

TEST_P(OptimizerLaws, LoadedStatesAreNoAlarm) {
  SimulatedRun run(GetParam());
  run.between = [&run](int64_t step, int, SimulatedRank* rank) {
    if (step != 4) return;
    for (SimulatedTensor& tensor : rank->tensors) {
      tensor.exp_avg.assign(tensor.exp_avg.size(), 0);
      tensor.momentum_buffer.assign(tensor.momentum_buffer.size(), 0);
    }
    run.extra_events = {{.type = EventType::kStateLoaded}};
  };
  EXPECT_THAT(Judged(MomentsContinueLaw().get(), &run, 6).alarms, IsEmpty());
}

TEST_P(OptimizerLaws, MomentsAreLinear) {
  SimulatedRun run(GetParam());
  run.in_update = [](int64_t step, int, SimulatedRank* rank) {
    if (step != 3) return;
    for (float& value : rank->tensors[2].exp_avg) value *= 1.05F;
    for (float& value : rank->tensors[2].momentum_buffer) value *= 1.05F;
  };
  const Findings findings = Judged(MomentsLinearLaw().get(), &run, 6);
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].step, 3);
  EXPECT_EQ(findings.alarms[0].subject, "b.weight");
}

TEST_P(OptimizerLaws, AnUpdateThatNeverArrivesIsSeenAtTheNextStep) {
  SimulatedRun run(GetParam());
  run.between = [&run](int64_t step, int, SimulatedRank*) { run.update = step < 5; };
  const Findings findings = Judged(UpdateArrivesLaw().get(), &run, 7);
  ASSERT_THAT(findings.alarms, Not(IsEmpty()));
  EXPECT_EQ(findings.alarms[0].step, 6);
  EXPECT_EQ(findings.alarms[0].subject, "a.weight");
  EXPECT_EQ(findings.alarms[0].others.size(), 2u);
}

TEST(UpdateArrives, ARateThatRoundingHidesIsNoAlarm) {
  for (const double lr : {0.0, 1e-12}) {
    SimulatedRun run(OptimizerKind::kSgd);
    run.lr = lr;
    run.update = false;
    EXPECT_THAT(Judged(UpdateArrivesLaw().get(), &run, 5).alarms, IsEmpty()) << lr;
  }
}

TEST(UpdateFormulas, AmsgradTakesTheLargestSquare) {
  const UpdateOptions options{.kind = OptimizerKind::kAdam,
                              .lr = 0.1,
                              .beta1 = 0,
                              .beta2 = 0.5,
                              .epsilon = 0,
                              .amsgrad = true};
  const ElementBefore before{.parameter = 1, .gradient = 1, .step_count = 1, .max_exp_avg_sq = 8};
  const ElementAfter after = Updated(options, before, {}, RoundedArithmetic(1e-16));
  // sqrt(8 / (1 - 0.5)) = 4.
  EXPECT_NEAR(after.parameter.value, 1 - 0.1 / 4, 1e-12);
  EXPECT_EQ(after.max_exp_avg_sq->value, 8);
}

TEST(UpdateFormulas, NesterovLooksAhead) {
  const UpdateOptions options{.kind = OptimizerKind::kSgd,
                              .lr = 1,
                              .maximize = true,
                              .momentum = 0.5,
                              .dampening = 0.25,
                              .nesterov = true};
  const ElementBefore before{.parameter = 0, .gradient = -2, .momentum_buffer = 4};
  const ElementAfter after = Updated(options, before, {}, RoundedArithmetic(1e-16));
  EXPECT_NEAR(after.momentum_buffer->value, 0.5 * 4 + 0.75 * 2, 1e-12);
  EXPECT_NEAR(after.parameter.value, -(2 + 0.5 * 3.5), 1e-12);
}

TEST(UpdateFormulas, CoupledDecayGoesThroughTheMoments) {
  const UpdateOptions options{.kind = OptimizerKind::kAdam,
                              .lr = 0.1,
                              .weight_decay = 0.5,
                              .beta1 = 0.9,
                              .beta2 = 0.99,
                              .epsilon = 1e-8};
  const ElementBefore before{.parameter = 2, .gradient = 0, .step_count = 1};
  const ElementAfter after = Updated(options, before, {}, RoundedArithmetic(1e-16));
  EXPECT_NEAR(after.exp_avg->value, 0.1, 1e-12);
  EXPECT_NEAR(after.parameter.value, 1.9, 1e-6);
}

TEST(Rounding, ErrorsOfOperationsAddUp) {
  const RoundedArithmetic r(UnitRoundoff(8));
  const Rounded sum = r.Add({1, 0}, {-0.999, 0.001});
  EXPECT_NEAR(sum.value, 0.001, 1e-15);
  EXPECT_GE(sum.error, 0.001);
  EXPECT_EQ(r.Divide({1, 0}, {0.1, 0.2}).error, INFINITY);
}

}  // namespace
}  // namespace planproof::monitor
