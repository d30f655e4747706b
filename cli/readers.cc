#include "cli/readers.h"

#include <string_view>
#include <utility>

#include "cli/load_problem.h"
#include "frontend/nnscaler/reader.h"
#include "frontend/plan/read_plan.h"
#include "frontend/plan/readable_form.h"

namespace planproof::cli {

absl::StatusOr<lineage::Problem> ReadNnscalerPair(const std::string& logical,
                                                  const std::string& parallel,
                                                  const sdfg::OperatorLibrary& operators,
                                                  bool collective_by_rank) {
  using frontend::nnscaler::CollectiveOrder;
  frontend::nnscaler::ReaderOptions options;
  options.operators = &operators;
  options.collective_order =
      collective_by_rank ? CollectiveOrder::kRank : CollectiveOrder::kIndexMap;
  absl::StatusOr<lineage::Problem> problem =
      frontend::nnscaler::ReadPair(logical, parallel, options);
  // This reader's limits bound what a real plan can need: a file beyond them is no plan.
  if (absl::IsResourceExhausted(problem.status())) {
    return absl::InvalidArgumentError(problem.status().message());
  }
  return problem;
}

absl::StatusOr<lineage::Problem> ReadPlanFiles(const std::vector<std::string>& files,
                                               const sdfg::OperatorLibrary& operators) {
  absl::StatusOr<lineage::Problem> problem = plan::ReadPlan(files, operators);
  // This reader's word for something that has no declared meaning, a tie rule for example.
  if (absl::IsFailedPrecondition(problem.status())) {
    return absl::UnimplementedError(problem.status().message());
  }
  return problem;
}

absl::StatusOr<std::string> ReadableForm(const std::vector<std::string>& files) {
  std::vector<std::pair<std::string, plan::PlanFile>> read;
  for (const std::string& file : files) {
    absl::StatusOr<plan::PlanFile> content = plan::ReadPlanFile(file);
    if (!content.ok()) return content.status();
    read.emplace_back(file, *std::move(content));
  }
  if (read.size() > 1) {
    absl::StatusOr<plan::PlanFile> whole = plan::MergePlanFiles(read);
    if (!whole.ok()) return whole.status();
    read = {{files[0], *std::move(whole)}};
  }
  absl::StatusOr<std::string> text = plan::WriteReadableForm(read[0].second);
  if (text.ok()) return text;
  return UsageError(text.status().code(), files[0] + ": " + std::string(text.status().message()));
}

absl::Status WritePlanFile(const lineage::Problem& problem, const std::string& path) {
  const bool json = std::string_view(path).ends_with(".json");
  return plan::WritePlan(problem, path, json ? plan::PlanFormat::kJson : plan::PlanFormat::kBinary);
}

}  // namespace planproof::cli
