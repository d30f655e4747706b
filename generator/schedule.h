// Writes the order in which pipeline stages run microbatches into their programs.
//
// While a plan is emitted, the phases of its operators are noted: "F0", "F1", ... for the forward
// pass of each chunk of layers, "B0", "B1", ... for its backward pass; "prepare" and "update" for
// what comes before and after, once. WriteSchedule then labels the operators and lists the steps.
#ifndef PLANPROOF_GENERATOR_SCHEDULE_H_
#define PLANPROOF_GENERATOR_SCHEDULE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"
#include "lineage/pipeline_schedule.h"

namespace planproof::generator {

// Phases that run once: before the first and after the last microbatch.
inline constexpr char kPreparePhase[] = "prepare";
inline constexpr char kUpdatePhase[] = "update";

// Where the phases of each stage's program begin.
class PhaseMarks {
 public:
  // Operators that are added to `program`, of stage `stage`, from now on are of this phase.
  void Begin(int stage, const plan::Program& program, const std::string& phase);
  // Labels the operators of `program`.
  void Label(int stage, plan::Program* program) const;

 private:
  std::vector<std::vector<std::pair<int, std::string>>> marks_;  // by stage: operator and phase
};

// "gpipe", "1f1b" or "interleaved".
absl::StatusOr<lineage::PipelineSchedule> ScheduleNamed(const std::string& name);

// InvalidArgument if stages, chunks and microbatches do not admit the schedule.
absl::Status CheckSchedule(lineage::PipelineSchedule schedule, int64_t stages, int64_t chunks,
                           int64_t microbatches);

// Labels the stages' programs and writes their steps: "prepare", the published order, "update", as
// far as they have such phases. Repeated steps become ranges and loops.
void WriteSchedule(lineage::PipelineSchedule schedule, int64_t chunks, int64_t microbatches,
                   const PhaseMarks& marks, std::vector<plan::Program>* programs);

}  // namespace planproof::generator

#endif  // PLANPROOF_GENERATOR_SCHEDULE_H_
