// What was proved, asserted on steps of four ranks that are right, and on others.
#include "monitor/proved/proved_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "monitor/proved/clip_check.h"
#include "tests/monitor/proved/written_step.h"

namespace planproof::monitor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Findings Judge3(WrittenRun* run, ProvedMonitors monitors,
                const std::function<void(int, WrittenRun*)>& change) {
  const std::unique_ptr<Judge> judge = MakeProvedJudge(std::move(monitors));
  Findings findings;
  for (int k = 0; k < 3; ++k) {
    run->Fill(k);
    change(k, run);
    judge->Observe(run->run, run->Step(), &findings);
  }
  judge->End(run->run, &findings);
  return findings;
}

TEST(ProvedJudge, RightStepsHaveNoAlarm) {
  WrittenRun run;
  const Findings findings = Judge3(&run, MonitorsOfTests(), [](int, WrittenRun*) {});
  EXPECT_THAT(findings.alarms, IsEmpty());
  EXPECT_GT(findings.checked[static_cast<int>(Tier::kProved)], 100);
  EXPECT_EQ(findings.checked[static_cast<int>(Tier::kDerived)], 0);
}

TEST(ProvedJudge, OtherSizesAreDerived) {
  WrittenRun run(64);
  const Findings findings = Judge3(&run, MonitorsOfTests(), [](int k, WrittenRun* run) {
    if (k == 2) run->updated[3]["layers.0.norm"][0] += 1e-5F;
  });
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].tier, Tier::kDerived);
}

TEST(ProvedJudge, OneBitOfACopyIsAnAlarmWithItsPlace) {
  WrittenRun run;
  const Findings findings = Judge3(&run, MonitorsOfTests(), [](int k, WrittenRun* run) {
    if (k < 1) return;
    float& element = run->updated[3]["layers.0.norm"][1];
    element = std::nextafter(element, 2.0F);
  });
  ASSERT_EQ(findings.alarms.size(), 1u);  // and none at the next step, which fails, too
  const Alarm& alarm = findings.alarms[0];
  EXPECT_EQ(alarm.rule, "replicas");
  EXPECT_EQ(alarm.step, 1);
  EXPECT_EQ(alarm.subject, "layers.0.norm");
  EXPECT_EQ(alarm.place, "train.py:72");
  EXPECT_THAT(alarm.ranks, Contains(3));
}

TEST(ProvedJudge, PartsThatDifferAreNoCopies) {
  WrittenRun run;
  const Findings findings = Judge3(&run, MonitorsOfTests(), [](int, WrittenRun* run) {
    run->updated[3]["layers.0.weight"][1] += 1;
  });
  EXPECT_THAT(findings.alarms, IsEmpty());
}

TEST(ProvedJudge, TheFirstOfWhatFailsIsTold) {
  WrittenRun run;
  const Findings findings = Judge3(&run, MonitorsOfTests(), [](int k, WrittenRun* run) {
    if (k != 1) return;
    run->gradients[1]["layers.0.norm"][0] *= 2;
    run->updated[1]["layers.0.norm"][0] *= 2;
  });
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].place, "train.py:12");
}

TEST(ProvedJudge, ANormThatIsTheRanksOwnIsAnAlarm) {
  WrittenRun run;
  const Findings findings = Judge3(&run, MonitorsOfTests(), [](int k, WrittenRun* run) {
    if (k == 1) run->norms[2] *= 0.7;
  });
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].rule, "clip_norm");
  EXPECT_THAT(findings.alarms[0].ranks, ElementsAre(2));
  EXPECT_EQ(findings.alarms[0].place, "train.py:70");
}

