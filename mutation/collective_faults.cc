// Faults in which ranks reduce, gather or scatter, and along what.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mutation/plan_faults.h"

namespace planproof::mutation {
namespace {

std::vector<std::string> Over(const plan::Operator& op) {
  return {op.collective().over().begin(), op.collective().over().end()};
}

bool IsOver(const plan::Operator& op, const std::string& name) {
  return op.op() == name && op.collective().over_size() > 0;
}

void SetOver(plan::Operator* op, const std::vector<std::string>& axes) {
  op->mutable_collective()->clear_over();
  for (const std::string& axis : axes) op->mutable_collective()->add_over(axis);
}

// BR3: an all-reduce gathers along the last dimension. BR4: an all-gather reduces.
absl::StatusOr<Mutation> ExchangeCollective(PlanEditor& editor, const std::string& kind,
                                            uint64_t seed) {
  const std::string from = kind == "BR3" ? "all_reduce" : "all_gather";
  const std::string to = kind == "BR3" ? "all_gather" : "all_reduce";
  const auto fits = [&](Place at) {
    return IsOver(editor.op(at), from) && !editor.IsBackward(at) &&
           editor.LocalShape(at.program, editor.op(at).outputs(0)).size() > 1;
  };
  const auto at = editor.Choose(seed, absl::StrCat("an ", from, " in the forward pass"), fits);
  if (!at.ok()) return at.status();
  const Mutation done = editor.Done(kind, {*at}, absl::StrCat("runs as ", to));
  editor.op(*at).set_op(to);
  plan::Collective& collective = *editor.op(*at).mutable_collective();
  collective.clear_dim();
  if (kind == "BR3") collective.set_dim(-1);
  return done;
}

// Another axis of the mesh along which the ranks of the program lie.
std::optional<std::string> OtherAxis(const PlanEditor& editor, Place at) {
  const std::vector<std::string> used = Over(editor.op(at));
  for (const std::string& axis : editor.AxesOf(at.program)) {
    if (std::find(used.begin(), used.end(), axis) == used.end()) return axis;
  }
  return std::nullopt;
}

// TT7: the all-reduce of a forward pass goes over the ranks of another axis.
absl::StatusOr<Mutation> WrongGroup(PlanEditor& editor, const std::string& kind, uint64_t seed) {
  const auto fits = [&](Place at) {
    return IsOver(editor.op(at), "all_reduce") && !editor.IsBackward(at) &&
           OtherAxis(editor, at).has_value() &&
           editor.LocalShape(at.program, editor.op(at).outputs(0)).size() > 1;
  };
  const auto at =
      editor.Choose(seed, "an all_reduce in the forward pass and a second axis of the mesh", fits);
  if (!at.ok()) return at.status();
  const std::string right = absl::StrJoin(Over(editor.op(*at)), ", ");
  const std::string wrong = *OtherAxis(editor, *at);
  SetOver(&editor.op(*at), {wrong});
  return editor.Done(kind, {*at}, absl::StrCat("over ", wrong, " instead of ", right));
}

// X4: what a reduce-scatter leaves unreduced over other axes is used as if it were reduced.
absl::StatusOr<Mutation> ScatteredAndNotReduced(PlanEditor& editor, const std::string& kind,
                                                uint64_t seed) {
  const auto fits = [&](Place at) {
    if (!IsOver(editor.op(at), "all_reduce")) return false;
    std::string source = editor.op(at).inputs(0).tensor();
    std::optional<Place> made = editor.Producer(at.program, source);
    if (made && editor.op(*made).op() == "accumulate") {
      made = editor.Producer(at.program, editor.op(*made).inputs(0).tensor());
    }
    return made && editor.op(*made).op() == "reduce_scatter";
  };
  const auto at = editor.Choose(
      seed, "a tensor that is reduce-scattered over one axis and then all-reduced over another",
      fits);
  if (!at.ok()) return at.status();
  const Mutation done =
      editor.Done(kind, {*at},
                  absl::StrCat("the reduction over ", absl::StrJoin(Over(editor.op(*at)), ", "),
                               " is left out"));
  editor.BecomeIdentity(*at);
  return done;
}

// An axis that cuts what the collective makes, and over which it does not reduce.
std::optional<std::string> AxisOfShards(const PlanEditor& editor, Place at) {
  const std::string& out = editor.op(at).outputs(0);
  const std::vector<std::string> used = Over(editor.op(at));
  const auto dims = static_cast<int>(editor.LocalShape(at.program, out).size());
  for (int d = 0; d < dims; ++d) {
    for (const std::string& axis : CutOver(editor.ClaimOf(at.program, out), d)) {
      if (std::find(used.begin(), used.end(), axis) == used.end()) return axis;
    }
  }
  return std::nullopt;
}

// X6: a gradient is reduced over the axis that cuts it: rows of different shards are added.
absl::StatusOr<Mutation> ReducedOverShards(PlanEditor& editor, const std::string& kind,
                                           uint64_t seed) {
  const auto fits = [&](Place at) {
    return IsOver(editor.op(at), "all_reduce") && editor.IsBackward(at) &&
           AxisOfShards(editor, at).has_value();
  };
  const auto at =
      editor.Choose(seed, "an all_reduce of a gradient that another axis cuts in shards", fits);
  if (!at.ok()) return at.status();
  const std::string right = absl::StrJoin(Over(editor.op(*at)), ", ");
  const std::string wrong = *AxisOfShards(editor, *at);
  SetOver(&editor.op(*at), {wrong});
  return editor.Done(
      kind, {*at},
      absl::StrCat("over ", wrong, ", by which the gradient is sharded, instead of ", right));
}

// GG2: what all ranks computed alike is summed where each should take its part, without a division
// by their number.
absl::StatusOr<Mutation> AlikeAndSummed(PlanEditor& editor, const std::string& kind,
                                        uint64_t seed) {
  const auto fits = [&](Place at) {
    return IsOver(editor.op(at), "chunk") && editor.IsBackward(at) &&
           !editor.Readers(at.program, editor.op(at).outputs(0)).empty() &&
           editor.LocalShape(at.program, editor.op(at).outputs(0)).size() > 2;
  };
  const auto at = editor.Choose(
      seed, "a gradient that all ranks compute alike, of which each takes its part", fits);
  if (!at.ok()) return at.status();
  const Mutation done = editor.Done(
      kind, {*at}, "reduce-scattered, although it was not divided by the number of ranks");
  editor.op(*at).set_op("reduce_scatter");
  return done;
}

}  // namespace

void AddCollectiveFaults(PlanFaults* faults) {
  faults->insert({{"BR3", ExchangeCollective},
                  {"BR4", ExchangeCollective},
                  {"GG2", AlikeAndSummed},
                  {"TT7", WrongGroup},
                  {"X4", ScatteredAndNotReduced},
                  {"X6", ReducedOverShards}});
}

}  // namespace planproof::mutation
