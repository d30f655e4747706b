#include "strategy/further_attempts.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stages/elapsed.h"
#include "strategy/refutation.h"

namespace planproof::strategy {

namespace {

// Up to so many failed claims may be lineages that do not hold in a plan that is right.
constexpr int64_t kFewFailures = 12;
constexpr int64_t kQuickTermBudget = 40'000;
constexpr int kQuickRounds = 2, kRounds = 16;
constexpr double kSecondsToSeeThrough = 2, kSecondsBeforeNumbers = 3;

// For a further attempt.
double SecondsLeft(const RunContext& context) {
  const double all = context.share_of_time * context.options.stage_timeout_s;
  return std::max(1.0, all - stages::Since(context.start));
}

// Whether a counterexample is found now. Where a full search found none before, none is made.
bool RefuteOnce(const lineage::Problem& problem, const RunContext& context,
                const stages::ClaimTable& table, const std::vector<stages::ClaimOutcome>& outcomes,
                const std::vector<bool>& shown, bool quickly, stages::Result* result,
                bool* undefined_seen) {
  SearchMade* const search = quickly ? nullptr : context.search;
  if (search != nullptr && search->made) {
    *undefined_seen = search->undefined_seen;
    result->warnings.insert(result->warnings.end(), search->warnings.begin(),
                            search->warnings.end());
    return false;
  }
  const Thoroughness thoroughness = quickly          ? Thoroughness::kQuick
                                    : context.looked ? Thoroughness::kFullAfterQuick
                                                     : Thoroughness::kFull;
  const size_t warnings = result->warnings.size();
  const bool refuted = Refute(problem, context.options, table, outcomes, shown, thoroughness,
                              result, undefined_seen);
  if (search != nullptr && !refuted && !Stopped(context.options)) {
    *search = {.made = true,
               .undefined_seen = *undefined_seen,
               .warnings = {result->warnings.begin() + warnings, result->warnings.end()}};
  }
  return refuted;
}

}  // namespace

Attempts TryFurther(const lineage::Problem& problem, const RunContext& context, Method method,
                    const stages::ClaimTable& table, stages::ProofSearch* search,
                    stages::Result* result) {
  const stages::VerifyOptions& options = context.options;
  const bool smt = options.engine == stages::Engine::kSmt;
  const stages::ClaimOutcomes at_first = search->outcomes();
  const std::vector<stages::ClaimOutcome> first = at_first.Each();
  const auto failed = std::count_if(first.begin(), first.end(), [](const stages::ClaimOutcome& o) {
    return o.status == stages::ClaimStatus::kFailed;
  });
  Attempts made;
  if (method == Method::kClaims) return made;
  const bool quickly = method == Method::kGlance;
  if (!smt && !quickly && failed > 0 && failed <= kFewFailures)
    made.proved = search->Continue(kQuickRounds, kQuickTermBudget, kSecondsToSeeThrough);
  // Where Z3 has no answer, numbers may.
  const bool wrong = !made.proved && (failed > 0 || smt) && !Stopped(options);
  const bool explain = wrong && (quickly ? !smt : method > Method::kProve);
  bool undefined_seen = false;
  const std::vector<bool> shown = search->ProvedClaims();
  // Where the first numbers do not differ, the plan may be right, and a proof takes less time than
  // all other numbers.
  if (!smt && explain && !quickly && context.looked && failed <= kFewFailures)
    made.proved =
        search->Continue(kRounds, stages::ClaimLimits{}.term_budget, kSecondsBeforeNumbers);
  if (made.proved) return made;
  if (explain) {
    made.refuted =
        RefuteOnce(problem, context, table, first, shown, quickly, result, &undefined_seen);
  }
  if (Stopped(options) || method != Method::kAll) return made;
  if (!smt && explain && !made.refuted && failed <= kFewFailures)
    made.proved = search->OpenDifferences(at_first, SecondsLeft(context));
  if (!smt && explain && !made.refuted && !made.proved && !Stopped(options))
    made.proved =
        search->Continue(kRounds, stages::ClaimLimits{}.term_budget, SecondsLeft(context));
  made.undefined =
      undefined_seen && !smt && !made.proved && !made.refuted && !search->Interrupted();
  return made;
}

}  // namespace planproof::strategy
