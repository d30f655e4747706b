// Reads and writes the schedule of a problem in the raw form.
#ifndef PLANPROOF_FRONTEND_PLAN_RAW_SCHEDULE_H_
#define PLANPROOF_FRONTEND_PLAN_RAW_SCHEDULE_H_

#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"
#include "lineage/schedule.h"

namespace planproof::plan {

void WriteRawSchedule(const lineage::Schedule& schedule, RawSchedule* out);

// Every number is checked against `graph` and the programs: InvalidArgument otherwise, also if a
// tensor that an operator computes has no place. Whether the order can run is not looked at.
absl::StatusOr<lineage::Schedule> ReadRawSchedule(const RawSchedule& raw, const sdfg::Graph& graph);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_RAW_SCHEDULE_H_
