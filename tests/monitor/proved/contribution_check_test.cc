// Gradients that are, and are not, the mean of what ranks contribute.
#include "monitor/proved/contribution_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "monitor/proved/proved_judge.h"
#include "tests/monitor/proved/written_step.h"

namespace planproof::monitor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kReplicated[] = "layers.0.norm";  // along tp

// The proof says that its gradient is `factor` times the sum along tp.
ProvedMonitors WithContributions(double factor) {
  ProvedMonitors monitors = MonitorsOfTests();
  for (TensorMonitor& tensor : monitors.tensors) {
    if (tensor.of.size() == 1) tensor.contributions = ContributionMonitor{factor, {1}};
  }
  CollectiveMonitor reduction;
  reduction.kind = CollectiveKind::kAllReduce;
  reduction.axes = {1};
  reduction.dtype = sdfg::DType::kFloat32;
  reduction.place = "train.py:11";
  monitors.collectives.push_back(reduction);
  return monitors;
}

// Rank 2 k contributes a quarter more of the gradient than rank 2 k + 1; their sum is `times` the
// gradient.
void Contribute(WrittenRun* run, float times) {
  run->contributions.clear();
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<float> own = run->gradients[rank][kReplicated];
    for (float& element : own) element *= (rank % 2 == 0 ? 0.625F : 0.375F) * times;
    run->contributions[rank] = {{{kReplicated, own}}};
    run->collectives[rank] = {{CollectiveKind::kAllReduce,
                               rank < 2 ? std::vector<int>{0, 1} : std::vector<int>{2, 3}, "sum",
                               "float32"}};
  }
}

Findings JudgedContributions(const std::function<void(int, WrittenRun*)>& change,
                             double factor = 0.5) {
  WrittenRun run;
  const std::unique_ptr<Judge> judge = MakeProvedJudge(WithContributions(factor));
  Findings findings;
  for (int k = 0; k < 3; ++k) {
    run.Fill(k);
    change(k, &run);
    judge->Observe(run.run, run.Step(), &findings);
  }
  judge->End(run.run, &findings);
  return findings;
}

TEST(CheckContributions, TheMeanIsNoAlarm) {
  const Findings without = JudgedContributions([](int, WrittenRun*) {});
  const Findings findings = JudgedContributions([](int, WrittenRun* run) { Contribute(run, 2); });
  EXPECT_THAT(findings.alarms, IsEmpty());
  EXPECT_GT(findings.checked[static_cast<int>(Tier::kProved)],
            without.checked[static_cast<int>(Tier::kProved)]);
}

TEST(CheckContributions, TheSumInsteadOfTheMeanIsAnAlarmWithItsPlace) {
  const Findings findings =
      JudgedContributions([](int k, WrittenRun* run) { Contribute(run, k == 1 ? 1 : 2); });
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].rule, "contributions");
  EXPECT_EQ(findings.alarms[0].step, 1);
  EXPECT_EQ(findings.alarms[0].subject, kReplicated);
  EXPECT_EQ(findings.alarms[0].place, "train.py:11");
  EXPECT_THAT(findings.alarms[0].statement, HasSubstr("2 times that"));
}

TEST(CheckContributions, AnotherGroupIsAnAlarm) {
  const Findings findings = JudgedContributions([](int k, WrittenRun* run) {
    Contribute(run, 2);
    if (k == 2) std::swap(run->contributions[1], run->contributions[3]);
  });
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].rule, "contributions");
}

TEST(CheckContributions, ContributionsOfSeveralBackwardsAreAddedUp) {
  const Findings findings = JudgedContributions([](int, WrittenRun* run) {
    Contribute(run, 1);
    for (auto& [rank, backwards] : run->contributions) backwards.push_back(backwards[0]);
  });
  EXPECT_THAT(findings.alarms, IsEmpty());
}

