// Reads the role `plan` of a plan file: programs per group of devices, as one parallel graph.
#ifndef PLANPROOF_FRONTEND_PLAN_PROGRAM_H_
#define PLANPROOF_FRONTEND_PLAN_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"
#include "frontend/plan/specification.h"
#include "lineage/lineage.h"
#include "sdfg/operator_library.h"

namespace planproof::plan {

// The verification problem of `plan` against the logical model of `specification`. Errors name
// file, line, position and remedy; InvalidArgument: the plan is malformed; Unimplemented or
// FailedPrecondition: something is not declared (an operator, a tie rule).
absl::StatusOr<lineage::Problem> BuildProblem(LogicalModel logical,
                                              const Specification& specification,
                                              const std::string& specification_file,
                                              const Plan& plan, const std::string& plan_file,
                                              const sdfg::OperatorLibrary& library);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_PROGRAM_H_
