#include "stages/proof_search.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "stages/claim_memory.h"
#include "stages/elapsed.h"
#include "stages/logical_zeros.h"
#include "stages/workers/executor.h"
#include "stages/workers/outcome_bytes.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::TensorId;

namespace {

// Work limit of the first attempt with unfolding, per claim.
constexpr int64_t kUnfoldTermBudget = 100'000;
// Classes of failed claims that are tried with unfolding; as many again where that helps most.
constexpr size_t kMaxUnfolded = 32;

}  // namespace

ProofSearch::ProofSearch(const lineage::Problem& problem, const VerifyOptions& options,
                         ClaimTable* table, Relations* relations)
    : problem_(problem),
      options_(options),
      table_(*table),
      relations_(*relations),
      outcomes_(table->claims().size()) {
  claim_of_tensor_.assign(problem.parallel.tensors.size(), -1);
  for (size_t c = 0; c < table_.claims().size(); ++c) {
    const Claim& claim = table_.claims()[c];
    const auto& own = problem.lineage[claim.parallel];
    if (own.kind == lineage::LineageKind::kFull && own.logical == claim.target.logical &&
        claim_of_tensor_[claim.parallel] < 0) {
      claim_of_tensor_[claim.parallel] = static_cast<int>(c);
    }
  }
}

std::string ProofSearch::ClaimName(int claim) const {
  const Claim& c = table_.claims()[claim];
  const sdfg::Tensor& p = problem_.parallel.tensors[c.parallel];
  std::string name = absl::StrCat(problem_.logical.tensors[c.target.logical].name);
  if (p.device >= 0) absl::StrAppend(&name, " on device ", p.device);
  return name;
}

WorkerLimits ProofSearch::Limits() const {
  WorkerLimits limits;
  limits.jobs = options_.jobs;
  limits.task_timeout_s = options_.stage_timeout_s;
  limits.memory_limit_mb = options_.memory_limit_mb;
  limits.stop = options_.stop;
  limits.while_waiting = [this] {
    for (verdict_cache::Store* store : options_.stores) store->FlushIfDue();
  };
  return limits;
}

// By how far a claim looks back before it meets related tensors: no worker should be left alone
// with a long one at the end.
std::vector<int> ProofSearch::LongestFirst(const std::vector<int>& representatives,
                                           const std::vector<int>& positions) const {
  const sdfg::Graph& graph = problem_.parallel;
  std::vector<int> length(graph.tensors.size(), 0);
  for (const sdfg::Operator& op : graph.operators) {
    int longest = 0;
    for (const TensorId t : op.inputs) {
      if (t != kNone && !relations_.Related(t)) longest = std::max(longest, length[t]);
    }
    for (const TensorId t : op.outputs) {
      if (t != kNone) length[t] = longest + 1;
    }
  }
  const auto of = [&](int position) {
    return length[table_.claims()[representatives[position]].parallel];
  };
  std::vector<int> ordered = positions;
  std::stable_sort(ordered.begin(), ordered.end(), [&](int a, int b) { return of(a) > of(b); });
  return ordered;
}

