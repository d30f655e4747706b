#include "diagnosis/advice.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/lineage_advice.h"

namespace planproof::diagnosis {

namespace {

constexpr double kAdviceSeconds = 5;
constexpr int kMoreOfIt = 10;

std::string RaiseLimit(const stages::VerifyOptions& options, stages::Limit limit) {
  switch (limit) {
    case stages::Limit::kNone:
      return "";
    case stages::Limit::kWork:
      return absl::StrCat("--work-limit ", kMoreOfIt * options.work_limit,
                          " allows so many times the usual work");
    case stages::Limit::kTime:
      return absl::StrCat("--stage-timeout ", kMoreOfIt * options.stage_timeout_s,
                          " allows more than ", options.stage_timeout_s, " s");
    case stages::Limit::kMemory:
      return absl::StrCat("--memory-limit ", 4 * options.memory_limit_mb, " allows more than ",
                          options.memory_limit_mb, " MB");
  }
  return "";
}

}  // namespace

std::string AdviceFor(const lineage::Problem& problem, const stages::VerifyOptions& options,
                      const stages::WorkerLimits& limits, const stages::Claim& claim,
                      const stages::ClaimOutcome& outcome) {
  std::vector<std::string> clauses = {RaiseLimit(options, outcome.limit)};
  if (options.advise_lineage) {
    stages::WorkerLimits own = limits;
    own.jobs = 1;
    own.task_timeout_s = 4 * kAdviceSeconds;  // it looks at its time itself
    stages::RunInWorkers(
        1, own, [&](int) { return LineageToClaim(problem, claim, kAdviceSeconds); },
        [&](int, stages::TaskOutcome made) {
          if (made.status == stages::TaskStatus::kDone) clauses.push_back(std::move(made.result));
        },
        [](int) { return std::string("advice"); });
  }
  std::erase(clauses, "");
  return absl::StrJoin(clauses, "; or ");
}

}  // namespace planproof::diagnosis
