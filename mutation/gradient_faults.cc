// Faults of the backward pass and of the sums of gradients over ranks.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mutation/plan_faults.h"

namespace planproof::mutation {
namespace {

// The forward operators for whose parameters a fault is meant.
bool IsNorm(const plan::Operator& op) { return op.op() == "rms_norm" || op.op() == "layer_norm"; }
bool IsRouter(const plan::Operator& op) { return op.op() == "gate_fw"; }

// The operator of the forward pass that `kind` of operator reads the parameter whose gradient
// `name` is claimed to be.
std::optional<Place> UserOf(const PlanEditor& editor, int program, const std::string& gradient,
                            bool (*is_user)(const plan::Operator&)) {
  const std::string logical = editor.LogicalOf(program, gradient);
  if (!absl::StartsWith(logical, "grad.")) return std::nullopt;
  const std::string parameter = logical.substr(5);
  if (!editor.IsParameter(program, parameter)) return std::nullopt;
  for (const Place& reader : editor.Readers(program, parameter)) {
    if (is_user(editor.op(reader))) return reader;
  }
  return std::nullopt;
}

// The innermost axis that cuts the sequence of what the operator reads: dimension 1 of an
// activation; of tokens in one dimension the innermost digit.
std::string SequenceAxis(const PlanEditor& editor, Place user) {
  const std::string& read = editor.op(user).inputs(0).tensor();
  const plan::Relation* claim = editor.ClaimOf(user.program, read);
  std::vector<std::string> axes = CutOver(claim, 1);
  if (axes.empty() && editor.LocalShape(user.program, read).size() == 2) axes = CutOver(claim, 0);
  if (!axes.empty()) return axes.back();
  std::string innermost;
  for (const std::string& axis : editor.AxesOf(user.program)) {
    if (claim != nullptr && claim->map_size() > 0 && absl::StrContains(claim->map(0), axis)) {
      innermost = axis;
    }
  }
  return innermost;
}

// GG5, TT6, TT12: the gradient of a parameter that ranks use on their parts of the sequence is not
// summed over these ranks.
absl::StatusOr<Mutation> PartOfTheSequence(PlanEditor& editor, const std::string& kind,
                                           uint64_t seed) {
  const bool router = kind == "TT6";
  const auto axis_at = [&](Place at) -> std::string {
    const plan::Operator& op = editor.op(at);
    if (op.op() != "all_reduce" || op.outputs_size() != 1) return "";
    const std::optional<Place> user =
        UserOf(editor, at.program, op.outputs(0), router ? IsRouter : IsNorm);
    if (!user) return "";
    const std::string axis = SequenceAxis(editor, *user);
    const auto& over = op.collective().over();
    return std::find(over.begin(), over.end(), axis) == over.end() ? "" : axis;
  };
  const auto at = editor.Choose(
      seed,
      absl::StrCat("a gradient of a ", router ? "router's" : "norm's",
                   " weight that is summed over ranks which hold parts of the sequence"),
      [&](Place place) { return !axis_at(place).empty(); });
  if (!at.ok()) return at.status();
  const std::string axis = axis_at(*at);
  const Mutation done = editor.Done(kind, {*at}, absl::StrCat("not over ", axis));
  plan::Collective& collective = *editor.op(*at).mutable_collective();
  auto* over = collective.mutable_over();
  over->erase(std::find(over->begin(), over->end(), axis));
  if (over->empty()) editor.BecomeIdentity(*at);
  return done;
}

// TT14: the gradient of a norm, equal on all ranks that cut other parameters, is summed over them
// as well.
absl::StatusOr<Mutation> SummedTwice(PlanEditor& editor, const std::string& kind, uint64_t seed) {
  const auto extra = [&](Place at) -> std::string {
    const plan::Operator& op = editor.op(at);
    if (op.op() != "all_reduce" || op.collective().over_size() == 0) return "";
    if (!UserOf(editor, at.program, op.outputs(0), IsNorm)) return "";
    for (const plan::NamedRelation& input : editor.program(at.program).inputs()) {
      if (!editor.IsParameter(at.program, input.name())) continue;
      for (const plan::ShardedDim& cut : input.relation().dims()) {
        const auto& over = op.collective().over();
        if (cut.over_size() == 1 && std::find(over.begin(), over.end(), cut.over(0)) == over.end())
          return cut.over(0);
      }
    }
    return "";
  };
  const auto at = editor.Choose(
      seed, "a gradient of a norm that is summed over one axis, and another axis that cuts weights",
      [&](Place place) { return !extra(place).empty(); });
  if (!at.ok()) return at.status();
  const std::string axis = extra(*at);
  editor.op(*at).mutable_collective()->add_over(axis);
  return editor.Done(kind, {*at}, absl::StrCat("over ", axis, " as well, where all are equal"));
}

// BR10: where two consumers contribute to a gradient, one contribution is taken twice.
absl::StatusOr<Mutation> GradientTwice(PlanEditor& editor, const std::string& kind, uint64_t seed) {
  const auto fits = [&](Place at) {
    const plan::Operator& op = editor.op(at);
    if (op.op() != "add" || op.inputs_size() != 2) return false;
    const std::string &a = op.inputs(0).tensor(), &b = op.inputs(1).tensor();
    const std::optional<Place> of_a = editor.Producer(at.program, a);
    const std::optional<Place> of_b = editor.Producer(at.program, b);
    return a != b && editor.IsGradient(at.program, a) && editor.IsGradient(at.program, b) && of_a &&
           of_b && !editor.op(*of_a).backward().empty() && !editor.op(*of_b).backward().empty() &&
           editor.LocalShape(at.program, a) == editor.LocalShape(at.program, b);
  };
  const auto at = editor.Choose(seed, "a gradient to which two operators contribute", fits);
  if (!at.ok()) return at.status();
  editor.op(*at).mutable_inputs(1)->set_tensor(editor.op(*at).inputs(0).tensor());
  return editor.Done(kind, {*at}, "takes its first contribution twice");
}

// The forward operator of which this one is the derivative.
std::optional<Place> ForwardOf(const PlanEditor& editor, Place at) {
  const std::string& name = editor.op(at).backward();
  return name.empty() ? std::nullopt : editor.Producer(at.program, name);
}

bool IsRotary(const plan::Operator& op) { return absl::StrContains(op.op(), "rotary"); }

// BR11: the gradients of a rotary embedding's two results are exchanged.
absl::StatusOr<Mutation> ExchangedGradients(PlanEditor& editor, const std::string& kind,
                                            uint64_t seed) {
  const auto fits = [&](Place at) {
    const plan::Operator& op = editor.op(at);
    const std::optional<Place> forward = ForwardOf(editor, at);
    return forward && IsRotary(editor.op(*forward)) && op.gradients_size() == 2 &&
           editor.LocalShape(at.program, op.gradients(0).value()) ==
               editor.LocalShape(at.program, op.gradients(1).value());
  };
  const auto at = editor.Choose(
      seed, "the derivative of a rotary embedding of queries and keys with as many heads", fits);
  if (!at.ok()) return at.status();
  auto* gradients = editor.op(*at).mutable_gradients();
  std::swap(*gradients->Mutable(0)->mutable_value(), *gradients->Mutable(1)->mutable_value());
  return editor.Done(kind, {*at}, "its two gradients are exchanged");
}

// The operand of a rotary embedding that ranks hold slices of: its turns.
int SlicedOperand(const PlanEditor& editor, Place forward) {
  const plan::Operator& op = editor.op(forward);
  for (int i = 0; i < op.inputs_size(); ++i) {
    const std::string& name = op.inputs(i).tensor();
    for (const plan::NamedRelation& input : editor.program(forward.program).inputs()) {
      if (input.name() == name && input.relation().dims_size() > 0) return i;
    }
  }
  return -1;
}

// GG1: the backward pass turns every rank's gradients by the angles of the first positions.
absl::StatusOr<Mutation> WrongOffset(PlanEditor& editor, const std::string& kind, uint64_t seed) {
  const auto fits = [&](Place at) {
    const std::optional<Place> forward = ForwardOf(editor, at);
    return forward && IsRotary(editor.op(*forward)) && SlicedOperand(editor, *forward) >= 0;
  };
  const auto at = editor.Choose(
      seed, "the derivative of a rotary embedding whose angles are sliced along the sequence",
      fits);
  if (!at.ok()) return at.status();
  const Place forward = *ForwardOf(editor, *at);
  const int sliced = SlicedOperand(editor, forward);
  const std::string right = editor.op(forward).inputs(sliced).tensor();
  const std::string wrong = absl::StrCat(right, ".backward");
  plan::NamedRelation& input = *editor.program(at->program).add_inputs();
  input.set_name(wrong);
  plan::Relation& relation = *input.mutable_relation();
  relation.set_of(editor.LogicalOf(at->program, right));
  relation.set_has_map(true);
  relation.set_has_shape(true);
  relation.set_overlap(true);
  int dim = 0;
  for (const int64_t extent : editor.LocalShape(at->program, right)) {
    relation.add_map(absl::StrCat("i", dim++));
    relation.add_shape(extent);
  }
  plan::Operator& op = editor.op(*at);
  if (op.inputs_size() == 0) *op.mutable_inputs() = editor.op(forward).inputs();
  op.mutable_inputs(sliced)->set_tensor(wrong);
  return editor.Done(kind, {*at},
                     absl::StrCat("every rank reads the slice of ", right, " that starts at 0"));
}

// TT13: the gradient of keys or values is taken as [sequence, batch, ...] although it lies as
// [batch, sequence, ...].
absl::StatusOr<Mutation> WrongLayout(PlanEditor& editor, const std::string& kind, uint64_t seed) {
  const auto fits = [&](Place at) {
    const plan::Operator& op = editor.op(at);
    if (op.op() != "reduce_scatter" || !editor.IsBackward(at) || op.collective().dim() != 1) {
      return false;
    }
    const sdfg::Shape shape = editor.LocalShape(at.program, op.outputs(0));
    return shape.size() == 4 && shape[0] > 1 && shape[1] > 1;
  };
  const auto at = editor.Choose(
      seed, "gradients of keys or values of several sequences that are scattered along them", fits);
  if (!at.ok()) return at.status();
  const Mutation done = editor.Done(
      kind, {*at}, "its result is taken as [sequence, batch, ...], it is [batch, sequence, ...]");
  const std::string out = editor.op(*at).outputs(0);
  const std::string raw = absl::StrCat(out, ".received"), seen = absl::StrCat(out, ".seen");
  const sdfg::Shape shape = editor.LocalShape(at->program, out);
  editor.op(*at).set_outputs(0, raw);
  plan::Operator turned = MakeOperator("transpose", {seen}, out);
  const auto set = [](plan::Operator* op, const std::string& name) {
    plan::Attribute* attribute = op->add_attributes();
    attribute->set_name(name);
    return attribute->mutable_value();
  };
  set(&turned, "dim0")->set_integer(0);
  set(&turned, "dim1")->set_integer(1);
  editor.InsertAfter(*at, std::move(turned));
  plan::Operator view = MakeOperator("view", {raw}, seen);
  plan::ListValue* size = set(&view, "size")->mutable_list();
  for (const int64_t extent : {shape[1], shape[0], shape[2], shape[3]}) {
    size->add_elements()->set_integer(extent);
  }
  editor.InsertAfter(*at, std::move(view));
  return done;
}

}  // namespace

void AddGradientFaults(PlanFaults* faults) {
  faults->insert({{"BR10", GradientTwice},
                  {"BR11", ExchangedGradients},
                  {"GG1", WrongOffset},
                  {"GG5", PartOfTheSequence},
                  {"TT6", PartOfTheSequence},
                  {"TT12", PartOfTheSequence},
                  {"TT13", WrongLayout},
                  {"TT14", SummedTwice}});
}

}  // namespace planproof::mutation
