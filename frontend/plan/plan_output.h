// Writes plan files as a user asks for them: readable, or made from any reader's problem.
#ifndef PLANPROOF_FRONTEND_PLAN_PLAN_OUTPUT_H_
#define PLANPROOF_FRONTEND_PLAN_PLAN_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lineage/lineage.h"

namespace planproof::plan {

// Plan files as JSON that a person can read: one file with the roles that they have. Files with a
// raw problem have no such form (a usage error, as is what JSON has no words for).
absl::StatusOr<std::string> ReadableForm(const std::vector<std::string>& files);

// Writes a problem in plan format: JSON if the path ends in ".json", else binary.
absl::Status WritePlanFile(const lineage::Problem& problem, const std::string& path);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_PLAN_OUTPUT_H_
