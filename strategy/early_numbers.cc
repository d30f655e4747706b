#include "strategy/early_numbers.h"

#include <algorithm>

#include "shape_reduction/witness.h"
#include "strategy/aside.h"

namespace planproof::strategy {

namespace {

constexpr double kSecondsOfFirstNumbers = 2;
constexpr int kAttempts = 4;

}  // namespace

bool NumbersDiffer(const lineage::Problem& problem, const stages::VerifyOptions& options,
                   stages::Result* result) {
  shape_reduction::WitnessOptions search;
  search.time_budget_s = std::min(kSecondsOfFirstNumbers, options.stage_timeout_s);
  search.attempts = kAttempts;
  search.localise = false;
  const Aside looking{"first numbers", search.time_budget_s,
                      [&] { return ToBytes(shape_reduction::SearchWitness(problem, search)); }};
  const stages::TaskOutcome outcome = RunAside(options, {looking}, result)[0];
  shape_reduction::Witness witness;
  return outcome.status == stages::TaskStatus::kDone && FromBytes(outcome.result, &witness) &&
         witness.outcome == shape_reduction::Witness::Outcome::kConfirmed;
}

}  // namespace planproof::strategy
