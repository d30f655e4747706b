// Checks whether a plan can run in the order that it states: nothing is read before it is there,
// programs do not wait for each other in a cycle, no buffer is written while a collective uses it.
//
// Ranks of one program run the same steps in the same order, so one walk per program decides for
// all of them, and microbatches are the only instances that are told apart (docs/soundness.md).
#ifndef PLANPROOF_STAGES_SCHEDULE_SCHEDULE_CHECK_H_
#define PLANPROOF_STAGES_SCHEDULE_SCHEDULE_CHECK_H_

#include <string>
#include <vector>

#include "stages/result.h"
#include "stages/schedule/step_order.h"

namespace planproof::stages {

// Violations of kind MALFORMED, or UNKNOWN if the plan has too many steps to be looked at; at most
// `most`. None for a problem without schedule. Every number in the schedule is in range (readers
// see to that). Makes the order ready to be asked.
std::vector<Violation> CheckSchedule(StepOrder* order, size_t most);

// What is to be said about the memory of a problem whose order has passed CheckSchedule, for
// people.
struct MemoryRemarks {
  // That views of tensors in buffers are copies, if the plan is not right otherwise.
  std::vector<std::string> assumptions;
  // Parameters and constants that are overwritten though nothing is required of them.
  std::vector<std::string> warnings;
};
MemoryRemarks RemarksOnMemory(const StepOrder& order);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SCHEDULE_SCHEDULE_CHECK_H_
