// Whether a plan follows a published pipeline schedule (lineage/pipeline_schedule.h).
//
// Which programs are which stages, and which phases are passes: stages/schedule/pipeline_stages.h.
// A plan for which that cannot be told follows no schedule.
#ifndef PLANPROOF_STAGES_SCHEDULE_EXPECTED_SCHEDULE_H_
#define PLANPROOF_STAGES_SCHEDULE_EXPECTED_SCHEDULE_H_

#include <optional>

#include "lineage/lineage.h"
#include "stages/options.h"
#include "stages/result.h"

namespace planproof::stages {

// MALFORMED at the first step that differs, or if the plan states no order. The plan's schedule has
// passed CheckSchedule. GPipe's backward passes may go in either direction.
std::optional<Violation> CheckExpectedSchedule(const lineage::Problem& problem,
                                               PipelineSchedule expected);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SCHEDULE_EXPECTED_SCHEDULE_H_
