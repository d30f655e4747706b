#include "planproof/load.h"

#include <optional>

#include "frontend/load_problem.h"
#include "lineage/lineage.h"

namespace planproof {
namespace {

int64_t Instances(const sdfg::Graph& graph) {
  int64_t count = 0;
  for (const sdfg::Operator& op : graph.operators) count += graph.InstanceCount(op);
  return count;
}

}  // namespace

std::vector<std::string> Problem::RequiredOutputs() const {
  std::vector<std::string> names;
  for (const lineage::RequiredRelation& required : wrapped_->required)
    names.push_back(required.what);
  return names;
}

int64_t Problem::LogicalOperators() const { return Instances(wrapped_->logical); }
int64_t Problem::ParallelOperators() const { return Instances(wrapped_->parallel); }

absl::StatusOr<Problem> Load(const std::vector<std::string>& files, const LoadOptions& options) {
  std::optional<frontend::Recording> recording;
  absl::StatusOr<lineage::Problem> problem = frontend::LoadProblem(
      files, {options.operators_file, options.collectives_by_rank, options.extend, &recording});
  if (!problem.ok()) return problem.status();
  return Problem(
      std::make_shared<const lineage::Problem>(*std::move(problem)),
      recording ? std::make_shared<const frontend::Recording>(*std::move(recording)) : nullptr);
}

bool IsUsageError(const absl::Status& error) { return frontend::IsUsageError(error); }

}  // namespace planproof
