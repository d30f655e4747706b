#include "frontend/torch/required_results.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "frontend/torch/strided.h"
#include "sdfg/operator_library.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::TensorId;
using Key = std::pair<ResultKind, std::string>;

absl::Status Missing(const Trace& trace, const std::string& name, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(trace.path, ": ", name, ": ", what));
}

// The tensors and results of one trace, by name.
struct RankResults {
  const Trace* trace = nullptr;
  std::map<std::string, const Input*> held;
  std::set<Key> results;
  // Of each parameter: the elements of the largest of its states here.
  std::map<std::string, int64_t> largest_state;

  int64_t HeldElements(const std::string& name) const {
    const auto found = held.find(name);
    return found == held.end() ? 0 : ElementsOf(trace->tensors[found->second->tensor].shape);
  }
  int64_t StateElements(const std::string& name) const {
    const auto found = largest_state.find(name);
    return found == largest_state.end() ? 0 : found->second;
  }
};

absl::StatusOr<RankResults> ResultsOf(const Trace& trace) {
  RankResults rank;
  rank.trace = &trace;
  for (const Input& input : trace.inputs) {
    rank.held[input.name] = &input;
    if (input.parameter.empty()) continue;
    int64_t& largest = rank.largest_state[input.parameter];
    largest = std::max(largest, ElementsOf(trace.tensors[input.tensor].shape));
  }
  for (const TraceResult& result : trace.results) {
    if (rank.results.emplace(result.kind, result.name).second) continue;
    return Missing(trace, result.name, "stands twice among the results of one kind");
  }
  return rank;
}

// Whether a value is computed from a gradient, or from what the gradient is a view of: optimizers
// read gradients through buffers.
bool IsComputedFrom(const sdfg::Graph& model, TensorId value, TensorId gradient) {
  std::set<TensorId> sources = {gradient};
  for (TensorId at = gradient; model.tensors[at].producer != sdfg::kNone;) {
    const sdfg::Operator& op = model.operators[model.tensors[at].producer];
    if (op.inputs.size() != 1 || !sdfg::OperatorLibrary::IsDataMovement(*op.function)) break;
    at = op.inputs[0];
    if (model.tensors[at].producer != sdfg::kNone) sources.insert(at);
  }
  std::vector<TensorId> pending = {value};
  std::set<TensorId> seen = {value};
  while (!pending.empty()) {
    const TensorId at = pending.back();
    pending.pop_back();
    if (sources.count(at) != 0) return true;
    if (model.tensors[at].producer == sdfg::kNone) continue;
    for (TensorId input : model.operators[model.tensors[at].producer].inputs) {
      if (seen.insert(input).second) pending.push_back(input);
    }
  }
  return false;
}

class PresenceCheck {
 public:
  PresenceCheck(RankResults reference, std::vector<RankResults> ranks, const sdfg::Graph& model,
                const ResultTensors& results)
      : of_reference_(std::move(reference)),
        reference_(*of_reference_.trace),
        ranks_(std::move(ranks)),
        model_(model),
        results_(results) {
    for (const RankResults& rank : ranks_) {
      for (const Key& key : rank.results) {
        any_gradient_ = any_gradient_ || key.first == ResultKind::kGradient;
      }
    }
  }

  absl::Status Run(std::vector<std::string>* assumptions) {
    for (const TraceResult& result : reference_.results) {
      PLAN_RETURN_IF_ERROR(result.kind == ResultKind::kGradient ? CheckGradient(result.name)
                                                                : CheckSomewhere(result));
    }
    if (freed_ > 0) {
      assumptions->push_back(absl::StrCat(
          "no rank keeps gradients, so those of ", freed_, " tensors, the first ", first_freed_,
          ", are not compared; the new values that are computed from them are"));
    }
    for (const auto& [rank, without] : elsewhere_) {
      assumptions->push_back(
          absl::StrCat("rank ", rank, " has no gradient of ", without.count, " tensors, the first ",
                       without.first,
                       ", whose optimizer states are on other ranks; their new values are "
                       "compared"));
    }
    return absl::OkStatus();
  }

