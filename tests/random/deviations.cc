#include "tests/random/deviations.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/plan/read_plan.h"
#include "sdfg/operator_library.h"

namespace planproof::random_tests {

DeviationTrials::DeviationTrials(std::vector<std::string> files, std::string scratch)
    : files_(std::move(files)), scratch_(std::move(scratch)) {}

absl::StatusOr<stages::Result> DeviationTrials::Verify(const std::vector<std::string>& files,
                                                       double* seconds) {
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<lineage::Problem> problem =
      plan::ReadPlan(files, sdfg::OperatorLibrary::BuiltIn());
  stages::Result result;
  if (problem.ok()) {
    result = strategy::Verify(*problem, {});
  } else if (absl::IsInvalidArgument(problem.status())) {
    result.verdict = stages::Verdict::kMalformed;
    stages::Violation violation;
    violation.verdict = result.verdict;
    violation.message = std::string(problem.status().message());
    result.violations.push_back(std::move(violation));
  } else {
    return problem.status();
  }
  *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

absl::StatusOr<double> DeviationTrials::ProofSeconds(int times) {
  std::vector<double> all;
  for (int k = 0; k < times; ++k) {
    double seconds = 0;
    const absl::StatusOr<stages::Result> result = Verify(files_, &seconds);
    if (!result.ok()) return result.status();
    if (result->verdict != stages::Verdict::kProved) {
      return absl::FailedPreconditionError("the unchanged plan is not proved");
    }
    all.push_back(seconds);
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

absl::StatusOr<DeviationTrial> DeviationTrials::Try(uint64_t seed) {
  if (!loaded_) {
    absl::StatusOr<lineage::Problem> problem =
        plan::ReadPlan(files_, sdfg::OperatorLibrary::BuiltIn());
    if (!problem.ok()) return problem.status();
    problem_ = *std::move(problem);
    loaded_ = true;
  }
  DeviationTrial trial;
  trial.seed = seed;
  absl::StatusOr<mutation::Deviation> deviation =
      mutation::DeviateFiles(files_, problem_, seed, scratch_);
  if (!deviation.ok()) return deviation.status();
  trial.deviation = *std::move(deviation);
  const absl::StatusOr<stages::Result> result = Verify({scratch_}, &trial.seconds);
  if (!result.ok()) return result.status();
  trial.verdict = result->verdict;
  if (result->violations.empty()) return trial;
  const stages::Violation& first = result->violations[0];
  trial.finding = absl::StrCat(first.stage, ": ", first.cause, "; ", first.message);
  // "linear (layers.3.q)": the operator, or the exception that stands for it.
  const std::string& name = trial.deviation.operator_name;
  const std::string label = name.substr(name.find('('));
  const std::string replaced = absl::StrCat("(", trial.deviation.tensor, ")");
  std::vector<std::string> coordinates;
  for (const auto& [axis, value] : trial.deviation.at) {
    coordinates.push_back(absl::StrCat(axis, "=", value));
  }
  const std::string there = absl::StrCat(replaced, " at ", absl::StrJoin(coordinates, ", "));
  for (const std::string& op : first.parallel_operators) {
    trial.rank_named |= absl::StrContains(op, there);
    trial.operator_named |= absl::StrContains(op, label) || absl::StrContains(op, replaced);
  }
  trial.rank_named = std::find(first.devices.begin(), first.devices.end(),
                               trial.deviation.device) != first.devices.end();
  trial.devices = first.devices.size();
  if (trial.verdict == stages::Verdict::kMalformed) {
    trial.operator_named |= absl::StrContains(first.message, trial.deviation.tensor);
    trial.rank_named |= absl::StrContains(first.message, "exceptions");
  }
  return trial;
}

}  // namespace planproof::random_tests
