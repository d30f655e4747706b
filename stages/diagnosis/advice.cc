#include "stages/diagnosis/advice.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "stages/diagnosis/lineage_advice.h"

namespace planproof::stages {

namespace {

constexpr double kAdviceSeconds = 5;
constexpr size_t kMaxAdvised = 6;
constexpr int kMoreOfIt = 10;

std::string RaiseLimit(const VerifyOptions& options, Limit limit) {
  switch (limit) {
    case Limit::kNone:
      return "";
    case Limit::kWork:
      return absl::StrCat("--work-limit ", kMoreOfIt * options.work_limit,
                          " allows so many times the usual work");
    case Limit::kTime:
      return absl::StrCat("--stage-timeout ", kMoreOfIt * options.stage_timeout_s,
                          " allows more than ", options.stage_timeout_s, " s");
    case Limit::kMemory:
      return absl::StrCat("--memory-limit ", 4 * options.memory_limit_mb, " allows more than ",
                          options.memory_limit_mb, " MB");
  }
  return "";
}

// The program that makes the tensor, as a plan names it, and the tensor's name there.
std::string InProgram(const std::string& tensor, const std::string& relation) {
  const size_t colon = tensor.rfind(':');
  const std::string name = colon == std::string::npos ? tensor : tensor.substr(colon + 1);
  return absl::StrCat("\"", name, "\": ", relation,
                      colon == std::string::npos
                          ? ""
                          : absl::StrCat(" in program \"", tensor.substr(0, colon), "\""));
}

std::string ClaimLineage(const lineage::Problem& problem, const Claim& claim) {
  std::vector<std::string> entries;
  for (const LineageAdvice& advice : AdviseLineage(problem, claim, kMaxAdvised, kAdviceSeconds)) {
    entries.push_back(InProgram(problem.parallel.tensors[advice.parallel].name, advice.relation));
  }
  if (entries.empty()) return "";
  return absl::StrCat("claim \"lineage\": {", absl::StrJoin(entries, ", "),
                      "}; on the inputs tried it holds");
}

}  // namespace

std::string AdviceFor(const lineage::Problem& problem, const VerifyOptions& options,
                      const WorkerLimits& limits, const Claim& claim, const ClaimOutcome& outcome) {
  std::vector<std::string> clauses = {RaiseLimit(options, outcome.limit)};
  if (options.advise_lineage) {
    WorkerLimits own = limits;
    own.jobs = 1;
    own.task_timeout_s = 4 * kAdviceSeconds;  // it looks at its time itself
    RunInWorkers(
        1, own, [&](int) { return ClaimLineage(problem, claim); },
        [&](int, TaskOutcome made) {
          if (made.status == TaskStatus::kDone) clauses.push_back(std::move(made.result));
        },
        [](int) { return std::string("advice"); });
  }
  std::erase(clauses, "");
  return absl::StrJoin(clauses, "; or ");
}

}  // namespace planproof::stages
