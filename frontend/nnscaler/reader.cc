#include "frontend/nnscaler/reader.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/nnscaler/alignment.h"
#include "frontend/nnscaler/logical_graph.h"
#include "frontend/nnscaler/overwritten_operands.h"
#include "frontend/nnscaler/parallel_builder.h"
#include "frontend/nnscaler/schedule.h"
#include "lineage/problem_builder.h"

namespace planproof::frontend::nnscaler {
namespace {

absl::Status In(const char* which, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(which, status.message()));
}

absl::StatusOr<Plan> ReadPlanFile(const std::string& path, const PickleLimits& limits) {
  absl::StatusOr<Pickle> pickle = Pickle::ReadFile(path, limits);
  if (!pickle.ok()) return pickle.status();
  absl::StatusOr<Plan> plan = ReadPlan(*pickle);
  if (!plan.ok()) return In((path + ": ").c_str(), plan.status());
  return plan;
}

}  // namespace

absl::StatusOr<lineage::Problem> BuildProblem(const Plan& logical, const Plan& parallel,
                                              const ReaderOptions& options) {
  const sdfg::OperatorLibrary& operators =
      options.operators != nullptr ? *options.operators : sdfg::OperatorLibrary::BuiltIn();
  absl::StatusOr<LogicalGraph> graph = BuildLogicalGraph(logical, operators);
  if (!graph.ok()) return In("logical plan: ", graph.status());
  absl::StatusOr<Schedule> schedule = MakeSchedule(parallel);
  if (!schedule.ok()) return In("parallel plan: ", schedule.status());
  absl::StatusOr<Alignment> alignment =
      Align(logical, parallel, parallel.copies * schedule->microbatches);
  if (!alignment.ok()) return alignment.status();
  lineage::ProblemBuilder problem;
  problem.logical = std::move(graph->graph);
  ParallelBuilder builder(parallel, logical, *graph, *alignment, *schedule, options, operators,
                          &problem);
  absl::Status status = builder.Run();
  if (!status.ok()) return In("parallel plan: ", status);
  status = CheckOverwrittenOperands(logical, operators);
  if (!status.ok()) return In("logical plan: ", status);
  status = CheckOverwrittenOperands(parallel, operators);
  if (!status.ok()) return In("parallel plan: ", status);
  std::set<std::string> assumptions = graph->assumptions;
  assumptions.insert(builder.assumptions().begin(), builder.assumptions().end());
  problem.assumptions.assign(assumptions.begin(), assumptions.end());
  using Subject = lineage::ProblemBuilder::Subject;
  return problem.Build([](const Subject& subject, const absl::Status& error) {
    return In(subject.kind == Subject::Kind::kModel ? "logical plan: " : "parallel plan: ", error);
  });
}

absl::StatusOr<lineage::Problem> ReadPair(const std::string& logical_path,
                                          const std::string& parallel_path,
                                          const ReaderOptions& options) {
  absl::StatusOr<Plan> logical = ReadPlanFile(logical_path, options.limits);
  if (!logical.ok()) return logical.status();
  absl::StatusOr<Plan> parallel = ReadPlanFile(parallel_path, options.limits);
  if (!parallel.ok()) return parallel.status();
  return BuildProblem(*logical, *parallel, options);
}

}  // namespace planproof::frontend::nnscaler
