#include "mutation/whole_plan.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/plan/read_plan.h"
#include "frontend/plan/write_file.h"

namespace planproof::mutation {

absl::StatusOr<plan::PlanFile> ReadWholePlan(const std::vector<std::string>& files) {
  std::vector<std::pair<std::string, plan::PlanFile>> read;
  for (const std::string& path : files) {
    absl::StatusOr<plan::PlanFile> file = plan::ReadPlanFile(path);
    if (!file.ok() || file->has_problem()) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, ": this fault is written into a plan's programs; this file has no programs"));
    }
    read.emplace_back(path, *std::move(file));
  }
  return plan::MergePlanFiles(read);
}

absl::Status WriteWholePlan(const plan::PlanFile& whole, const std::string& output) {
  return plan::WriteFile(output, whole.SerializeAsString());
}

}  // namespace planproof::mutation
