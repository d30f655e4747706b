// Faults of the optimizer's step: clipping, shards of parameters, tied parameters.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mutation/plan_faults.h"

namespace planproof::mutation {
namespace {

bool IsStep(const plan::Operator& op) { return op.op() == "adamw"; }

// TT5: the stages that hold a tied parameter step with their own part of its gradient.
absl::StatusOr<Mutation> TiedApart(PlanEditor& editor, const std::string& kind, uint64_t seed) {
  const auto fits = [&](Place at) {
    const plan::Operator& op = editor.op(at);
    if (op.op() != "all_reduce" || op.collective().over_size() > 0 || op.outputs_size() != 1) {
      return false;
    }
    const std::string logical = editor.LogicalOf(at.program, op.outputs(0));
    return absl::StartsWith(logical, "grad.") && editor.IsParameter(at.program, logical.substr(5));
  };
  const auto at = editor.Choose(
      seed, "a parameter that two stages hold, whose gradients are added between them", fits);
  if (!at.ok()) return at.status();
  const plan::Operator collective = editor.op(*at);
  std::vector<Place> places;
  for (int p = 0; p < editor.programs(); ++p) {
    for (int i = 0; i < editor.program(p).operators_size(); ++i) {
      const plan::Operator& op = editor.op({p, i});
      const bool same =
          op.op() == collective.op() && op.inputs_size() == collective.inputs_size() &&
          std::equal(op.inputs().begin(), op.inputs().end(), collective.inputs().begin(),
                     [](const auto& a, const auto& b) { return a.tensor() == b.tensor(); });
      if (same) places.push_back({p, i});
    }
  }
  const Mutation done = editor.Done(kind, places, "every stage keeps its own part");
  for (const Place& place : places) {
    const std::string own = absl::StrCat(editor.program(place.program).name(), ":");
    std::string part;
    for (const plan::Operand& operand : collective.inputs()) {
      if (absl::StartsWith(operand.tensor(), own)) part = operand.tensor().substr(own.size());
    }
    if (part.empty()) return absl::FailedPreconditionError("a stage takes no part in the sum");
    editor.BecomeIdentity(place);
    editor.op(place).clear_inputs();
    editor.op(place).add_inputs()->set_tensor(part);
  }
  return done;
}

// TT9: updated shards of a parameter are not gathered: the whole parameter stays what it was.
absl::StatusOr<Mutation> StaleParameter(PlanEditor& editor, const std::string& kind,
                                        uint64_t seed) {
  // The parameter whose part is stepped by what the operator gathers.
  const auto parameter_at = [&](Place at) -> std::string {
    if (editor.op(at).op() != "all_gather") return "";
    const auto step = editor.Producer(at.program, editor.op(at).inputs(0).tensor());
    if (!step || !IsStep(editor.op(*step))) return "";
    const auto chunk = editor.Producer(at.program, editor.op(*step).inputs(0).tensor());
    if (!chunk || editor.op(*chunk).op() != "chunk") return "";
    const std::string& whole = editor.op(*chunk).inputs(0).tensor();
    return editor.IsParameter(at.program, whole) ? whole : "";
  };
  const auto at = editor.Choose(seed, "a parameter whose shards are stepped and gathered (ZeRO)",
                                [&](Place place) { return !parameter_at(place).empty(); });
  if (!at.ok()) return at.status();
  const std::string parameter = parameter_at(*at);
  const Mutation done =
      editor.Done(kind, {*at}, absl::StrCat("left out: ", parameter, " stays what it was"));
  editor.op(*at).mutable_inputs(0)->set_tensor(parameter);
  editor.BecomeIdentity(*at);
  return done;
}

// X1: the first rank of dp alone clips the gradient of an embedding.
absl::StatusOr<Mutation> ClippedAlone(PlanEditor& editor, const std::string& kind, uint64_t seed) {
  const std::string axis = "dp";
  const auto fits = [&](Place at) {
    const plan::Operator& op = editor.op(at);
    if (op.op() != "mul" || op.outputs_size() != 1 || editor.Extent(axis) < 2) return false;
    for (const Place& step : editor.Readers(at.program, op.outputs(0))) {
      if (!IsStep(editor.op(step))) continue;
      for (const Place& user : editor.Readers(at.program, editor.op(step).inputs(0).tensor())) {
        if (editor.op(user).op() == "embedding") return true;
      }
    }
    return false;
  };
  const auto at = editor.Choose(
      seed, "an embedding whose clipped gradient is stepped with on several ranks of dp", fits);
  if (!at.ok()) return at.status();
  plan::Exception& exception = *editor.program(at->program).add_exceptions();
  plan::Coordinate* where = exception.add_at();
  where->set_axis(axis);
  for (int64_t rank = 1; rank < editor.Extent(axis); ++rank) where->add_values(rank);
  exception.set_replace(editor.op(*at).outputs(0));
  *exception.add_operators() =
      MakeOperator("identity", {editor.op(*at).inputs(0).tensor()}, editor.op(*at).outputs(0));
  return editor.Done(kind, {*at}, "runs at dp 0 only, other ranks take the gradient as it is");
}

}  // namespace

void AddUpdateFaults(PlanFaults* faults) {
  faults->insert({{"TT5", TiedApart}, {"TT9", StaleParameter}, {"X1", ClippedAlone}});
}

}  // namespace planproof::mutation
