// Schedules, handles and buffers in plan files: what is read, what is refused, the raw form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/raw_form.h"
#include "frontend/plan/read_plan.h"
#include "mutation/mutate.h"

namespace planproof::plan {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr char kScheduledPlan[] = R"json({
  "planproof": 1,
  "specification": {
    "inputs": {"x": [4, 8]},
    "operators": [{"op": "exp", "in": "x", "out": "h"}, {"op": "neg", "in": "h", "out": "y"}],
    "outputs": {"y": {"0": "microbatch"}}
  },
  "plan": {
    "mesh": {"pp": 2},
    "microbatches": 4,
    "programs": [
      {"name": "a", "devices": {"pp": 0}, "inputs": {"x": {"0": "microbatch"}},
       "schedule": ["F0:0..microbatches"],
       "operators": [{"op": "exp", "in": "x", "out": "h", "phase": "F0"}]},
      {"name": "b", "devices": {"pp": 1},
       "schedule": ["R:0", {"for": "i", "from": 0, "to": "microbatches-1", "do": ["R:i+1", "G:i"]},
                    "G:(4*3)/4"],
       "buffers": {"h": {"name": "ring", "slots": 2}},
       "operators": [
         {"op": "move", "in": "a:h", "out": "h", "async": "arrival", "channel": "c", "phase": "R"},
         {"op": "wait", "in": "arrival", "phase": "G"},
         {"op": "neg", "in": "h", "out": "y"}]}
    ]
  }
})json";

absl::StatusOr<lineage::Problem> ReadSchedule(const std::string& text) {
  absl::StatusOr<PlanFile> file = ParsePlanFile(text, "plan.json");
  if (!file.ok()) return file.status();
  std::vector<std::pair<std::string, PlanFile>> files;
  files.emplace_back("plan.json", *std::move(file));
  return BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn());
}

std::string MessageAboutSchedule(const std::string& from, const std::string& to) {
  std::string text = kScheduledPlan;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  const absl::Status status = ReadSchedule(text).status();
  const bool limit = to.find("10000000,") != std::string::npos;
  EXPECT_EQ(absl::IsResourceExhausted(status), limit) << to << status;
  EXPECT_EQ(absl::IsInvalidArgument(status), !limit) << to << status;
  EXPECT_EQ(std::string(status.message()).find('\n'), std::string::npos);
  return std::string(status.message());
}

std::vector<std::string> StepsOf(const lineage::ProgramSchedule& program) {
  std::vector<std::string> steps;
  for (const lineage::ScheduleStep& step : program.steps) {
    steps.push_back(program.phases[step.phase] + ":" + std::to_string(step.microbatch));
  }
  return steps;
}

TEST(PlanSchedule, RangesAndLoopsAreWrittenOut) {
  const absl::StatusOr<lineage::Problem> problem = ReadSchedule(kScheduledPlan);
  ASSERT_TRUE(problem.ok()) << problem.status();
  const lineage::Schedule& schedule = problem->schedule;
  ASSERT_EQ(schedule.programs.size(), 2u);
  EXPECT_THAT(StepsOf(schedule.programs[0]), ElementsAre("F0:0", "F0:1", "F0:2", "F0:3"));
  EXPECT_THAT(StepsOf(schedule.programs[1]),
              ElementsAre("R:0", "R:1", "G:0", "R:2", "G:1", "R:3", "G:2", "G:3"));
  ASSERT_EQ(schedule.places.size(), problem->parallel.tensors.size());
  ASSERT_EQ(schedule.async_operations.size(), 1u);
  EXPECT_EQ(schedule.async_operations[0].handle, "arrival");
  EXPECT_EQ(problem->parallel.tensors[schedule.async_operations[0].result].name, "b:h@started");
  EXPECT_EQ(schedule.channels.size(), 1u);
  EXPECT_EQ(schedule.storage.size(), 2u);  // what is in flight and what has arrived
}

TEST(PlanSchedule, APlanWithoutOneHasOnePhasePerProgram) {
  std::string text = kScheduledPlan;
  const std::string steps = R"("schedule": ["F0:0..microbatches"],)";
  text.erase(text.find(steps), steps.size());
  const absl::StatusOr<lineage::Problem> problem = ReadSchedule(text);
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_THAT(problem->schedule.programs[0].phases, ElementsAre(""));
  EXPECT_TRUE(problem->schedule.programs[0].steps.empty());
}

