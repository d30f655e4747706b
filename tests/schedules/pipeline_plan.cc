#include "tests/schedules/pipeline_plan.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/plan/read_plan.h"

namespace planproof::schedules {
namespace {

constexpr char kPipeline[] = R"json({
  "planproof": 1,
  "specification": {
    "inputs": {"x": [4, 8]},
    "parameters": {"w": [16, 8], "v": [8, 16]},
    "operators": [
      {"op": "linear", "in": ["x", "w"], "out": "h"},
      {"op": "linear", "in": ["h", "v"], "out": "y"},
      {"op": "sum", "in": "y", "out": "loss"}
    ],
    "gradients": {"loss": "loss", "of": ["w", "v"]},
    "outputs": ["grad.w", "grad.v"]
  },
  "plan": {
    "mesh": {"pp": 2},
    "microbatches": 4,
    "programs": [
      {"name": "stage0", "devices": {"pp": 0}, STEPS0
       "inputs": {"x": {"0": "microbatch"}, "w": {}},
       "operators": [
         {"op": "linear", "in": ["x", "w"], "out": "h", "phase": "F"},
         {"op": "move", "in": "stage1:grad.h", "out": "grad.h", "phase": "B"},
         {"backward": "h", "out": {"w": "grad.w.part"}},
         {"op": "accumulate", "in": "grad.w.part", "out": "grad.w", "phase": "end"}]},
      {"name": "stage1", "devices": {"pp": 1}, STEPS1
       "inputs": {"v": {}, "grad.loss": {}},
       "operators": [
         {"op": "move", "in": "stage0:h", "out": "h", "phase": "F"},
         {"op": "linear", "in": ["h", "v"], "out": "y"},
         {"op": "sum", "in": "y", "out": "loss.part"},
         {"backward": "loss.part", "grad": {"loss.part": "grad.loss"}, "out": {"y": "grad.y"},
          "phase": "B"},
         {"backward": "y", "out": {"v": "grad.v.part", "h": "grad.h"}},
         {"op": "accumulate", "in": "grad.v.part", "out": "grad.v", "phase": "end"}]}
    ]
  }
})json";

constexpr char kOneProgram[] = R"json({
  "planproof": 1,
  "specification": {
    "inputs": {"x": [4, 8]},
    "operators": [
      {"op": "add", "in": ["x", "x"], "out": "s"},
      {"op": "mul", "in": ["s", "s"], "out": "t"}
    ],
    "outputs": {"t": {"0": "microbatch"}}
  },
  "plan": {
    "mesh": {"tp": 2},
    "microbatches": 4,
    "programs": [{
      "inputs": {"x": {"0": "microbatch"}},
      KEYS
      "operators": [OPERATORS]
    }]
  }
})json";

}  // namespace

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string PipelinePlan(const std::string& steps_of_stage0, const std::string& steps_of_stage1) {
  const auto key = [](const std::string& steps) {
    return steps.empty() ? "" : absl::StrCat("\"schedule\": ", steps, ",");
  };
  return Replaced(Replaced(kPipeline, "STEPS0", key(steps_of_stage0)), "STEPS1",
                  key(steps_of_stage1));
}

std::string OneForwardOneBackward() {
  return PipelinePlan(
      R"(["F:0", {"for": "i", "from": 0, "to": 3, "do": ["F:i+1", "B:i"]}, "B:3", "end"])",
      R"([{"for": "i", "from": 0, "to": "microbatches", "do": ["F:i", "B:i"]}, "end"])");
}

std::string OneProgram(const std::string& operators, const std::string& keys) {
  return Replaced(Replaced(kOneProgram, "OPERATORS", operators), "KEYS",
                  keys.empty() ? "" : keys + ",");
}

absl::StatusOr<lineage::Problem> ReadText(const std::string& text) {
  absl::StatusOr<plan::PlanFile> file = plan::ParsePlanFile(text, "plan.json");
  if (!file.ok()) return file.status();
  std::vector<std::pair<std::string, plan::PlanFile>> files;
  files.emplace_back("plan.json", *std::move(file));
  return plan::BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn());
}

stages::Result Verified(const std::string& text, stages::PipelineSchedule expected) {
  stages::Result result;
  const absl::StatusOr<lineage::Problem> problem = ReadText(text);
  EXPECT_TRUE(problem.ok()) << problem.status();
  if (!problem.ok()) return result;
  stages::VerifyOptions options;
  options.jobs = 1;
  options.expect_schedule = expected;
  return strategy::Verify(*problem, options);
}

std::string Said(const std::string& text, stages::PipelineSchedule expected) {
  if (const absl::Status status = ReadText(text).status(); !status.ok()) {
    return absl::StrCat("MALFORMED: ", std::string(status.message()));
  }
  const stages::Result result = Verified(text, expected);
  std::string said = stages::VerdictName(result.verdict);
  if (result.violations.empty()) return said;
  const stages::Violation& first = result.violations[0];
  return absl::StrCat(said, ": ", first.kind, ": ", first.cause, ": ", first.message);
}

}  // namespace planproof::schedules
