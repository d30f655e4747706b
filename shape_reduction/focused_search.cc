#include "shape_reduction/focused_search.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "shape_reduction/confirmation.h"
#include "shape_reduction/defined_inputs.h"
#include "shape_reduction/focused_evaluation.h"

namespace planproof::shape_reduction {
namespace {

constexpr uint64_t kPerFocus = 2;     // attempts at one place before the next one
constexpr int kEnoughUndefined = 2;   // inputs on which only the model has a value
constexpr int kTooManyUndefined = 8;  // where that is no counterexample
// Where going on from the loss to the gradients of the same inputs took so long once, of all time
// at most this share, losses alone are compared in the attempts of the first rounds at each place.
constexpr double kLongSeconds = 1.5;
constexpr double kLongShare = 0.15;
constexpr uint64_t kRoundsOfLosses = 4;

WorkClock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<WorkClock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Witness SearchFocused(const lineage::Problem& problem, const std::vector<Focus>& focuses,
                      const WitnessOptions& options) {
  Witness witness;
  if (focuses.empty()) return witness;
  const auto deadline = WorkClock::now() + Seconds(options.time_budget_s);
  const auto lengthy = Seconds(std::min(kLongSeconds, kLongShare * options.time_budget_s));
  const auto evaluation = std::make_shared<FocusedEvaluation>(problem);
  ProgramCache programs;
  DefinedInputs defined(problem, &programs);
  const uint64_t round = kPerFocus * focuses.size();
  int undefined = 0;
  bool long_gradients = false;
  for (int k = 0; k < options.attempts && WorkClock::now() < deadline; ++k) {
    const Focus& focus = focuses[k % round / kPerFocus];
    const uint64_t attempt = evaluation->AttemptAt(k / round * kPerFocus + k % kPerFocus);
    const auto until =
        options.attempt_budget_s < options.time_budget_s
            ? std::min(deadline, WorkClock::now() + Seconds(options.attempt_budget_s))
            : deadline;
    if (!evaluation->Run(focus, attempt, options.max_elements, until, &witness.message)) {
      if (WorkClock::now() > until) break;  // others at this place take as long
      continue;
    }
    ++witness.attempts;
    int required = -1;
    Gap gap = evaluation->WidestGap(&required);
    if (required < 0 && (!long_gradients || k / round >= kRoundsOfLosses)) {
      const auto start = WorkClock::now();
      const auto limit =
          k / round < kRoundsOfLosses ? std::min(deadline, start + lengthy) : deadline;
      if (evaluation->Extend(options.max_elements, limit, &witness.message))
        gap = evaluation->WidestGap(&required);
      long_gradients |= WorkClock::now() > start + lengthy;
    }
    const MissingValue missing =
        required < 0 ? evaluation->FindMissingValue(options.proved) : MissingValue();
    if (required < 0 && missing.required < 0) continue;
    if (!defined.Contain(evaluation->inputs(), options.max_elements, deadline)) {
      witness.message = "the inputs tried violate a premise of the logical graph";
      continue;
    }
    if (missing.required >= 0) {
      witness.undefined_seen = true;
      ++undefined;
      if (!options.undefined_counts && undefined == kTooManyUndefined) break;
      if (!options.undefined_counts || undefined < kEnoughUndefined) continue;
    }
    const bool differs = required >= 0;
    const Enclosures enclosures = differs ? EnclosuresOf(gap) : EnclosuresOf(missing);
    if (!Confirm(problem, differs ? required : missing.required,
                 differs ? gap.index : missing.index, enclosures, evaluation->inputs(), options,
                 &witness)) {
      continue;
    }
    witness.seed = attempt;
    witness.evaluation = evaluation;
    witness.focus = focus.parallel;
    witness.message.clear();
    return witness;
  }
  if (witness.attempts == 0 && !witness.message.empty()) {
    witness.outcome = Witness::Outcome::kExhausted;
  }
  return witness;
}

}  // namespace planproof::shape_reduction
