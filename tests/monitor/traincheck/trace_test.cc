#include "monitor/traincheck/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "monitor/learned/combine.h"
#include "tests/monitor/traincheck/trace_testing.h"
#include "tests/temporary_directory.h"

namespace planproof::monitor::traincheck {
namespace {

using ::testing::HasSubstr;

learned::FactSet Learn(const std::vector<std::vector<WrittenTrace>>& references) {
  std::vector<learned::LearnedRun> runs;
  for (const auto& processes : references) {
    const TemporaryDirectory directory("traincheck_reference");
    WriteTrace(directory.path(), processes);
    absl::StatusOr<learned::LearnedRun> run = LearnTrace(directory.path());
    EXPECT_TRUE(run.ok()) << run.status();
    if (run.ok()) runs.push_back(*std::move(run));
  }
  const absl::StatusOr<learned::FactSet> facts = learned::Combine(runs);
  EXPECT_TRUE(facts.ok()) << facts.status();
  return facts.ok() ? *facts : learned::FactSet();
}

learned::FactSet LearnTwo() {
  return Learn({{{.seed = 1}}, {{.steps = 9, .seed = 2, .process = 41}}});
}

CheckedTrace Check(const std::vector<WrittenTrace>& processes, const learned::FactSet& facts) {
  const TemporaryDirectory directory("traincheck_run");
  WriteTrace(directory.path(), processes);
  EXPECT_TRUE(IsTrace(directory.path()));
  const absl::StatusOr<CheckedTrace> checked = CheckTrace(directory.path(), facts);
  EXPECT_TRUE(checked.ok()) << checked.status();
  return checked.ok() ? *checked : CheckedTrace();
}

void ExpectAlarm(const WrittenTrace& trace, const std::string& rule, int64_t step,
                 const std::string& subject) {
  const CheckedTrace checked = Check({trace}, LearnTwo());
  ASSERT_EQ(checked.findings.alarms.size(), 1);
  EXPECT_EQ(checked.findings.alarms[0].rule, rule);
  EXPECT_EQ(checked.findings.alarms[0].step, step);
  EXPECT_THAT(checked.findings.alarms[0].subject, HasSubstr(subject));
}

TEST(TrainCheckTrace, HealthyRunsOfOtherSeedsAndLengthsHaveNoAlarm) {
  for (const char* prefix : {"_TRAINCHECK", "_ML_DAIKON"}) {
    for (const int steps : {1, 3, 6, 40}) {
      const CheckedTrace checked =
          Check({{.steps = steps, .seed = 77, .process = 5, .prefix = prefix}}, LearnTwo());
      EXPECT_TRUE(checked.same_program);
      EXPECT_TRUE(checked.findings.alarms.empty()) << checked.findings.alarms[0].statement;
      EXPECT_GT(checked.findings.checked[static_cast<int>(Tier::kLearned)], 0);
    }
  }
}

TEST(TrainCheckTrace, ACallThatIsMissingAlarms) {
  ExpectAlarm({.seed = 3, .zero_grad = false, .faulty_from = 4}, "learned.within", 4, "zero_grad");
  ExpectAlarm({.seed = 3, .clip = false}, "learned.within", 1, "clip_grad_norm_");
}

TEST(TrainCheckTrace, TheLastStepMayBeCutOff) {
  EXPECT_TRUE(Check({{.seed = 3, .zero_grad = false, .faulty_from = 6}}, LearnTwo())
                  .findings.alarms.empty());
}

TEST(TrainCheckTrace, AFlagThatDiffersAlarms) {
  ExpectAlarm({.seed = 3, .dropout_trains = false, .faulty_from = 3}, "learned.equals", 3,
              "dropout");
  ExpectAlarm({.seed = 3, .frozen = "m.c"}, "learned.equals", 1, "m.c");
}

TEST(TrainCheckTrace, ATensorThatIsNotGivenAlarms) {
  ExpectAlarm({.seed = 3, .given = false, .faulty_from = 2}, "learned.given", 2, "m.b");
}

TEST(TrainCheckTrace, TensorsThatAreNoLongerTiedAlarm) {
  ExpectAlarm({.seed = 3, .tied = false, .faulty_from = 5}, "learned.same", 5, "m.a");
}

TEST(TrainCheckTrace, ProcessesThatHoldDifferentContentsAlarm) {
  const learned::FactSet facts = Learn(
      {{{.process = 1}, {.process = 2}}, {{.seed = 4, .process = 8}, {.seed = 4, .process = 9}}});
  EXPECT_TRUE(
      Check({{.seed = 6, .process = 3}, {.seed = 6, .process = 4}}, facts).findings.alarms.empty());
  const CheckedTrace checked = Check({{.seed = 6, .process = 3}, {.seed = 7, .process = 4}}, facts);
  ASSERT_EQ(checked.findings.alarms.size(), 1);
  EXPECT_EQ(checked.findings.alarms[0].rule, "learned.replica");
  EXPECT_EQ(checked.findings.alarms[0].step, 1);
}

TEST(TrainCheckTrace, ACutOffLastLineIsLeftOut) {
  EXPECT_TRUE(
      Check({{.seed = 3, .last_line = "{\"process_id\": 100, \"type\": \"state_ch"}}, LearnTwo())
          .findings.alarms.empty());
}

TEST(TrainCheckTrace, AWrongLineIsNamed) {
  const TemporaryDirectory directory("traincheck_wrong");
  WriteTrace(directory.path(), {{.steps = 1, .last_line = "{\"process_id\": }\n"}});
  const absl::StatusOr<CheckedTrace> checked = CheckTrace(directory.path(), LearnTwo());
  ASSERT_FALSE(checked.ok());
  EXPECT_THAT(std::string(checked.status().message()), HasSubstr("trace_API_100_1.log:16: "));
}

TEST(TrainCheckTrace, AnotherProgramIsSaidToBeOne) {
  learned::FactSet facts = LearnTwo();
  facts.program = {"other.weight [4]", "other.bias [4]"};
  EXPECT_FALSE(Check({{.seed = 3}}, facts).same_program);
  facts = LearnTwo();
  facts.optimizers = {"torch.optim.adamw.AdamW"};
  EXPECT_FALSE(Check({{.seed = 3}}, facts).same_program);
}

TEST(TrainCheckTrace, WhatASelectiveTraceLeavesOutIsNotMissing) {
  const TemporaryDirectory directory("traincheck_selective");
  WriteTrace(directory.path(), {{.seed = 3, .zero_grad = false}});
  std::ofstream(directory.path() + "instr_opts.json")
      << R"({"funcs_instr_opts": {"torch._tensor.Tensor.backward": {}, "torch.optim.sgd.SGD.step": {}}})";
  const absl::StatusOr<CheckedTrace> checked = CheckTrace(directory.path(), LearnTwo());
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_TRUE(checked->findings.alarms.empty());
}

TEST(TrainCheckTrace, AnEmptyDirectoryIsNoTrace) {
  const TemporaryDirectory directory("traincheck_empty");
  EXPECT_FALSE(IsTrace(directory.path()));
  EXPECT_EQ(LearnTrace(directory.path()).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace planproof::monitor::traincheck