void ProofSearch::RunTasks(const std::vector<int>& representatives,
                           const std::vector<int>& positions, ClaimLimits limits,
                           std::vector<ClaimOutcome>* results) {
  // Where several machines share the work, they meet even if there is none.
  const bool share = first_ && options_.executor != nullptr;
  if (positions.empty() && !share) return;
  limits.term_budget = static_cast<int64_t>(limits.term_budget * options_.work_limit);
  limits.max_cells = static_cast<int>(limits.max_cells * options_.work_limit);
  // The solver lives in the worker; it is made on first use there.
  std::unique_ptr<ClaimSolver> solver;
  TaskSet tasks;
  tasks.numbers = LongestFirst(representatives, positions);
  tasks.fingerprint = fingerprint_;
  tasks.work = [&](int task) {
    if (std::chrono::steady_clock::now() > deadline_) {
      ClaimOutcome late;
      late.status = ClaimStatus::kFailed;
      late.reason = "the time for unfolding ran out";
      late.limit = Limit::kTime;
      return ToBytes(late);
    }
    if (!solver) solver = std::make_unique<ClaimSolver>(problem_, &relations_, limits);
    return ToBytes(solver->Decide(table_.claims()[representatives[task]]));
  };
  int64_t done = 0;
  tasks.on_result = [&](int task, TaskOutcome outcome) {
    ClaimOutcome& o = (*results)[task];
    if (outcome.status != TaskStatus::kDone || !FromBytes(outcome.result, &o)) {
      o = ClaimOutcome{};
      o.status = ClaimStatus::kAbandoned;
      o.reason = outcome.reason.empty() ? "the worker's answer was not readable" : outcome.reason;
      o.limit = outcome.status == TaskStatus::kTimedOut      ? Limit::kTime
                : outcome.status == TaskStatus::kOutOfMemory ? Limit::kMemory
                                                             : Limit::kNone;
    }
    if (on_decided_) on_decided_(task, o);
    if (options_.progress) options_.progress({"", ++done, static_cast<int64_t>(positions.size())});
  };
  tasks.name = [&](int task) { return ClaimName(representatives[task]); };
  // Claims about pieces of one tensor read much the same at the same indices.
  tasks.kin = [&](int task) { return table_.claims()[representatives[task]].target.logical; };
  WorkerLimits worker_limits = Limits();
  worker_limits.while_waiting = [&, flush = worker_limits.while_waiting] {
    flush();
    if (options_.progress) options_.progress({"", done, static_cast<int64_t>(positions.size())});
  };
  PoolUsage usage =
      share ? options_.executor->Run(tasks, worker_limits) : RunLocally(tasks, worker_limits);
  usage_.peak_total_mb = std::max(usage_.peak_total_mb, usage.peak_total_mb);
  usage_.peak_largest_mb = std::max(usage_.peak_largest_mb, usage.peak_largest_mb);
  usage_.workers_started += usage.workers_started;
  usage_.processes_s += usage.processes_s;
}

bool ProofSearch::Interrupted() const {
  return options_.stop != nullptr && options_.stop->requested;
}

void ProofSearch::RunFirst(const std::vector<ClaimClass>& classes,
                           const std::vector<int>& representatives, const ClaimLimits& limits,
                           std::vector<ClaimOutcome>* results) {
  auto start = std::chrono::steady_clock::now();
  const bool remember =
      !options_.stores.empty() && options_.use_classes && options_.engine == Engine::kHybrid;
  ClaimMemory memory(problem_, relations_,
                     remember ? options_.stores : std::vector<verdict_cache::Store*>());
  if (remember || options_.executor != nullptr) {
    std::vector<const Claim*> claims;
    for (int c : representatives) claims.push_back(&table_.claims()[c]);
    memory.SetClaims(claims);
    // Making keys and opening files is not deciding.
    for (verdict_cache::Store* store : options_.stores) {
      if (remember) store->Open();
    }
    if (options_.executor != nullptr) fingerprint_ = memory.Fingerprint();
    key_seconds_ += Since(start);
    start = std::chrono::steady_clock::now();
    memory.Recall(results);
  }
  if (observer_ != nullptr)
    observer_->Begin(static_cast<int64_t>(classes.size()), static_cast<int64_t>(outcomes_.size()));
  const auto list = [&](int k) {
    if (observer_ == nullptr) return;
    observer_->Decided(k, static_cast<int64_t>(classes[k].members.size()),
                       ClaimName(representatives[k]), (*results)[k]);
  };
  std::vector<int> open;
  for (size_t k = 0; k < results->size(); ++k) {
    const int position = static_cast<int>(k);
    if ((*results)[k].status == ClaimStatus::kProved) {
      list(position);
    } else {
      open.push_back(position);
    }
  }
  memory_use_.used = remember;
  memory_use_.misses = remember ? static_cast<int64_t>(open.size()) : 0;
  memory_use_.hits = static_cast<int64_t>(results->size() - open.size());
  on_decided_ = [&](int k, const ClaimOutcome& outcome) {
    if (outcome.status != ClaimStatus::kAbandoned) ++memory_use_.solved;
    if (remember) memory.Remember(static_cast<size_t>(k), outcome);
    list(k);
  };
  first_ = true;
  RunTasks(representatives, open, limits, results);
  first_ = false;
  on_decided_ = nullptr;
  for (verdict_cache::Store* store : options_.stores) store->Flush();
  decide_seconds_ += Since(start);
}

// What unfolding meets, and the rest of the model, are not part of a class.
std::vector<ClaimClass> ProofSearch::Classes(const std::vector<int>& which,
                                             const ClaimLimits& limits) const {
  const bool alike = limits.max_unfoldings == 0 && !limits.open_differences && !limits.whole_model;
  return table_.Classes(which, relations_, options_.use_classes && alike);
}

