#include "frontend/plan/plan_output.h"

#include <string_view>
#include <utility>

#include "frontend/load_problem.h"
#include "frontend/plan/read_plan.h"
#include "frontend/plan/readable_form.h"

namespace planproof::plan {

absl::StatusOr<std::string> ReadableForm(const std::vector<std::string>& files) {
  std::vector<std::pair<std::string, PlanFile>> read;
  for (const std::string& file : files) {
    absl::StatusOr<PlanFile> content = ReadPlanFile(file);
    if (!content.ok()) return content.status();
    read.emplace_back(file, *std::move(content));
  }
  if (read.size() > 1) {
    absl::StatusOr<PlanFile> whole = MergePlanFiles(read);
    if (!whole.ok()) return whole.status();
    read = {{files[0], *std::move(whole)}};
  }
  absl::StatusOr<std::string> text = WriteReadableForm(read[0].second);
  if (text.ok()) return text;
  return frontend::UsageError(text.status().code(),
                              files[0] + ": " + std::string(text.status().message()));
}

absl::Status WritePlanFile(const lineage::Problem& problem, const std::string& path) {
  const bool json = std::string_view(path).ends_with(".json");
  return WritePlan(problem, path, json ? PlanFormat::kJson : PlanFormat::kBinary);
}

}  // namespace planproof::plan
