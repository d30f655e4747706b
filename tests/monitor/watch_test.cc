// What is made of what judges say.
#include "monitor/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planproof::monitor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Says what it is told for each step.
class ToldJudge : public Judge {
 public:
  explicit ToldJudge(std::vector<std::vector<Alarm>> alarms) : alarms_(std::move(alarms)) {}
  void Begin(const Run&, Findings*) override {}
  void Observe(const Run&, const StepOfRun& step, Findings* findings) override {
    ++findings->checked[static_cast<int>(Tier::kLaw)];
    for (Alarm alarm : alarms_.at(static_cast<size_t>(step.step))) {
      alarm.step = step.step;
      findings->alarms.push_back(alarm);
    }
  }
  void End(const Run&, Findings*) override {}

 private:
  std::vector<std::vector<Alarm>> alarms_;
};

Alarm Said(const std::string& rule, const std::string& subject, int rank = 0) {
  return {.rule = rule, .ranks = {rank}, .subject = subject};
}

Watch Watched(std::vector<std::vector<Alarm>> alarms, const std::string& mute = "") {
  const auto steps = static_cast<int64_t>(alarms.size());
  std::vector<std::unique_ptr<Judge>> judges;
  judges.push_back(std::make_unique<ToldJudge>(std::move(alarms)));
  Watch watch(std::move(judges), *MutedRules::Parse(mute), nullptr);
  for (int64_t step = 0; step < steps; ++step) watch.Observe({}, {.step = step});
  watch.End({});
  return watch;
}

TEST(Watch, AlarmsOfOneRuleAndStepAreOne) {
  const Watch watch =
      Watched({{Said("a", "x", 2), Said("a", "y"), Said("b", "z"), Said("a", "x", 1)}});
  ASSERT_EQ(watch.alarms().size(), 2u);
  EXPECT_EQ(watch.alarms()[0].alarm.subject, "x");
  EXPECT_THAT(watch.alarms()[0].alarm.ranks, ElementsAre(1, 2));
  EXPECT_THAT(watch.alarms()[0].alarm.others, ElementsAre("y"));
}

TEST(Watch, TheSameInLaterStepsIsCounted) {
  const Watch watch =
      Watched({{Said("a", "x"), Said("a", "y")}, {Said("a", "y")}, {}, {Said("a", "n")}});
  ASSERT_EQ(watch.alarms().size(), 2u);
  EXPECT_EQ(watch.alarms()[0].steps, 2);
  EXPECT_EQ(watch.alarms()[0].last_step, 1);
  EXPECT_EQ(watch.alarms()[1].alarm.step, 3);
  EXPECT_EQ(watch.checked(Tier::kLaw), 4);
}

TEST(Watch, MutedAlarmsAreCountedOnly) {
  const Watch watch =
      Watched({{Said("a", "layers.0.weight"), Said("a", "head"), Said("b", "head")}},
              "# comment\na layers.*.weight\n\nb\n");
  ASSERT_EQ(watch.alarms().size(), 1u);
  EXPECT_EQ(watch.alarms()[0].alarm.subject, "head");
  EXPECT_EQ(watch.muted(), 2);
}

TEST(MutedRules, OtherLinesAreErrors) {
  EXPECT_THAT(std::string(MutedRules::Parse("a\na b c").status().message()), HasSubstr("line 2"));
  EXPECT_FALSE(MutedRules::Parse("Not/a/rule").ok());
}

}  // namespace
}  // namespace planproof::monitor