void ProofSearch::Decide(const std::vector<int>& which, bool unfold, const ClaimLimits& limits) {
  auto start = std::chrono::steady_clock::now();
  std::vector<ClaimClass> classes = Classes(which, limits);
  key_seconds_ += Since(start);
  if (!unfold) classes_ += static_cast<int64_t>(classes.size());
  std::vector<int> representatives;
  for (size_t k = 0; k < classes.size(); ++k) {
    representatives.push_back(classes[k].members[0]);
    if (!unfold) {
      for (int c : classes[k].members) table_.claims()[c].class_id = static_cast<int32_t>(k);
    }
  }
  std::vector<ClaimOutcome> results(representatives.size());
  if (!unfold) {
    RunFirst(classes, representatives, limits, &results);
  } else {
    start = std::chrono::steady_clock::now();
    std::vector<int> all(representatives.size());
    std::iota(all.begin(), all.end(), 0);
    RunTasks(representatives, all, limits, &results);
    decide_seconds_ += Since(start);
  }
  start = std::chrono::steady_clock::now();
  for (size_t k = 0; k < classes.size(); ++k) {
    evaluate_seconds_ += results[k].evaluate_s / std::max(1, options_.jobs);
    if (relations_.KnowsZeros()) results[k].method = ProofMethod::kUnfolded;
    outcomes_.Set(classes[k].members, std::move(results[k]));
  }
  decide_seconds_ += Since(start);
}

std::vector<const Claim*> ProofSearch::ClaimsAt(const std::vector<int>& positions) const {
  std::vector<const Claim*> claims;
  for (const int c : positions) claims.push_back(&table_.claims()[c]);
  return claims;
}

// Tries failed claims again: first those of each class that are still alike, then, where that
// helped, the others. With many failures that it does not help the plan is most likely wrong, and
// numbers tell that sooner.
void ProofSearch::Retry(const std::vector<int>& failed, const ClaimLimits& limits) {
  auto retry = [&](const std::vector<int>& claims) {
    std::vector<ClaimOutcome> before;
    for (int c : claims) before.push_back(outcomes_[c]);
    Decide(claims, true, limits);
    for (size_t i = 0; i < claims.size(); ++i) {
      ClaimOutcome now = outcomes_[claims[i]];
      if (limits.max_unfoldings == 0 && now.status != ClaimStatus::kProved) {
        outcomes_.Set({claims[i]}, before[i]);  // unfolding is still to come
        continue;
      }
      if (now.status != ClaimStatus::kFailed || before[i].difference.empty()) continue;
      // Messages show the terms as they stood before unfolding.
      now.logical_term = before[i].logical_term;
      now.parallel_term = before[i].parallel_term;
      now.difference = before[i].difference;
      now.mentioned = before[i].mentioned;
      outcomes_.Set({claims[i]}, std::move(now));
    }
  };
  std::vector<std::vector<int>> first;  // so many classes at a time
  std::vector<int> others;
  std::unordered_set<int32_t> seen;
  for (const auto& [members] : Classes(failed, limits)) {
    const bool fresh = seen.insert(table_.claims()[members[0]].class_id).second;
    if (fresh && seen.size() % kMaxUnfolded == 1) first.emplace_back();
    std::vector<int>& list = fresh ? first.back() : others;
    list.insert(list.end(), members.begin(), members.end());
  }
  std::unordered_set<int32_t> helped;
  for (const std::vector<int>& claims : first) {
    retry(claims);
    size_t proved = 0;
    for (int c : claims) {
      if (outcomes_[c].status != ClaimStatus::kProved) continue;
      helped.insert(table_.claims()[c].class_id);
      ++proved;
    }
    if (2 * proved < claims.size() || Interrupted()) break;
  }
  others.erase(
      std::remove_if(others.begin(), others.end(),
                     [&](int c) { return helped.count(table_.claims()[c].class_id) == 0; }),
      others.end());
  if (!others.empty()) retry(others);
}

std::vector<int> ProofSearch::Failed() const {
  std::vector<int> failed;
  for (size_t c = 0; c < outcomes_.size(); ++c) {
    if (outcomes_[c].status == ClaimStatus::kFailed) failed.push_back(static_cast<int>(c));
  }
  return failed;
}

