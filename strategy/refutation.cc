#include "strategy/refutation.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "diagnosis/explanation.h"
#include "diagnosis/findings.h"
#include "shape_reduction/witness.h"
#include "strategy/aside.h"

namespace planproof::strategy {

using shape_reduction::Witness;
using shape_reduction::WitnessOptions;

namespace {

constexpr double kSearchSeconds = 20;
constexpr int kSearchAttempts = 48;
constexpr double kConfirmSeconds = 60;  // of many operators: one evaluation takes seconds
constexpr double kUndefinedSeconds = 8;
constexpr int kUndefinedAttempts = 40;

// Searches and, if a counterexample is confirmed, appends its violations.
Witness SearchAndExplain(const lineage::Problem& problem, const stages::VerifyOptions& options,
                         const stages::ClaimTable& table,
                         const std::vector<stages::ClaimOutcome>& outcomes, double seconds,
                         const std::function<Witness()>& search, bool values_right,
                         stages::Result* result) {
  Witness found;  // in the worker
  const auto confirmed = [](const Witness& witness) {
    return witness.outcome == Witness::Outcome::kConfirmed;
  };
  const Aside searching{"search for a counterexample", seconds, [&] {
                          found = search();
                          return ToBytes(found);
                        }};
  const auto in_words = [&](const Witness& witness, const diagnosis::Findings& findings) {
    return diagnosis::Explain(problem, table, outcomes, witness, findings);
  };
  const Aside explaining{
      "diagnosis", 0, [&] {
        std::vector<stages::Violation> violations;
        if (confirmed(found)) {
          violations =
              in_words(found, diagnosis::FindFaults(problem, table, outcomes, found, values_right));
        }
        return ToBytes(violations);
      }};
  const std::vector<stages::TaskOutcome> done = RunAside(options, {searching, explaining}, result);
  Witness witness;
  if (!Take(done[0], "the search for a counterexample", options, &witness, result)) return {};
  if (!confirmed(witness)) return witness;
  result->witness = witness.data;
  if (options.keep_witness && witness.data == nullptr)
    result->warnings.push_back("the counterexample is too large to be kept as data");
  std::vector<stages::Violation> violations;
  if (!Take(done[1], "the diagnosis", options, &violations, result) || violations.empty()) {
    violations = in_words(witness, {});
  }
  for (stages::Violation& v : violations) result->violations.push_back(std::move(v));
  return witness;
}

// Tensors whose claims are shown, and those of all other claims. `shown`: by claim.
void SetProved(const stages::ClaimTable& table, const std::vector<bool>& shown,
               WitnessOptions* search) {
  std::set<sdfg::TensorId> suspects;
  for (size_t c = 0; c < shown.size(); ++c) {
    if (!shown[c]) suspects.insert(table.claims()[c].parallel);
  }
  search->suspects.assign(suspects.begin(), suspects.end());
  for (size_t c = 0; c < shown.size(); ++c) {
    const sdfg::TensorId id = table.claims()[c].parallel;
    if (suspects.count(id) == 0) search->proved.push_back(id);
  }
}

// Of values, at what failed and everywhere.
WitnessOptions SearchOf(const stages::VerifyOptions& options, const stages::ClaimTable& table,
                        const std::vector<stages::ClaimOutcome>& outcomes,
                        const std::vector<bool>& shown) {
  WitnessOptions search;
  SetProved(table, shown, &search);
  search.suspects.clear();  // those whose own claims failed, below
  search.time_budget_s = std::min(kSearchSeconds, options.stage_timeout_s);
  search.attempts = kSearchAttempts;
  search.localise = false;
  search.keep_data = options.keep_witness;
  // A proof that restricts the plan's domain would not count: nothing to wait for.
  search.undefined_counts = !options.accept_restrictions && options.engine != stages::Engine::kSmt;
  for (size_t c = 0; c < outcomes.size(); ++c) {
    if (outcomes[c].status == stages::ClaimStatus::kProved && !outcomes[c].unsatisfiable) continue;
    search.suspects.push_back(table.claims()[c].parallel);
  }
  return search;
}

}  // namespace

bool Refute(const lineage::Problem& problem, const stages::VerifyOptions& options,
            const stages::ClaimTable& table, const std::vector<stages::ClaimOutcome>& outcomes,
            const std::vector<bool>& shown, Thoroughness thoroughness, stages::Result* result,
            bool* undefined_seen) {
  const WitnessOptions search = SearchOf(options, table, outcomes, shown);
  const bool quick = thoroughness == Thoroughness::kQuick;
  const double confirm_seconds = std::min(kConfirmSeconds, options.stage_timeout_s);
  const double seconds = quick ? search.time_budget_s : 2 * search.time_budget_s + confirm_seconds;
  const size_t warnings = result->warnings.size();
  const Witness witness = SearchAndExplain(
      problem, options, table, outcomes, seconds,
      [&] { return FindWitness(problem, table, outcomes, search, thoroughness, confirm_seconds); },
      /*values_right=*/false, result);
  *undefined_seen = witness.undefined_seen;
  if (witness.outcome == Witness::Outcome::kConfirmed) return true;
  if (quick || Stopped(options) || result->warnings.size() > warnings) return false;
  const std::string why = witness.message.empty() ? "" : absl::StrCat(": ", witness.message);
  if (witness.outcome != Witness::Outcome::kNone) {
    result->warnings.push_back(
        absl::StrCat(witness.outcome == Witness::Outcome::kUnconfirmed
                         ? "doubles differ on some inputs, but intervals did not confirm it"
                         : "no search for a counterexample",
                     why));
  } else if (witness.attempts == 0) {
    result->warnings.push_back(absl::StrCat("no inputs were compared", why));
  }
  return false;
}

bool RefuteUndefined(const lineage::Problem& problem, const stages::VerifyOptions& options,
                     const stages::ClaimTable& table,
                     const std::vector<stages::ClaimOutcome>& outcomes,
                     const std::vector<bool>& shown, stages::Result* result) {
  WitnessOptions search;
  search.time_budget_s = std::min(kUndefinedSeconds, options.stage_timeout_s);
  search.attempts = kUndefinedAttempts;
  search.localise = false;
  search.undefined_counts = true;
  search.keep_data = options.keep_witness;
  SetProved(table, shown, &search);
  const bool values_right =
      std::all_of(outcomes.begin(), outcomes.end(), [](const stages::ClaimOutcome& outcome) {
        return outcome.status == stages::ClaimStatus::kProved;
      });
  const Witness witness = SearchAndExplain(
      problem, options, table, outcomes, 2 * search.time_budget_s,
      [&] {
        return FindWitness(problem, table, outcomes, search, Thoroughness::kFull,
                           search.time_budget_s);
      },
      values_right, result);
  return witness.outcome == Witness::Outcome::kConfirmed;
}

}  // namespace planproof::strategy