TEST(ProvedJudge, CopiesThatAreCountedTwiceAreNamed) {
  WrittenRun run;
  const Findings findings = Judge3(&run, MonitorsOfTests(), [](int k, WrittenRun* run) {
    if (k != 1) return;
    double squares = 0;
    for (const auto& [rank, tensors] : run->gradients) {
      for (const auto& [name, part] : tensors) {
        for (const float element : part) squares += static_cast<double>(element) * element;
      }
    }
    for (auto& [rank, norm] : run->norms) norm = std::sqrt(squares);
  });
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_THAT(findings.alarms[0].statement, HasSubstr("copies were counted again"));
}

TEST(ProvedJudge, NormsHaveTheToleranceOfTheirType) {
  const double tolerance = NormTolerance(0x1p-24, 4);
  for (const double share : {0.9, 1.1}) {
    WrittenRun run;
    const Findings findings = Judge3(&run, MonitorsOfTests(), [&](int, WrittenRun* run) {
      run->norms[1] *= 1 + share * tolerance;
    });
    const bool of_norm = !findings.alarms.empty() && findings.alarms[0].rule == "clip_norm";
    EXPECT_EQ(of_norm, share > 1) << share;
  }
}

TEST(ProvedJudge, ClippingOnOneRankIsAnAlarm) {
  WrittenRun run;
  const Findings findings = Judge3(&run, MonitorsOfTests(), [](int k, WrittenRun* run) {
    if (k != 1) return;
    run->norms.erase(1);
    run->norms.erase(2);
    run->norms.erase(3);
  });
  ASSERT_FALSE(findings.alarms.empty());
  EXPECT_EQ(findings.alarms[0].rule, "no_clip");
  EXPECT_THAT(findings.alarms[0].ranks, ElementsAre(1, 2, 3));
}

TEST(ProvedJudge, GradientsBeyondTheBoundAreAnAlarmWhoeverClips) {
  for (const bool clips : {true, false}) {
    WrittenRun run;
    const Findings findings = Judge3(&run, MonitorsOfTests(), [&](int, WrittenRun* run) {
      run->norms.clear();
      if (!clips) run->clipped = run->gradients;
      run->after = run->before;  // no moments: they are another law's
      for (auto& [rank, tensors] : run->after) {
        for (auto& [name, part] : tensors) {
          for (size_t i = 0; i < part.size(); ++i) {
            part[i] = 0.9F * part[i] + 0.1F * run->clipped[rank][name][i];
          }
        }
      }
    });
    EXPECT_EQ(findings.alarms.size(), clips ? 0u : 1u);
  }
}

TEST(ProvedJudge, AMomentThatIsNotTheMeanIsAnAlarm) {
  WrittenRun run;
  const Findings findings = Judge3(&run, MonitorsOfTests(), [](int k, WrittenRun* run) {
    if (k == 2) run->after[2]["layers.0.weight"][3] += 0.01F;
  });
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].rule, "definition");
  EXPECT_THAT(findings.alarms[0].ranks, ElementsAre(2));
}

TEST(ProvedJudge, ACountThatStandsStillIsAnAlarm) {
  WrittenRun run;
  const Findings findings = Judge3(&run, MonitorsOfTests(), [](int k, WrittenRun* run) {
    if (k == 2) run->counts[0] += 1;
  });
  ASSERT_EQ(findings.alarms.size(), 1u);
  EXPECT_EQ(findings.alarms[0].rule, "replicas");
}

TEST(ProvedJudge, PlacesThatContradictTheProofAreNotApplicable) {
  WrittenRun run;
  for (auto& [rank, table] : run.tables) (*table)[1].place = {{{0, kRowsOfTests}}};
  const Findings findings = Judge3(&run, MonitorsOfTests(), [](int, WrittenRun* run) {
    run->updated[3]["layers.0.norm"][0] += 1;
  });
  EXPECT_THAT(findings.alarms, IsEmpty());
  ASSERT_FALSE(findings.notices.empty());
  EXPECT_EQ(findings.notices[0].kind, NoticeKind::kNotApplicable);
  EXPECT_EQ(findings.notices[0].subject, "layers.0.norm");
}