// What a mask hides of a logical tensor matters to plans that leave hidden blocks out. Conditions
// in terms can also be in the way: then it is unfolding without them that helps.
void ProofSearch::RetryFailed() {
  ClaimLimits limits;
  limits.term_budget = kUnfoldTermBudget;
  if (std::vector<int> failed = Failed(); !failed.empty()) {
    const auto start = std::chrono::steady_clock::now();
    InferZeroRegions(problem_, ClaimsAt(failed), Limits(), &relations_);
    decide_seconds_ += Since(start);
    ClaimLimits as_they_are = limits;
    as_they_are.max_unfoldings = 0;
    if (relations_.KnowsZeros()) Retry(failed, as_they_are);
    relations_.ForgetZeroRegions();
  }
  Retry(Failed(), limits);
}

bool ProofSearch::DecideAll() {
  std::vector<int> all(table_.claims().size());
  for (size_t c = 0; c < all.size(); ++c) all[c] = static_cast<int>(c);
  ClaimLimits limits;
  limits.max_unfoldings = 0;
  Decide(all, false, limits);
  if (options_.executor != nullptr && !options_.executor->Leads()) return false;
  if (!Interrupted()) RetryFailed();
  return std::all_of(all.begin(), all.end(),
                     [&](int c) { return outcomes_[c].status == ClaimStatus::kProved; });
}

std::vector<int> ProofSearch::GiveUpFailed() {
  std::unordered_set<TensorId> released;
  for (size_t c = 0; c < outcomes_.size(); ++c) {
    const TensorId t = table_.claims()[c].parallel;
    if (outcomes_[c].status == ClaimStatus::kFailed && claim_of_tensor_[t] == static_cast<int>(c) &&
        relations_.Related(t)) {
      released.insert(t);
    }
  }
  std::vector<int> again;
  if (released.empty()) return again;
  for (size_t c = 0; c < outcomes_.size(); ++c) {
    for (TensorId t : RelatedInputs(problem_, relations_, table_.claims()[c])) {
      if (released.count(t) != 0) {
        again.push_back(static_cast<int>(c));
        break;
      }
    }
  }
  for (TensorId t : released) relations_.GiveUp(t);
  for (int c : again) outcomes_.Reset(c);
  return again;
}

bool ProofSearch::Continue(int max_rounds, int64_t term_budget, double seconds) {
  deadline_ = std::chrono::steady_clock::now() +
              std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  for (int round = 0; round < max_rounds && !Interrupted(); ++round) {
    const std::vector<int> again = GiveUpFailed();
    if (again.empty()) break;
    ClaimLimits limits;
    limits.term_budget = term_budget;
    limits.open_differences = differences_;
    Decide(again, true, limits);
    if (RequiredProved()) return true;
  }
  return RequiredProved();
}

bool ProofSearch::OpenDifferences(ClaimOutcomes first, double seconds) {
  deadline_ = std::chrono::steady_clock::now() +
              std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  outcomes_ = std::move(first);
  for (size_t c = 0; c < outcomes_.size(); ++c) {
    if (claim_of_tensor_[table_.claims()[c].parallel] == static_cast<int>(c))
      relations_.Assume(table_.claims()[c].parallel);
  }
  const std::vector<int> failed = Failed();
  const auto start = std::chrono::steady_clock::now();
  InferLogicalZeros(problem_, ClaimsAt(failed), Limits(), &relations_);
  InferZeroRegions(problem_, ClaimsAt(failed), Limits(), &relations_);
  decide_seconds_ += Since(start);
  differences_ = true;
  ClaimLimits limits;
  limits.term_budget = kUnfoldTermBudget;
  limits.open_differences = true;
  Decide(failed, true, limits);
  return RequiredProved();
}

bool ProofSearch::RestsOnAbandoned(int claim) const {
  std::vector<int> work = {claim};
  std::unordered_set<int> seen;
  while (!work.empty()) {
    int c = work.back();
    work.pop_back();
    if (!seen.insert(c).second) continue;
    if (outcomes_[c].status == ClaimStatus::kAbandoned) return true;
    for (TensorId t : RelatedInputs(problem_, relations_, table_.claims()[c])) {
      if (claim_of_tensor_[t] >= 0 && claim_of_tensor_[t] != c) work.push_back(claim_of_tensor_[t]);
    }
  }
  return false;
}

void ProofSearch::Discharge(const std::vector<int>& restricted) {
  deadline_ = std::chrono::steady_clock::time_point::max();
  const ClaimOutcomes before = outcomes_;
  ClaimLimits limits;
  limits.whole_model = true;
  Decide(restricted, true, limits);
  for (int c : restricted) {
    if (outcomes_[c].status != ClaimStatus::kProved) outcomes_.Set({c}, before[c]);
  }
}

}  // namespace planproof::stages
