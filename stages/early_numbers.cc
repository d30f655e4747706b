#include "stages/early_numbers.h"

#include <algorithm>

#include "shape_reduction/witness.h"
#include "stages/aside.h"
#include "stages/counterexample_search.h"

namespace planproof::stages {

namespace {

constexpr double kSeconds = 2;
constexpr int kAttempts = 4;
constexpr double kQuickSeconds = 0.5;
constexpr int kQuickAttempts = 24;

bool IsFound(const Aside& looking, const VerifyOptions& options, Result* result) {
  const TaskOutcome outcome = RunAside(options, {looking}, result)[0];
  shape_reduction::Witness witness;
  return outcome.status == TaskStatus::kDone && FromBytes(outcome.result, &witness) &&
         witness.outcome == shape_reduction::Witness::Outcome::kConfirmed;
}

}  // namespace

bool NumbersDiffer(const lineage::Problem& problem, const VerifyOptions& options, Result* result) {
  shape_reduction::WitnessOptions search;
  search.time_budget_s = std::min(kSeconds, options.stage_timeout_s);
  search.attempts = kAttempts;
  search.localise = false;
  return IsFound({"first numbers", search.time_budget_s,
                  [&] { return ToBytes(shape_reduction::SearchWitness(problem, search)); }},
                 options, result);
}

bool ValuesDiffer(const lineage::Problem& problem, const VerifyOptions& options,
                  const ClaimTable& table, const std::vector<ClaimOutcome>& outcomes,
                  Result* result) {
  shape_reduction::WitnessOptions search;
  search.time_budget_s = std::min(kQuickSeconds, options.stage_timeout_s);
  search.attempts = kQuickAttempts;
  search.localise = false;
  return IsFound({"a quick look", 2 * search.time_budget_s,
                  [&] { return ToBytes(FindWitnessQuickly(problem, table, outcomes, search)); }},
                 options, result);
}

}  // namespace planproof::stages