TEST(ProvedJudge, SumsOfOtherGroupsAreComparedByBitsWhereOrderIsKnown) {
  ProvedMonitors monitors = MonitorsOfTests();
  for (TensorMonitor& tensor : monitors.tensors) {
    for (SetMonitor& set : tensor.sets) set.same = Sameness::kValues;
  }
  WrittenRun run;
  const Findings findings = Judge3(&run, monitors, [](int, WrittenRun* run) {
    run->updated[3]["layers.0.norm"][0] += 1e-3F;  // rounding that has added up
  });
  EXPECT_THAT(findings.alarms, IsEmpty());
}

TEST(ProvedJudge, WhatIsGatheredLaterIsComparedAtTheNextBegin) {
  for (const bool wrapped : {true, false}) {
    ProvedMonitors monitors = MonitorsOfTests();
    WrittenRun run;
    if (wrapped) {
      run.run.headers[0].optimizers.push_back({.name = "AdamW", .wrapped_by = {"Zero"}});
    } else {
      for (TensorMonitor& tensor : monitors.tensors) tensor.sets.back().late = true;
    }
    const auto updated_apart = [](int, WrittenRun* run) {
      run->updated[3]["layers.0.norm"][0] += 1;
    };
    EXPECT_THAT(Judge3(&run, monitors, updated_apart).alarms, IsEmpty());
    const auto begun_apart = [](int, WrittenRun* run) {
      run->parameters[3]["layers.0.norm"][0] += 1;
    };
    EXPECT_EQ(Judge3(&run, monitors, begun_apart).alarms.size(), 1u);
  }
}

// A matrix of which each rank has its own part, and nothing but its value is known.
TEST(ProvedJudge, TensorsOfWhichNothingIsComparedAreNoted) {
  for (const bool has_more : {true, false}) {
    ProvedMonitors monitors = MonitorsOfTests();
    if (!has_more) monitors.clip = std::nullopt;
    for (TensorMonitor& tensor : monitors.tensors) {
      if (tensor.of.size() < 2 || has_more) continue;
      tensor.clipped = false;
      std::erase_if(tensor.sets, [](const SetMonitor& set) { return set.definition.has_value(); });
    }
    WrittenRun run;
    const Findings findings = Judge3(&run, monitors, [](int, WrittenRun*) {});
    EXPECT_THAT(findings.alarms, IsEmpty());
    std::vector<std::string> noted;
    for (const Notice& notice : findings.notices) noted.push_back(notice.subject);
    const std::vector<std::string> cut = {"layers.0.weight"};
    EXPECT_EQ(noted, has_more ? std::vector<std::string>() : cut);
  }
}

TEST(ProvedJudge, RunsWhoseStepsNeverEndAreNoted) {
  WrittenRun run;
  Findings findings;
  const std::unique_ptr<Judge> judge = MakeProvedJudge(MonitorsOfTests());
  run.Fill(0);
  StepOfRun step = run.Step();
  for (auto& [rank, own] : step.ranks) {
    auto cut_off = std::make_shared<StepOfRank>(*own);
    cut_off->complete = false;
    own = cut_off;
  }
  judge->Observe(run.run, step, &findings);
  judge->End(run.run, &findings);
  ASSERT_EQ(findings.notices.size(), 1u);
  EXPECT_EQ(findings.notices[0].subject, "steps");
}

TEST(ProvedJudge, MissingRanksAreNoted) {
  WrittenRun run;
  run.Fill(0);
  StepOfRun step = run.Step();
  step.ranks.erase(3);
  Findings findings;
  const std::unique_ptr<Judge> judge = MakeProvedJudge(MonitorsOfTests());
  judge->Observe(run.run, step, &findings);
  EXPECT_EQ(findings.checked[0] + findings.checked[1], 0);
  ASSERT_EQ(findings.notices.size(), 1u);
  EXPECT_EQ(findings.notices[0].kind, NoticeKind::kNotObserved);
}

}  // namespace
}  // namespace planproof::monitor
