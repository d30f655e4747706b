#include "strategy/counterexample_search.h"

#include <algorithm>

#include "diagnosis/exceptions.h"
#include "shape_reduction/focused_search.h"

namespace planproof::strategy {

using shape_reduction::Witness;

namespace {

constexpr size_t kMaxFocuses = 4;
constexpr size_t kLargeGraph = 4000;  // operators
constexpr int64_t kLongDimension = 1024;
constexpr size_t kRankOfScores = 3;  // at least
constexpr int64_t kSomeLength = 64;  // scores of it take a while, cut at every position
constexpr double kQuickSeconds = 2;
constexpr int kQuickAttempts = 16;  // for each focus
constexpr double kQuickAttemptSeconds = 0.6;
constexpr int kLonger = 4;         // times that, before others everywhere
constexpr int kFirstAttempts = 4;  // everywhere
constexpr double kFirstSeconds = 4;
constexpr double kLargeSearchSeconds = 5;

std::vector<shape_reduction::Focus> FocusesOf(const lineage::Problem& problem,
                                              const stages::ClaimTable& table,
                                              const std::vector<stages::ClaimOutcome>& outcomes) {
  std::vector<shape_reduction::Focus> focuses;
  for (int c : table.Failed(outcomes)) {
    if (focuses.size() == kMaxFocuses) break;
    focuses.push_back({table.claims()[c].parallel, table.claims()[c].target, outcomes[c].box, {}});
    for (sdfg::TensorId id : outcomes[c].mentioned) {
      const bool known = id >= 0 && static_cast<size_t>(id) < problem.logical.tensors.size();
      if (known) focuses.back().mentioned.push_back(id);
    }
    // A claim given up has no difference: what single ranks make of it instead may be one.
    if (focuses.back().mentioned.empty()) {
      focuses.back().mentioned = diagnosis::SuspectOperands(problem, table.claims()[c].parallel);
    }
  }
  return focuses;
}

// Some tensor has a long dimension twice in a row (attention scores, of all sequences and heads;
// not a square weight, nor a batch beside as many features): cut at every position it is too large.
bool ComparesDimensions(const sdfg::Graph& graph, int64_t least) {
  return std::any_of(graph.tensors.begin(), graph.tensors.end(), [&](const sdfg::Tensor& tensor) {
    if (tensor.shape.size() < kRankOfScores) return false;
    for (size_t d = 1; d < tensor.shape.size(); ++d) {
      if (tensor.shape[d] == tensor.shape[d - 1] && tensor.shape[d] >= least) return true;
    }
    return false;
  });
}

// Where claims failed only, for a moment or so many times as long.
Witness LookWhereClaimsFailed(const lineage::Problem& problem,
                              const std::vector<shape_reduction::Focus>& focuses,
                              const shape_reduction::WitnessOptions& search, bool large,
                              int times) {
  shape_reduction::WitnessOptions quick = search;
  quick.time_budget_s = std::min(quick.time_budget_s, times * kQuickSeconds);
  // Where one attempt takes longer, all do, and a few everywhere are sooner made.
  if (times == 1 && !large) quick.attempt_budget_s = kQuickAttemptSeconds;
  quick.attempts =
      times * std::min<int>(search.attempts, kQuickAttempts * static_cast<int>(focuses.size()));
  Witness witness;
  // Values that differ first.
  for (const bool undefined_counts : {false, true}) {
    quick.undefined_counts = undefined_counts;
    witness = shape_reduction::SearchFocused(problem, focuses, quick);
    const bool found = witness.outcome == Witness::Outcome::kConfirmed;
    if (found || !witness.undefined_seen || !search.undefined_counts) break;
  }
  witness.numbers_explain = true;
  return witness;
}

}  // namespace

Witness FindWitness(const lineage::Problem& problem, const stages::ClaimTable& table,
                    const std::vector<stages::ClaimOutcome>& outcomes,
                    const shape_reduction::WitnessOptions& search, Thoroughness thoroughness,
                    double confirm_seconds) {
  const bool quick = thoroughness == Thoroughness::kQuick;
  const bool large = problem.parallel.operators.size() > kLargeGraph ||
                     ComparesDimensions(problem.logical, kLongDimension);
  const bool compares = ComparesDimensions(problem.logical, kSomeLength);
  const std::vector<shape_reduction::Focus> focuses = FocusesOf(problem, table, outcomes);
  if (large ? quick : compares) {
    const int times = thoroughness == Thoroughness::kFullAfterQuick ? kLonger : 1;
    Witness witness = LookWhereClaimsFailed(problem, focuses, search, large, times);
    if (large || witness.outcome == Witness::Outcome::kConfirmed) return witness;
  }
  shape_reduction::WitnessOptions everywhere = search;
  if (quick) {
    everywhere.time_budget_s =
        std::min(search.time_budget_s, compares ? kFirstSeconds : kQuickSeconds);
    everywhere.attempts = std::min(search.attempts, compares ? kFirstAttempts : kQuickAttempts);
    return shape_reduction::SearchWitness(problem, everywhere);
  }
  const auto focused = [&] { return shape_reduction::SearchFocused(problem, focuses, search); };
  bool undefined_seen = false;
  if (large) {
    Witness witness = focused();
    if (witness.outcome == Witness::Outcome::kConfirmed) return witness;
    undefined_seen = witness.undefined_seen;
    everywhere.time_budget_s = std::min(everywhere.time_budget_s, kLargeSearchSeconds);
  }
  Witness witness = shape_reduction::SearchWitness(problem, everywhere);
  if (large && witness.outcome == Witness::Outcome::kUnconfirmed) {
    // It differs in doubles: confirming that is worth the time.
    everywhere.time_budget_s = confirm_seconds;
    witness = shape_reduction::SearchWitness(problem, everywhere);
  }
  witness.undefined_seen |= undefined_seen;
  if (large || witness.outcome == Witness::Outcome::kConfirmed) return witness;
  Witness last = focused();
  return last.outcome == Witness::Outcome::kConfirmed ? last : witness;
}

}  // namespace planproof::strategy