TEST(CheckContributions, WhatWasLeftOverOrScaledIsNotCompared) {
  Event forward{.type = EventType::kForwardBegins}, scale{.type = EventType::kLossScale};
  forward.c = 2;
  scale.a = 1024;
  for (const Event& event : {forward, scale}) {
    const Findings findings = JudgedContributions([&](int, WrittenRun* run) {
      Contribute(run, 5);
      for (int rank = 0; rank < 4; ++rank) run->calls[rank] = {event};
    });
    EXPECT_THAT(findings.alarms, IsEmpty());
  }
  // Cleared between forward and backward.
  const Findings findings = JudgedContributions([&](int, WrittenRun* run) {
    Contribute(run, 5);
    for (int rank = 0; rank < 4; ++rank) {
      run->calls[rank] = {forward, {.type = EventType::kZeroGrad}, {.type = EventType::kBackward}};
    }
  });
  EXPECT_FALSE(findings.alarms.empty());
}

TEST(CheckContributions, RoundingHidesWhatCancels) {
  const Findings findings = JudgedContributions([](int, WrittenRun* run) {
    Contribute(run, 1);
    for (auto& [rank, backwards] : run->contributions) {
      for (float& element : backwards[0].at(kReplicated)) {
        element += rank % 2 == 0 ? 1e7F : -1e7F;
      }
    }
  });
  EXPECT_THAT(findings.alarms, IsEmpty());
}

bool IsBlind(const Findings& findings) {
  return std::any_of(findings.notices.begin(), findings.notices.end(),
                     [](const Notice& notice) { return notice.kind == NoticeKind::kBlind; });
}

// In bfloat16 a roundoff is 1/256, and the bound for so many of them reaches a quarter of what is
// compared with two backwards, not yet with one.
TEST(CheckContributions, WhatIsRoundedMoreThanAQuarterIsBlind) {
  for (const int backwards : {1, 2}) {
    const Findings findings = JudgedContributions([&](int, WrittenRun* run) {
      for (auto& [rank, table] : run->tables) {
        for (HeldTensor& tensor : *table) tensor.significand_bits = 8;
      }
      Contribute(run, 2.0F / static_cast<float>(backwards));
      for (auto& [rank, own] : run->contributions) own.resize(backwards, own[0]);
    });
    EXPECT_THAT(findings.alarms, IsEmpty());
    EXPECT_EQ(IsBlind(findings), backwards == 2);
  }
}

// What is a multiple but for one part in three hundred is called one, for one in thirty it is not.
TEST(CheckContributions, AMultipleMayMissAHundredth) {
  for (const float missed : {1.0F / 300, 1.0F / 30}) {
    const Findings findings = JudgedContributions([&](int, WrittenRun* run) {
      Contribute(run, 1);
      float sign = 1;
      for (float& element : run->contributions[0][0].at(kReplicated)) {
        element *= 1 + 2 * missed * (sign = -sign);
      }
      run->contributions[2] = run->contributions[0];
    });
    ASSERT_FALSE(findings.alarms.empty());
    EXPECT_EQ(findings.alarms[0].statement.find("times that)") != std::string::npos, missed < 0.01F)
        << findings.alarms[0].statement;
  }
}

// Proved over four ranks and run over two: a mean stays a mean, and another factor is not asserted.
TEST(CheckContributions, AMeanIsOneOverItsRanks) {
  for (const double off : {0.0, 0.5e-9, 2e-9}) {
    ProvedMonitors monitors = WithContributions(0.25 * (1 + off));
    monitors.axes[1].extent = 4;
    monitors.world = 8;
    for (const double times : {2.0, 1.0}) {
      WrittenRun run;
      const std::unique_ptr<Judge> judge = MakeProvedJudge(monitors);
      Findings findings;
      run.Fill(0);
      Contribute(&run, static_cast<float>(times));
      judge->Observe(run.run, run.Step(), &findings);
      judge->End(run.run, &findings);
      EXPECT_EQ(findings.alarms.empty(), times == 2.0 || off > 1e-9) << off << " " << times;
    }
  }
}

TEST(CheckContributions, BoundsGrowWithRanksAndBackwards) {
  EXPECT_EQ(RoundoffsOfContributions(2, 1), 3);
  EXPECT_EQ(RoundoffsOfContributions(64, 4), 68);
}

}  // namespace
}  // namespace planproof::monitor
