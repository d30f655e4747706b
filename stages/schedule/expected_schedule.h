// Checks whether a plan follows a published pipeline schedule (lineage/pipeline_schedule.h).
//
// Which programs are which stages, and which phases are passes: stages/schedule/pipeline_stages.h.
// A plan for which that cannot be told follows no schedule.
#ifndef PLANPROOF_STAGES_SCHEDULE_EXPECTED_SCHEDULE_H_
#define PLANPROOF_STAGES_SCHEDULE_EXPECTED_SCHEDULE_H_

#include "stages/options.h"
#include "stages/result.h"
#include "stages/schedule/step_order.h"

namespace planproof::stages {

// Whether the order of microbatches is the one that the plan claims to follow. Otherwise adds to
// the result what makes it MALFORMED: the first step that differs, or that the plan states no
// order. The order has passed CheckSchedule. GPipe's backward passes may go in either direction.
bool CheckExpectedSchedule(const StepOrder& order, PipelineSchedule expected, Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SCHEDULE_EXPECTED_SCHEDULE_H_
