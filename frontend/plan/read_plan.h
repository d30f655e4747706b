// Reads plan files (docs/plan-format.md): binary protobuf or JSON, told apart by content.
#ifndef PLANPROOF_FRONTEND_PLAN_READ_PLAN_H_
#define PLANPROOF_FRONTEND_PLAN_READ_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/plan/plan.pb.h"
#include "lineage/lineage.h"
#include "sdfg/operator_library.h"

namespace planproof::plan {

// The problem that one file with both roles, or a specification file and a plan file (in any
// order), pose. Every error is one line: file, line or position, what is wrong and what to do.
//   InvalidArgument                     malformed input
//   Unimplemented, FailedPrecondition   something is not declared: an operator, a tie rule
//   NotFound                            a file cannot be read
absl::StatusOr<lineage::Problem> ReadPlan(const std::vector<std::string>& paths,
                                          const sdfg::OperatorLibrary& library);

// One file as its message, without building anything.
absl::StatusOr<PlanFile> ReadPlanFile(const std::string& path);
// The same from memory; `name` stands in errors.
absl::StatusOr<PlanFile> ParsePlanFile(const std::string& content, const std::string& name);
absl::StatusOr<lineage::Problem> BuildProblemFromFiles(
    const std::vector<std::pair<std::string, PlanFile>>& files,
    const sdfg::OperatorLibrary& library);

// Specification and plan, from one file or two, as one file. What the plan's file declares stays
// the plan's own. InvalidArgument if a role is missing or there twice.
absl::StatusOr<PlanFile> MergePlanFiles(const std::vector<std::pair<std::string, PlanFile>>& files);

// True if the content looks like a plan file of either form (to choose a reader).
bool LooksLikePlanFile(const std::string& content);

enum class PlanFormat { kBinary, kJson };
// Writes any problem, whichever reader it came from, in the raw form: every operator as its index
// function. ReadPlan gives back the same problem.
absl::Status WritePlan(const lineage::Problem& problem, const std::string& path, PlanFormat format);
// The same into memory.
absl::StatusOr<std::string> SerializePlan(const lineage::Problem& problem, PlanFormat format);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_READ_PLAN_H_
