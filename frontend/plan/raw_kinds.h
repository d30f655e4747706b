// Reads the kinds of axes and operators from the raw form.
#ifndef PLANPROOF_FRONTEND_PLAN_RAW_KINDS_H_
#define PLANPROOF_FRONTEND_PLAN_RAW_KINDS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"
#include "sdfg/graph.h"

namespace planproof::plan {

// Files that are older than the field are told by the name. InvalidArgument for other numbers.
absl::StatusOr<sdfg::AxisKind> ReadAxisKind(const RawAxis& from);

// Sets kind, group and override_at; operands, results and the graph's axes are known already.
// InvalidArgument for what no operator of its kind is.
absl::Status ReadOperatorKind(const RawOperator& from, const sdfg::Graph& graph,
                              sdfg::Operator* to);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_RAW_KINDS_H_