TEST(PlanSchedule, ErrorsNameLinePositionAndRemedy) {
  const std::vector<std::vector<std::string>> faults = {
      {R"("F0:0..microbatches")", R"("F:0..4")",
       "plan.json:13: /plan/programs/0/schedule/0: no operator begins a phase \"F\""},
      {R"("F0:0..microbatches")", R"("F0:0..5")", "of microbatch 4: there are 4 microbatches"},
      {R"("F0:0..microbatches")", R"("F0:0-1")", "of microbatch -1: there are 4 microbatches"},
      {R"("F0:0..microbatches")", R"("F0:j")", "\"j\""},
      {R"("F0:0..microbatches")", R"("F0:")", "a step is expected"},
      {R"("F0:0..microbatches")", R"(":3")", "a step is expected"},
      {R"("F0:0..microbatches")", R"("F0:0..")", "a step is expected"},
      {R"(["F0:0..microbatches"])", "[]", "is empty; steps are expected"},
      {R"("F0:0..microbatches")", "7", "a step is expected"},
      {R"("for": "i",)", R"("for": "microbatches",)", "has a meaning already"},
      {R"("for": "i",)", R"("for": "2i",)", "is no name of a loop variable"},
      {R"("from": 0, )", "", "a loop needs the key \"from\""},
      {R"(, "do": ["R:i+1", "G:i"])", "", "a step is expected"},
      {R"("to": "microbatches-1")", R"("to": 100000000)", "of microbatch 4"},
      {R"("do": ["R:i+1", "G:i"])", R"("do": [{"for": "j", "from": 0, "to": 10000000,
                                     "do": ["R:1..1"]}])",
       "more than 2^20 steps"},
      {R"(, "phase": "F0")", "", "begin the first one here"},
      {R"("phase": "F0")", R"("phase": "F:0")", "holds no colon"},
      {R"("op": "exp", "in": "x", "out": "h", "phase")", R"("op": "exp", "in": "x", "out": "h",
          "channel": "c", "phase")",
       "\"channel\" is for moves"},
      {R"("slots": 2)", R"("slots": 0)", "0"},
      {R"({"op": "exp", "in": "x", "out": "h"})",
       R"({"op": "exp", "in": "x", "out": "h", "phase": "F0"})",
       "a specification has no order of execution"},
  };
  for (const std::vector<std::string>& fault : faults) {
    EXPECT_THAT(MessageAboutSchedule(fault[0], fault[1]), HasSubstr(fault[2]));
  }
}

TEST(PlanSchedule, LoopsAreNestedToALimit) {
  std::string body = R"("R:0")";
  for (int depth = 0; depth < 9; ++depth) {
    body =
        R"({"for": "v)" + std::to_string(depth) + R"(", "from": 0, "to": 1, "do": [)" + body + "]}";
  }
  EXPECT_THAT(MessageAboutSchedule(R"("R:0")", body), HasSubstr("nested more than 8 deep"));
}

TEST(PlanSchedule, RawFormKeepsOrderHandlesChannelsAndBuffers) {
  const absl::StatusOr<lineage::Problem> problem = ReadSchedule(kScheduledPlan);
  ASSERT_TRUE(problem.ok()) << problem.status();
  RawProblem expected;
  ASSERT_TRUE(WriteRawProblem(*problem, &expected).ok());
  EXPECT_EQ(expected.schedule().programs_size(), 2);
  for (PlanFormat format : {PlanFormat::kBinary, PlanFormat::kJson}) {
    const absl::StatusOr<std::string> written = SerializePlan(*problem, format);
    ASSERT_TRUE(written.ok()) << written.status();
    const absl::StatusOr<lineage::Problem> again = ReadSchedule(*written);
    ASSERT_TRUE(again.ok()) << again.status();
    RawProblem actual;
    ASSERT_TRUE(WriteRawProblem(*again, &actual).ok());
    EXPECT_EQ(actual.SerializeAsString(), expected.SerializeAsString());
  }
}

TEST(PlanSchedule, ARawScheduleIsChecked) {
  RawProblem right;
  ASSERT_TRUE(WriteRawProblem(*ReadSchedule(kScheduledPlan), &right).ok());
  const auto message = [&](const auto& damage) {
    RawProblem wrong = right;
    damage(wrong.mutable_schedule());
    const absl::Status status = ReadRawProblem(wrong).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(message([](RawSchedule* s) { s->mutable_programs(0)->set_step_phases(0, 1); }),
              HasSubstr("step 0 is out of range"));
  EXPECT_THAT(message([](RawSchedule* s) { s->mutable_programs(0)->add_step_phases(0); }),
              HasSubstr("steps"));
  EXPECT_THAT(message([](RawSchedule* s) { s->mutable_programs(0)->set_step_microbatches(0, -2); }),
              HasSubstr("step 0 is out of range"));
  EXPECT_THAT(message([](RawSchedule* s) { s->mutable_places(0)->set_count(1 << 30); }),
              HasSubstr("more places than tensors"));
  EXPECT_THAT(message([](RawSchedule* s) { s->clear_places(); }), HasSubstr("has no place"));
  EXPECT_THAT(message([](RawSchedule* s) { s->mutable_places(1)->set_phase(0); }),
              HasSubstr("is computed in no phase"));
  EXPECT_THAT(message([](RawSchedule* s) { s->mutable_places(0)->set_program(7); }),
              HasSubstr("a place is out of range"));
  EXPECT_THAT(message([](RawSchedule* s) { s->mutable_async_operations(0)->set_result(1 << 20); }),
              HasSubstr("a tensor that does not exist"));
  EXPECT_THAT(message([](RawSchedule* s) { s->mutable_storage(0)->set_slots(0); }),
              HasSubstr("no slots"));
}

TEST(PlanSchedule, StepsAreExchangedByMutation) {
  lineage::Problem problem = *ReadSchedule(kScheduledPlan);
  const auto dependent = mutation::Mutate(problem, "S1", 0);
  ASSERT_TRUE(dependent.ok()) << dependent.status();
  EXPECT_THAT(dependent->what,
              HasSubstr("program \"b\": step 0 (R:0) and step 2 (G:0) are exchanged"));
  problem = *ReadSchedule(kScheduledPlan);
  const auto crossed = mutation::Mutate(problem, "S2", 1);
  ASSERT_TRUE(crossed.ok()) << crossed.status();
  EXPECT_THAT(crossed->what,
              EndsWith("program \"a\": step 1 (F0:1) and step 2 (F0:2) are exchanged"));
}

}  // namespace
}  // namespace planproof::plan
