#include "stages/early_numbers.h"

#include <algorithm>

#include "shape_reduction/witness.h"
#include "stages/aside.h"

namespace planproof::stages {

namespace {

constexpr double kSeconds = 2;
constexpr int kAttempts = 4;

}  // namespace

bool NumbersDiffer(const lineage::Problem& problem, const VerifyOptions& options, Result* result) {
  shape_reduction::WitnessOptions search;
  search.time_budget_s = std::min(kSeconds, options.stage_timeout_s);
  search.attempts = kAttempts;
  search.localise = false;
  const Aside looking{"first numbers", search.time_budget_s,
                      [&] { return ToBytes(shape_reduction::SearchWitness(problem, search)); }};
  const TaskOutcome outcome = RunAside(options, {looking}, result)[0];
  shape_reduction::Witness witness;
  return outcome.status == TaskStatus::kDone && FromBytes(outcome.result, &witness) &&
         witness.outcome == shape_reduction::Witness::Outcome::kConfirmed;
}

}  // namespace planproof::stages
