#include "stages/refutation.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shape_reduction/focused_search.h"
#include "shape_reduction/replay.h"
#include "shape_reduction/witness.h"
#include "stages/describe.h"
#include "stages/diagnosis/diagnosis.h"
#include "stages/diagnosis/explanation.h"
#include "stages/workers/process_pool.h"
#include "stages/workers/witness_bytes.h"

namespace planproof::stages {

using shape_reduction::Sample;
using shape_reduction::Witness;
using shape_reduction::WitnessOptions;

namespace {

constexpr double kSearchSeconds = 20;
constexpr int kSearchAttempts = 48;
constexpr double kSampleSeconds = 15;
constexpr int kSampleAttempts = 16;
constexpr size_t kMaxFocuses = 4;
constexpr size_t kLargeGraph = 4000;  // operators
constexpr int64_t kLongDimension = 1024;
constexpr double kLargeSearchSeconds = 5;
constexpr double kConfirmSeconds = 60;  // of many operators: one evaluation takes seconds
constexpr double kUndefinedSeconds = 8;
constexpr int kUndefinedAttempts = 40;
// What is left of a processor, at worst, on a machine that is busy.
constexpr double kBusy = 5;

std::vector<shape_reduction::Focus> FocusesOf(const lineage::Problem& problem,
                                              const ClaimTable& table,
                                              const std::vector<ClaimOutcome>& outcomes) {
  std::vector<shape_reduction::Focus> focuses;
  for (int c : FailedClaims(problem, table, outcomes)) {
    if (focuses.size() == kMaxFocuses) break;
    focuses.push_back({table.claims()[c].parallel, table.claims()[c].target, outcomes[c].box, {}});
    for (sdfg::TensorId id : outcomes[c].mentioned) {
      const bool known = id >= 0 && static_cast<size_t>(id) < problem.logical.tensors.size();
      if (known) focuses.back().mentioned.push_back(id);
    }
    // A claim given up has no difference: what single ranks make of it instead may be one.
    if (focuses.back().mentioned.empty()) {
      focuses.back().mentioned = SuspectOperands(problem, table.claims()[c].parallel);
    }
  }
  return focuses;
}

// Some tensor has a long dimension twice (attention scores): cut at every position it is too large.
bool ComparesLongDimensions(const sdfg::Graph& graph) {
  return std::any_of(graph.tensors.begin(), graph.tensors.end(), [](const sdfg::Tensor& tensor) {
    for (size_t a = 0; a < tensor.shape.size(); ++a) {
      for (size_t b = a + 1; b < tensor.shape.size(); ++b) {
        if (tensor.shape[a] == tensor.shape[b] && tensor.shape[a] >= kLongDimension) return true;
      }
    }
    return false;
  });
}

// In large graphs, first where claims failed; in small ones, that comes last.
Witness FindWitness(const lineage::Problem& problem, const ClaimTable& table,
                    const std::vector<ClaimOutcome>& outcomes,
                    const shape_reduction::WitnessOptions& search, double stage_timeout_s) {
  const auto focused = [&] {
    return shape_reduction::SearchFocused(problem, FocusesOf(problem, table, outcomes), search);
  };
  const bool large =
      problem.parallel.operators.size() > kLargeGraph || ComparesLongDimensions(problem.logical);
  shape_reduction::WitnessOptions everywhere = search;
  if (large) {
    Witness witness = focused();
    if (witness.outcome == Witness::Outcome::kConfirmed) return witness;
    everywhere.time_budget_s = std::min(everywhere.time_budget_s, kLargeSearchSeconds);
  }
  Witness witness = shape_reduction::SearchWitness(problem, everywhere);
  if (large && witness.outcome == Witness::Outcome::kUnconfirmed) {
    // It differs in doubles: confirming that is worth the time.
    everywhere.time_budget_s = std::min(kConfirmSeconds, stage_timeout_s);
    witness = shape_reduction::SearchWitness(problem, everywhere);
  }
  if (large || witness.outcome == Witness::Outcome::kConfirmed) return witness;
  Witness last = focused();
  return last.outcome == Witness::Outcome::kConfirmed ? last : witness;
}

// Work of so much processor time in a worker of its own: whatever goes wrong there costs this work.
// Every task gets the time of one claim beyond its own limits, which it looks at.
struct Aside {
  std::string name;  // for the fault injection of tests, and for people who wait
  double seconds;
  std::function<std::string()> work;
};

// Outcomes in order. Tasks that come later find what earlier ones left in memory.
std::vector<TaskOutcome> RunAside(const VerifyOptions& options, const std::vector<Aside>& tasks,
                                  Result* result) {
  std::vector<TaskOutcome> outcomes(tasks.size());
  const auto limit = [&](int k) {
    return tasks[static_cast<size_t>(k)].seconds + options.stage_timeout_s;
  };
  size_t done = 0;
  WorkerLimits limits;
  limits.jobs = 1;
  limits.memory_limit_mb = options.memory_limit_mb;
  limits.stop = options.stop;
  limits.processor_time_of = limit;
  limits.timeout_of = [&](int k) { return kBusy * limit(k); };
  limits.while_waiting = [&] {
    if (options.progress && done < tasks.size()) options.progress({tasks[done].name});
  };
  const PoolUsage usage = RunInWorkers(
      static_cast<int>(tasks.size()), limits,
      [&](int k) { return tasks[static_cast<size_t>(k)].work(); },
      [&](int k, TaskOutcome outcome) {
        outcomes[static_cast<size_t>(k)] = std::move(outcome);
        ++done;
      },
      [&](int k) { return tasks[static_cast<size_t>(k)].name; });
  result->peak_rss_mb.total = std::max(result->peak_rss_mb.total, usage.peak_total_mb);
  result->peak_rss_mb.largest = std::max(result->peak_rss_mb.largest, usage.peak_largest_mb);
  result->time_s.workers += usage.processes_s;
  return outcomes;
}

bool Stopped(const VerifyOptions& options) {
  return options.stop != nullptr && options.stop->requested;
}

// What a worker made of a task; false, with a warning, if that is lost.
template <typename T>
bool Take(const TaskOutcome& outcome, const char* what, const VerifyOptions& options, T* value,
          Result* result) {
  if (outcome.status == TaskStatus::kDone && FromBytes(outcome.result, value)) return true;
  if (Stopped(options)) return false;  // the report says so
  result->warnings.push_back(absl::StrCat(
      what, " failed: ",
      outcome.reason.empty() ? "the worker's answer was not readable" : outcome.reason));
  return false;
}

// Searches and, if a counterexample is confirmed, appends its violations.
Witness SearchAndExplain(const lineage::Problem& problem, const VerifyOptions& options,
                         const ClaimTable& table, const std::vector<ClaimOutcome>& outcomes,
                         double seconds, const std::function<Witness()>& search, bool values_right,
                         Result* result) {
  Witness found;  // in the worker
  const auto confirmed = [](const Witness& witness) {
    return witness.outcome == Witness::Outcome::kConfirmed;
  };
  const Aside searching{"search for a counterexample", seconds, [&] {
                          found = search();
                          return ToBytes(found);
                        }};
  const Aside explaining{"diagnosis", 0, [&] {
                           std::vector<Violation> violations;
                           if (confirmed(found)) {
                             violations = Explain(problem, table, outcomes, found, values_right);
                           }
                           return ToBytes(violations);
                         }};
  const std::vector<TaskOutcome> done = RunAside(options, {searching, explaining}, result);
  Witness witness;
  if (!Take(done[0], "the search for a counterexample", options, &witness, result)) return {};
  if (!confirmed(witness)) return witness;
  result->witness = witness.data;
  if (options.keep_witness && witness.data == nullptr)
    result->warnings.push_back("the counterexample is too large to be kept as data");
  std::vector<Violation> violations;
  if (!Take(done[1], "the diagnosis", options, &violations, result) || violations.empty()) {
    violations = WithoutExplanation(problem, table, outcomes, witness);
  }
  for (Violation& v : violations) result->violations.push_back(std::move(v));
  return witness;
}

}  // namespace

bool Refute(const lineage::Problem& problem, const VerifyOptions& options, const ClaimTable& table,
            const std::vector<ClaimOutcome>& outcomes, Result* result, bool* undefined_seen) {
  WitnessOptions search;
  search.time_budget_s = std::min(kSearchSeconds, options.stage_timeout_s);
  search.attempts = kSearchAttempts;
  search.localise = false;
  search.keep_data = options.keep_witness;
  for (size_t c = 0; c < outcomes.size(); ++c) {
    if (outcomes[c].status == ClaimStatus::kProved && !outcomes[c].unsatisfiable) continue;
    search.suspects.push_back(table.claims()[c].parallel);
  }
  const size_t warnings = result->warnings.size();
  const Witness witness = SearchAndExplain(
      problem, options, table, outcomes,
      2 * search.time_budget_s + std::min(kConfirmSeconds, options.stage_timeout_s),
      [&] { return FindWitness(problem, table, outcomes, search, options.stage_timeout_s); },
      /*values_right=*/false, result);
  *undefined_seen = witness.undefined_seen;
  if (witness.outcome == Witness::Outcome::kConfirmed) return true;
  if (Stopped(options) || result->warnings.size() > warnings) return false;
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

bool RefuteUndefined(const lineage::Problem& problem, const VerifyOptions& options,
                     const ClaimTable& table, const std::vector<ClaimOutcome>& outcomes,
                     const std::vector<bool>& shown, Result* result) {
  WitnessOptions search;
  search.time_budget_s = std::min(kUndefinedSeconds, options.stage_timeout_s);
  search.attempts = kUndefinedAttempts;
  search.localise = false;
  search.undefined_counts = true;
  search.keep_data = options.keep_witness;
  std::set<sdfg::TensorId> suspects;
  for (size_t c = 0; c < shown.size(); ++c) {
    if (!shown[c]) suspects.insert(table.claims()[c].parallel);
  }
  search.suspects.assign(suspects.begin(), suspects.end());
  for (size_t c = 0; c < shown.size(); ++c) {
    const sdfg::TensorId id = table.claims()[c].parallel;
    if (suspects.count(id) == 0) search.proved.push_back(id);
  }
  const bool values_right = std::all_of(
      outcomes.begin(), outcomes.end(),
      [](const ClaimOutcome& outcome) { return outcome.status == ClaimStatus::kProved; });
  const Witness witness = SearchAndExplain(
      problem, options, table, outcomes, search.time_budget_s,
      [&] { return shape_reduction::SearchWitness(problem, search); }, values_right, result);
  return witness.outcome == Witness::Outcome::kConfirmed;
}

bool HasFiniteSample(const lineage::Problem& problem, const VerifyOptions& options,
                     Result* result) {
  const double seconds = std::min(kSampleSeconds, options.stage_timeout_s);
  const Aside searching{
      "search for a sample", seconds,
      [&] { return ToBytes(shape_reduction::FindSample(problem, kSampleAttempts, seconds)); }};
  const std::vector<TaskOutcome> done = RunAside(options, {searching}, result);
  Sample sample;
  if (!Take(done[0], "the search for a sample", options, &sample, result)) {
    sample.outcome = Sample::Outcome::kExhausted;
    sample.message = done[0].reason;
  }
  if (sample.outcome == Sample::Outcome::kFound) return true;
  Violation v;
  v.verdict = Verdict::kUnknown;
  v.kind = "premises have no common sample";
  v.message = absl::StrCat(
      sample.outcome == Sample::Outcome::kExhausted
          ? "every claim is shown, but whether the premises can hold together was not tested"
          : "every claim is shown, but no inputs were found for which all premises hold and all "
            "required outputs are finite",
      sample.message.empty() ? "" : ": ", sample.message);
  result->violations.push_back(std::move(v));
  return false;
}

}  // namespace planproof::stages