 private:
  struct Without {
    size_t count = 0;
    std::string first;
  };

  absl::Status CheckSomewhere(const TraceResult& result) const {
    const Key key = {result.kind, result.name};
    if (std::any_of(ranks_.begin(), ranks_.end(),
                    [&](const RankResults& rank) { return rank.results.count(key) != 0; })) {
      return absl::OkStatus();
    }
    if (result.kind == ResultKind::kOutput) {
      return Missing(reference_, result.name,
                     "an output of the reference that no rank has; return it on a rank");
    }
    return Missing(reference_, result.name,
                   absl::StrCat("the reference changes it, and no rank ",
                                IsHeld(result.name) ? "has its new value" : "holds it",
                                "; name it on the ranks that keep it, as the reference does"));
  }

  bool IsHeld(const std::string& name) const {
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [&](const RankResults& rank) { return rank.HeldElements(name) > 0; });
  }

  // The new value is required on every rank that holds the tensor.
  bool NewValueShowsGradient(const std::string& name) const {
    const auto updated = results_.find({ResultKind::kUpdated, name});
    return updated != results_.end() &&
           IsComputedFrom(model_, updated->second, results_.at({ResultKind::kGradient, name}));
  }

  // The rank's share of the optimizer's states is smaller than its share of the parameter.
  bool HasFewerStates(const RankResults& rank, const std::string& name) const {
    return rank.StateElements(name) * of_reference_.HeldElements(name) <
           of_reference_.StateElements(name) * rank.HeldElements(name);
  }

  absl::Status CheckGradient(const std::string& name) {
    if (!IsHeld(name)) {
      return Missing(reference_, name,
                     "the reference has a gradient of it, and no rank holds it; name it on the "
                     "ranks that hold it, as the reference does");
    }
    const Key key = {ResultKind::kGradient, name};
    bool freed = false;
    for (const RankResults& rank : ranks_) {
      const int64_t held = rank.HeldElements(name);
      if (held == 0 || rank.results.count(key) != 0) continue;
      const std::string wrong = absl::StrCat("the reference has a gradient of it, and rank ",
                                             rank.trace->rank, ", which holds it, has none");
      if (!any_gradient_) {
        freed = true;
      } else if (HasFewerStates(rank, name)) {
        Without& without = elsewhere_[rank.trace->rank];
        if (without.count++ == 0) without.first = name;
      } else {
        return Missing(*rank.trace, name,
                       absl::StrCat(wrong,
                                    "; keep gradients until the iteration ends, and look "
                                    "for a detach() or no_grad() that the reference does "
                                    "not have"));
      }
      if (NewValueShowsGradient(name)) continue;
      return Missing(*rank.trace, name,
                     absl::StrCat(wrong,
                                  ", nor is a new value required that is computed from it; "
                                  "keep gradients until the iteration ends"));
    }
    if (freed && freed_++ == 0) first_freed_ = name;
    return absl::OkStatus();
  }

  RankResults of_reference_;
  const Trace& reference_;
  std::vector<RankResults> ranks_;
  const sdfg::Graph& model_;
  const ResultTensors& results_;
  bool any_gradient_ = false;
  size_t freed_ = 0;
  std::string first_freed_;
  std::map<int32_t, Without> elsewhere_;
};

}  // namespace

absl::Status CheckResultsArePresent(const Trace& reference, const std::vector<Trace>& ranks,
                                    const sdfg::Graph& model, const ResultTensors& results,
                                    std::vector<std::string>* assumptions) {
  PLAN_ASSIGN_OR_RETURN(RankResults of_reference, ResultsOf(reference));
  std::vector<RankResults> of_ranks;
  for (const Trace& trace : ranks) {
    PLAN_ASSIGN_OR_RETURN(of_ranks.emplace_back(), ResultsOf(trace));
  }
  return PresenceCheck(std::move(of_reference), std::move(of_ranks), model, results)
      .Run(assumptions);
}

}  // namespace planproof::frontend::torch
