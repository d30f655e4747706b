// Whether a plan follows a published pipeline schedule (lineage/pipeline_schedule.h).
//
// A program is one pipeline stage. Its phases F0, F1, ... are the forward passes and B0, B1, ...
// the backward passes of its chunks of layers ("F" and "B" if it has one chunk); others, such as
// the update or a wait, do not matter. A stage's number is how many programs its phase F0 is behind
// the first one, along what the phases F0 receive.
#ifndef PLANPROOF_STAGES_EXPECTED_SCHEDULE_H_
#define PLANPROOF_STAGES_EXPECTED_SCHEDULE_H_

#include <optional>

#include "lineage/lineage.h"
#include "stages/verify.h"

namespace planproof::stages {

// MALFORMED at the first step that differs, or if the plan states no order. The plan's schedule has
// passed CheckSchedule. GPipe's backward passes may go in either direction.
std::optional<Violation> CheckExpectedSchedule(const lineage::Problem& problem,
                                               PipelineSchedule expected);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_EXPECTED_SCHEDULE_H_
