// Reads and writes plan files that pose one problem, as one message, for mutations of programs.
#ifndef PLANPROOF_MUTATION_WHOLE_PLAN_H_
#define PLANPROOF_MUTATION_WHOLE_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"

namespace planproof::mutation {

// One file with both roles, or a specification and a plan. FailedPrecondition if a file is not in
// plan format, or has no programs (the raw form).
absl::StatusOr<plan::PlanFile> ReadWholePlan(const std::vector<std::string>& files);

// In binary. NotFound if the file cannot be written.
absl::Status WriteWholePlan(const plan::PlanFile& whole, const std::string& output);

}  // namespace planproof::mutation

#endif  // PLANPROOF_MUTATION_WHOLE_PLAN_H_
