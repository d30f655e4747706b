// Reads and writes the raw form of a problem: every operator as its index function
// (docs/plan-format.md, "Raw form").
#ifndef PLANPROOF_FRONTEND_PLAN_RAW_FORM_H_
#define PLANPROOF_FRONTEND_PLAN_RAW_FORM_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"
#include "lineage/lineage.h"

namespace planproof::plan {

absl::Status WriteRawProblem(const lineage::Problem& problem, RawProblem* out);

// Everything is checked: functions by their builder, graphs by Graph::Check, lineage against
// shapes.
absl::StatusOr<lineage::Problem> ReadRawProblem(const RawProblem& raw);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_RAW_FORM_H_
