// Orders the steps of a plan's programs by position: when an operator's instance runs, when a
// tensor of one microbatch is there (lineage/schedule.h).
//
// A phase that runs once runs each of its operators for all microbatches. In any other phase an
// operator whose results do not vary over the microbatch runs in the first step of its phase.
#ifndef PLANPROOF_STAGES_SCHEDULE_STEP_ORDER_H_
#define PLANPROOF_STAGES_SCHEDULE_STEP_ORDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "stages/result.h"

namespace planproof::stages {

// A violation of kind `kind` that makes the plan MALFORMED.
Violation OrderViolation(const std::string& kind, const std::string& cause,
                         const std::string& message);

// Names the operator and its devices in the violation.
void Concerns(const sdfg::Operator& op, Violation* violation);

class StepOrder {
 public:
  // `problem` must outlive this object. Without a schedule it has no order that could be asked for.
  explicit StepOrder(const lineage::Problem& problem);

  // Every phase runs in exactly one step, or in exactly one step of each microbatch. Nothing below
  // may be asked before this has given no violation.
  std::optional<Violation> CheckOnce();

  // 1 if no program states an order and no tensors share buffers: operators then run for all
  // microbatches at once, and instances need not be told apart.
  int64_t microbatches() const { return microbatches_; }
  bool Varies(sdfg::TensorId tensor) const { return varies_[tensor]; }
  // Some result of the operator varies over the microbatch.
  bool VariesOperator(const sdfg::Operator& op) const;
  // By operand: instance m of the operator reads instance m of it, and no other one (always so for
  // what does not vary). Read off the operator's function.
  std::vector<bool> ReadsSameMicrobatch(const sdfg::Operator& op) const;

  // The place of the operator's results; program is kNone if it has none.
  lineage::Place PlaceOf(const sdfg::Operator& op) const;
  lineage::Place PlaceOf(sdfg::TensorId tensor) const { return problem_.schedule.places[tensor]; }
  const std::vector<lineage::ScheduleStep>& Steps(int program) const {
    return programs_[program].steps;
  }
  bool Once(lineage::Place place) const { return phase(place).once; }
  // The step that runs the phase for this microbatch; the only one if it runs once.
  int64_t Position(lineage::Place place, int64_t microbatch) const;
  int64_t First(lineage::Place place) const { return phase(place).first; }
  int64_t Last(lineage::Place place) const { return phase(place).last; }
  // Where an instance of what is computed at `place` is computed.
  int64_t Computed(lineage::Place place, bool varies, int64_t microbatch) const {
    return varies ? Position(place, microbatch) : First(place);
  }

  // "step 3 (B0:1)".
  std::string StepText(int program, int64_t step) const;
  // "linear (h) at plan.json:12".
  std::string OperatorText(const sdfg::Operator& op) const;
  // "stage0:h of microbatch 2".
  std::string TensorText(sdfg::TensorId tensor, int64_t microbatch) const;
  const std::string& ProgramName(int program) const {
    return problem_.schedule.programs[program].name;
  }
  const lineage::Problem& problem() const { return problem_; }

 private:
  struct Phase {
    std::vector<int32_t> at;  // positions by microbatch; empty if it runs once
    int64_t steps = 0;
    int64_t first = -1;
    int64_t last = -1;
    bool once = false;
  };
  struct Program {
    std::vector<lineage::ScheduleStep> steps;
    std::vector<Phase> phases;
  };
  const Phase& phase(lineage::Place place) const {
    return programs_[place.program].phases[place.phase];
  }
  std::optional<Violation> CheckOnce(int program);
  // The first microbatch for which no step runs the phase; -1: none is missing.
  int64_t Missing(const Program& program, int32_t phase) const;

  const lineage::Problem& problem_;
  sdfg::AxisId axis_ = sdfg::kNone;  // of the microbatch
  int64_t microbatches_ = 1;
  std::vector<bool> varies_;
  std::vector<Program> programs_;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SCHEDULE_STEP_ORDER_H_
