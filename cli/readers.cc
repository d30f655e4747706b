#include "cli/readers.h"

#include <string_view>

#include "frontend/nnscaler/reader.h"
#include "frontend/plan/read_plan.h"

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

absl::Status WritePlanFile(const lineage::Problem& problem, const std::string& path) {
  const bool json = std::string_view(path).ends_with(".json");
  return plan::WritePlan(problem, path, json ? plan::PlanFormat::kJson : plan::PlanFormat::kBinary);
}

}  // namespace planproof::cli
