#include "stages/plan_check.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lineage/assumptions.h"
#include "stages/problem_check.h"
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

// What is no problem, or is used where it is not.
std::vector<Violation> ViolationsOf(const lineage::Problem& problem) {
  if (lineage::AssumesRelations(problem)) {
    return {Malformed(absl::InvalidArgumentError(
        "a relation of the plan is assumed; only who verifies it may state assumptions"))};
  }
  if (const absl::Status s = CheckProblem(problem); !s.ok()) return {Malformed(s)};
  return CheckResidence(problem.parallel, kMaxViolations);
}

Violation Interrupted(const StopRequest& stop) {
  Violation v;
  v.kind = stop.Why();
  v.message = v.cause = absl::StrCat(v.kind, " before any class was decided");
  return v;
}

Violation NothingRequired() {
  Violation v;
  v.kind = "nothing required";
  v.message = "the specification requires no output; there is nothing to prove";
  return v;
}

}  // namespace

std::optional<StepOrder> CheckPlan(const lineage::Problem& problem, const VerifyOptions& options,
                                   Result* result) {
  std::vector<Violation>& violations = result->violations;
  // Where tensors are, and in which order they are made.
  violations = ViolationsOf(problem);
  std::optional<StepOrder> order;
  if (violations.empty()) order.emplace(problem);
  if (violations.empty()) violations = CheckSchedule(&*order, kMaxViolations);
  if (violations.empty() && options.stop != nullptr && options.stop->requested)
    violations = {Interrupted(*options.stop)};
  if (violations.empty() && problem.required.empty()) violations = {NothingRequired()};
  if (!violations.empty()) {
    result->verdict = violations[0].verdict;
    return std::nullopt;
  }
  MemoryRemarks remarks = RemarksOnMemory(*order);
  for (std::string& text : remarks.assumptions) result->assumptions.push_back(std::move(text));
  for (std::string& text : remarks.warnings) result->warnings.push_back(std::move(text));
  return order;
}

}  // namespace planproof::stages
