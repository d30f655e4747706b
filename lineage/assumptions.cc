#include "lineage/assumptions.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lineage/multiple.h"
#include "sdfg/operator_library.h"

namespace planproof::lineage {
namespace {

using sdfg::kNone;
using sdfg::TensorId;

bool Exists(TensorId t, const sdfg::Graph& graph) {
  return t >= 0 && static_cast<size_t>(t) < graph.tensors.size();
}

// The tensors, and what they are computed from by operators that are passed.
template <class Passes>
std::vector<bool> Reached(const sdfg::Graph& graph, std::vector<TensorId> work,
                          const Passes& passes) {
  std::vector<bool> reached(graph.tensors.size(), false);
  while (!work.empty()) {
    const TensorId t = work.back();
    work.pop_back();
    if (!Exists(t, graph) || reached[t]) continue;
    reached[t] = true;
    const sdfg::OperatorId producer = graph.tensors[t].producer;
    if (producer == kNone || !passes(graph.operators[producer])) continue;
    const std::vector<TensorId>& inputs = graph.operators[producer].inputs;
    work.insert(work.end(), inputs.begin(), inputs.end());
  }
  return reached;
}

}  // namespace

AssumptionCheck::AssumptionCheck(const Problem& problem) : problem_(problem) {
  std::vector<TensorId> outputs, model;
  for (const RequiredRelation& required : problem.required) {
    outputs.push_back(required.parallel);
    model.push_back(required.lineage.logical);
  }
  in_outputs_ = Reached(problem.parallel, std::move(outputs), [](const sdfg::Operator& op) {
    return sdfg::OperatorLibrary::IsDataMovement(*op.function);
  });
  in_model_ =
      Reached(problem.logical, std::move(model), [](const sdfg::Operator& /*op*/) { return true; });
}

bool AssumptionCheck::HasValue(TensorId logical) const {
  const TensorId of = AsMultiple(problem_.logical, logical).of;
  return in_model_[of] || problem_.logical.tensors[of].producer == kNone;
}

absl::Status AssumptionCheck::operator()(const Assumption& assumption) const {
  if (!Exists(assumption.tensor, problem_.parallel) ||
      !Exists(assumption.lineage.logical, problem_.logical) ||
      assumption.lineage.kind != LineageKind::kFull) {
    return absl::InvalidArgumentError("an assumption relates a tensor of the plan to the model's");
  }
  const sdfg::Tensor& tensor = problem_.parallel.tensors[assumption.tensor];
  if (tensor.producer == kNone) {
    return absl::InvalidArgumentError(
        absl::StrCat(tensor.name,
                     " is an input of the plan, and what inputs are is no approximation; name a "
                     "tensor that the plan computes"));
  }
  if (!HasValue(assumption.lineage.logical)) {
    const TensorId of = AsMultiple(problem_.logical, assumption.lineage.logical).of;
    return absl::InvalidArgumentError(
        absl::StrCat(tensor.name, " cannot stand for ", problem_.logical.tensors[of].name,
                     ": no required output of the model depends on it, and it may have no value "
                     "where these have one; name a tensor on which they depend"));
  }
  if (!in_outputs_[assumption.tensor]) return absl::OkStatus();
  const bool required =
      std::any_of(problem_.required.begin(), problem_.required.end(),
                  [&](const RequiredRelation& r) { return r.parallel == assumption.tensor; });
  return absl::InvalidArgumentError(absl::StrCat(
      tensor.name, required ? " is a required output" : " is moved into a required output as it is",
      ": assumed, nothing of it would be left to prove; name what the approximated operator "
      "makes"));
}

namespace {

// What the approximated operators read, back to tensors that are related, is required to be so.
void RequireOperands(const AssumptionCheck& check, AssumedProblem* out) {
  Problem& problem = out->problem;
  const sdfg::Graph& graph = problem.parallel;
  std::vector<bool> seen(graph.tensors.size(), false);
  for (const RequiredRelation& required : problem.required) seen[required.parallel] = true;
  std::vector<TensorId> work = out->made;
  while (!work.empty()) {
    const TensorId t = work.back();
    work.pop_back();
    if (seen[t] || graph.tensors[t].producer == kNone) continue;
    seen[t] = true;
    const Lineage& lineage = problem.lineage[t];
    if (lineage.kind == LineageKind::kFull && check.HasValue(lineage.logical)) {
      problem.required.push_back(
          {t, lineage, absl::StrCat("operand of what is assumed, ", graph.tensors[t].name)});
      continue;
    }
    const std::vector<TensorId>& inputs = graph.operators[graph.tensors[t].producer].inputs;
    work.insert(work.end(), inputs.begin(), inputs.end());
  }
}

}  // namespace

absl::StatusOr<AssumedProblem> Assume(const Problem& problem,
                                      const std::vector<Assumption>& assumptions) {
  const AssumptionCheck check(problem);
  AssumedProblem out{problem, {}, {}};
  sdfg::Graph& graph = out.problem.parallel;
  std::set<TensorId> seen;
  for (const Assumption& assumption : assumptions) {
    const auto at = [&](const std::string& message) {
      return absl::InvalidArgumentError(absl::StrCat(assumption.place, ": ", message));
    };
    if (const absl::Status s = check(assumption); !s.ok()) {
      return at(std::string(s.message()));
    }
    const TensorId t = assumption.tensor;
    if (!seen.insert(t).second) {
      return at(absl::StrCat(graph.tensors[t].name, " is assumed twice; leave one out"));
    }
    sdfg::Tensor made = graph.tensors[t];
    made.name += " (as the plan makes it)";
    const TensorId id = static_cast<TensorId>(graph.tensors.size());
    graph.operators[made.producer].outputs[made.producer_output] = id;
    graph.tensors.push_back(std::move(made));
    graph.tensors[t].producer = kNone;
    graph.tensors[t].producer_output = 0;
    graph.tensors[t].role = sdfg::TensorRole::kInput;
    out.problem.lineage.resize(graph.tensors.size());
    if (std::vector<Place>& places = out.problem.schedule.places; !places.empty()) {
      places.resize(graph.tensors.size());
      places[id] = places[t];
      places[t].phase = places[t].entry = kNone;
    }
    out.problem.lineage[t] = assumption.lineage;
    out.problem.lineage[t].provenance = Provenance::kAssumed;
    out.assumed.push_back(t);
    out.made.push_back(id);
  }
  RequireOperands(check, &out);
  return out;
}

bool AssumesRelations(const Problem& problem) {
  return std::any_of(problem.lineage.begin(), problem.lineage.end(), [](const Lineage& l) {
    return l.kind != LineageKind::kNone && l.provenance == Provenance::kAssumed;
  });
}

}  // namespace planproof::lineage
