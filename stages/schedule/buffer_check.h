// Checks tensors that share memory (stages/schedule/shared_memory.h): nothing is read after it has
// been overwritten, or while it is (stages/schedule/in_place.h), and nothing is written into memory
// that a collective in flight reads or writes.
//
// Only a program's own operators count: a send to another program has its own copy.
#ifndef PLANPROOF_STAGES_SCHEDULE_BUFFER_CHECK_H_
#define PLANPROOF_STAGES_SCHEDULE_BUFFER_CHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "stages/schedule/shared_memory.h"
#include "stages/schedule/step_order.h"

namespace planproof::stages {

// The first violation, with both places; UNKNOWN if more than 2^24 instances use shared memory.
// `order` has passed CheckOnce, and everything is computed before it is read.
std::optional<Violation> CheckBuffers(const StepOrder& order, Views views = Views::kAsStated);

// Parameters and constants of the model whose memory holds something else at the end that nothing
// is required of: the next step would read that. For people. `order` has passed CheckBuffers.
std::vector<std::string> LostConstants(const StepOrder& order);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SCHEDULE_BUFFER_CHECK_H_
