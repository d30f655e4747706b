#include "stages/plan_check.h"

#include <utility>
#include <vector>

#include "stages/claim_table.h"
#include "stages/schedule/schedule_check.h"
#include "stages/static_checks.h"
#include "stages/workers/process_pool.h"

namespace planproof::stages {

namespace {

constexpr size_t kMaxViolations = 20;

Violation Malformed(const absl::Status& status) {
  Violation v;
  const bool limit = absl::IsResourceExhausted(status);  // of ours: the plan may be right
  v.verdict = limit ? Verdict::kUnknown : Verdict::kMalformed;
  v.kind = limit ? "a limit was reached" : "malformed plan";
  v.message = v.cause = std::string(status.message());
  return v;
}

std::vector<Violation> ViolationsOf(const lineage::Problem& problem, const VerifyOptions& options) {
  if (const absl::Status s = CheckProblem(problem); !s.ok()) return {Malformed(s)};
  // Where tensors are, and in which order they are made.
  std::vector<Violation> violations = CheckResidence(problem.parallel, kMaxViolations);
  if (violations.empty()) violations = CheckSchedule(problem, kMaxViolations);
  if (!violations.empty()) return violations;
  Violation v;
  if (options.stop != nullptr && options.stop->requested) {
    v.kind = "interrupted";
    v.message = v.cause = "interrupted before any class was decided";
    return {v};
  }
  if (problem.required.empty()) {
    v.kind = "nothing required";
    v.message = "the specification requires no output; there is nothing to prove";
    return {v};
  }
  return {};
}

}  // namespace

bool CheckPlan(const lineage::Problem& problem, const VerifyOptions& options, Result* result) {
  result->violations = ViolationsOf(problem, options);
  if (!result->violations.empty()) {
    result->verdict = result->violations[0].verdict;
    return false;
  }
  MemoryRemarks remarks = RemarksOnMemory(problem);
  for (std::string& text : remarks.assumptions) result->assumptions.push_back(std::move(text));
  for (std::string& text : remarks.warnings) result->warnings.push_back(std::move(text));
  return true;
}

}  // namespace planproof::stages
