#include "lineage/rounds/finding.h"

#include <string>

#include "sdfg/infinite_values.h"

namespace planproof::lineage::rounds {

using sdfg::AxisId;
using sdfg::Graph;
using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::OperatorId;
using sdfg::OperatorKind;
using sdfg::TensorId;

Finding::Finding(const Graph& graph, const std::vector<TensorId>& required)
    : graph_(graph),
      required_(required),
      family_of_(graph.tensors.size(), {-1, 0}),
      same_in_all_(graph.tensors.size(), false),
      next_(graph.tensors.size(), kNone),
      consumers_(graph.tensors.size()),
      factors_(graph.tensors.size()) {
  found_.operators.assign(graph.operators.size(), false);
  found_.first_of.assign(graph.tensors.size(), -1);
  for (OperatorId id = 0; id < Operators(); ++id) {
    const Operator& op = graph.operators[id];
    for (const TensorId t : op.inputs) {
      if (t != kNone) consumers_[t].push_back(id);
    }
    if (op.lifted && op.kind == OperatorKind::kCompute) {
      by_key_.try_emplace({op.function.get(), op.inputs}, id);
    }
  }
}

std::optional<Rounds> Finding::Run() {
  if (!FindRing()) return std::nullopt;
  for (bool found = true; found;) {
    found = false;
    CountTerms();
    for (OperatorId id = 0; id < Operators(); ++id) {
      const Operator& op = graph_.operators[id];
      if (found_.operators[id]) continue;
      if (op.kind == OperatorKind::kCompute) {
        found |= (op.lifted && (Computed(id) || Maxima(id) || Rescaled(id) || Scaled(id))) ||
                 MaskedMaxima(id) || MaskedComputed(id);
      }
      found |= !found_.operators[id] && Sums(id);
    }
  }
  if (contradicts_ || found_.totals.empty() || !StandsForAll()) return std::nullopt;
  return std::move(found_);
}

// Tensors that are handed on from rank to rank until each was everywhere. All rings that count
// run along the axis, and the way, of the first.
bool Finding::FindRing() {
  hops_ = HopsOf(graph_, kLeastRounds);
  std::vector<bool> handed_on(graph_.tensors.size(), false);
  std::vector<Hop> ways;
  for (OperatorId id = 0; id < Operators(); ++id) {
    if (hops_[id].axis != kNone && std::find(ways.begin(), ways.end(), hops_[id]) == ways.end())
      ways.push_back(hops_[id]);
  }
  for (const Hop& way : ways) {
    std::fill(next_.begin(), next_.end(), kNone);
    std::fill(handed_on.begin(), handed_on.end(), false);
    for (OperatorId id = 0; id < Operators(); ++id) {
      if (!(hops_[id] == way)) continue;
      next_[graph_.operators[id].inputs[0]] = id;
      handed_on[graph_.operators[id].outputs[0]] = true;
    }
    found_.axis = way.axis;
    found_.count = graph_.axes[way.axis].extent;
    found_.step = way.step;
    for (TensorId t = 0; t < static_cast<TensorId>(graph_.tensors.size()); ++t) {
      if (!handed_on[t] && next_[t] != kNone) AddRing(t);
    }
    if (!found_.families.empty()) return true;
  }
  return false;
}

void Finding::AddRing(TensorId piece) {
  Family family;
  std::vector<OperatorId> hops;
  for (TensorId t = piece; t != kNone; t = HandedOn(t)) {
    if (static_cast<int64_t>(family.members.size()) == found_.count) return;  // it goes on
    family.members.push_back(t);
    if (next_[t] != kNone) hops.push_back(next_[t]);
  }
  if (static_cast<int64_t>(family.members.size()) < found_.count) return;
  Add(std::move(family));
  Use(hops);
}

// The same operator in all rounds.
bool Finding::Computed(OperatorId first) {
  const Operator& op = graph_.operators[first];
  if (!IsOfRound(op.inputs, 0)) return false;
  std::vector<OperatorId> operators = {first};
  for (int64_t r = 1; r < found_.count; ++r) {
    std::vector<TensorId> operands = op.inputs;
    for (TensorId& t : operands) t = InRound(t, 0, r);
    operators.push_back(Find(op.function.get(), std::move(operands)));
    if (operators.back() == kNone) return false;
  }
  std::vector<Family> families;
  for (size_t o = 0; o < op.outputs.size(); ++o) {
    Family family = {Family::Kind::kComputed, {}, first, static_cast<int>(o)};
    for (const OperatorId id : operators) {
      const Operator& other = graph_.operators[id];
      if (other.outputs.size() != op.outputs.size()) return false;
      if ((other.outputs[o] == kNone) != (op.outputs[o] == kNone)) return false;
      family.members.push_back(other.outputs[o]);
      if (op.outputs[o] == kNone) continue;
      if (!VariesAlong(other.outputs[o]) ||
          !SameForm(graph_.tensors[op.outputs[o]], graph_.tensors[other.outputs[o]])) {
        return false;
      }
    }
    if (op.outputs[o] != kNone) families.push_back(std::move(family));
  }
  if (families.empty()) return false;
  NoteSameInAll(op.inputs);
  for (Family& family : families) Add(std::move(family));
  Use(operators);
  return true;
}

// The operator that makes the value of round 0, of operands of that round.
OperatorId Finding::Starts(TensorId value) const {
  const OperatorId first = IsMember(value) ? kNone : graph_.tensors[value].producer;
  if (first == kNone || found_.operators[first]) return kNone;
  const Operator& op = graph_.operators[first];
  const bool fits =
      op.lifted && op.kind == OperatorKind::kCompute && HasOneOutput(op) && IsOfRound(op.inputs, 0);
  return fits ? first : kNone;
}

// Whether the expression of round 1's operator is what `first` computes, of the other round.
bool Finding::SameAsFirst(const Operator& second, sdfg::ExprId value, const Operator& first) const {
  return SameValue(*second.function, value, *first.function, first.function->outputs[0].body,
                   [&](int input, int other) {
                     return InRound(second.inputs[input], 1, 0) == first.inputs[other];
                   });
}

// Operands of round r of an operator of round 1 whose input `before` is the value before.
std::vector<TensorId> Finding::OperandsIn(const Operator& second, int before, int64_t r,
                                          TensorId value) const {
  std::vector<TensorId> operands = second.inputs;
  for (TensorId& t : operands) t = InRound(t, 1, r);
  operands[before] = value;
  return operands;
}

// The same but for some inputs, which are left out.
bool Finding::OthersAreOfRound(const Operator& op, std::vector<int> inputs, int64_t round) const {
  std::vector<TensorId> others;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (std::find(inputs.begin(), inputs.end(), static_cast<int>(i)) == inputs.end())
      others.push_back(op.inputs[i]);
  }
  return IsOfRound(others, round);
}

// Of the operators of rounds 0 and 1, but for these inputs of the latter.
void Finding::NoteOperands(OperatorId first, const Operator& second, std::vector<int> inputs) {
  NoteSameInAll(graph_.operators[first].inputs);
  for (size_t i = 0; i < second.inputs.size(); ++i) {
    if (std::find(inputs.begin(), inputs.end(), static_cast<int>(i)) == inputs.end())
      NoteSameInAll({second.inputs[i]});
  }
}

bool Finding::Maxima(OperatorId second) {
  const Operator& op = graph_.operators[second];
  const std::optional<Maximum> maximum = MaximumOf(*op.function);
  if (!maximum.has_value() || !HasOneOutput(op)) return false;
  const TensorId start = op.inputs[maximum->before];
  const OperatorId first = Starts(start);
  if (first == kNone || !OthersAreOfRound(op, {maximum->before}, 1) ||
      !OnlyChooses(*graph_.operators[first].function) ||
      !SameAsFirst(op, maximum->rest, graph_.operators[first])) {
    return false;
  }
  std::vector<OperatorId> operators = {first};
  const auto operands = [&](int64_t r, TensorId value) {
    return OperandsIn(op, maximum->before, r, value);
  };
  std::vector<TensorId> values = Carry(second, start, operands, &operators);
  if (values.empty() || !AreNumbers(values)) return false;
  NoteOperands(first, op, {maximum->before});
  AddMaxima(std::move(values), first, operators, nullptr);
  return true;
}

// Where a mask leaves nothing of the first rounds, their maximum is no number.
bool Finding::AreNumbers(const std::vector<TensorId>& values) {
  if (infinite_.empty()) infinite_ = sdfg::MayBeInfinite(graph_);
  return std::all_of(values.begin(), values.end(), [&](TensorId t) {
    return sdfg::IsFloating(graph_.tensors[t].dtype) && !infinite_[t];
  });
}

bool Finding::Rescaled(OperatorId second) {
  const Operator& op = graph_.operators[second];
  const std::optional<Rescaling> rescaling = RescalingOf(*op.function);
  if (!rescaling.has_value() || !HasOneOutput(op)) return false;
  const TensorId old_scale = op.inputs[rescaling->old_scale];
  const TensorId new_scale = op.inputs[rescaling->new_scale];
  if (!IsMember(old_scale, 0) || !IsMember(new_scale, 1)) return false;
  const int family = family_of_[new_scale].family;
  if (family_of_[old_scale].family != family ||
      found_.families[family].kind != Family::Kind::kMaximum) {
    return false;
  }
  const TensorId start = op.inputs[rescaling->before];
  const OperatorId first = Starts(start);
  if (first == kNone || !OthersAreOfRound(op, {rescaling->before, rescaling->old_scale}, 1) ||
      !SameAsFirst(op, rescaling->rest, graph_.operators[first])) {
    return false;
  }
  std::vector<OperatorId> operators = {first};
  const auto operands = [&](int64_t r, TensorId value) {
    std::vector<TensorId> of_round = OperandsIn(op, rescaling->before, r, value);
    of_round[rescaling->old_scale] = found_.families[family].members[r - 1];
    return of_round;
  };
  const std::vector<TensorId> values = Carry(second, start, operands, &operators);
  if (values.empty()) return false;
  NoteOperands(first, op, {rescaling->before});
  found_.totals.push_back(
      {Total::Kind::kRescaled, values.back(), family, first, rescaling->scale_dims});
  Use(operators);
  return true;
}

void Finding::AddMaxima(std::vector<TensorId> values, OperatorId first,
                        const std::vector<OperatorId>& operators,
                        std::shared_ptr<const IndexFunction> function) {
  Total total;
  total.kind = Total::Kind::kMaximum;
  total.result = values.back();
  total.family = static_cast<int>(found_.families.size());
  total.first = first;
  const int family = total.family;
  found_.totals.push_back(std::move(total));
  Family maxima = {Family::Kind::kMaximum, std::move(values), first, 0};
  maxima.function = std::move(function);
  Add(std::move(maxima));
  Use(operators);
  AddFactors(family);
}

// Nothing else reads what one round alone makes.
bool Finding::StandsForAll() const {
  std::vector<bool> gone(graph_.tensors.size(), false);
  for (OperatorId id = 0; id < Operators(); ++id) {
    if (!found_.operators[id]) continue;
    for (const TensorId t : graph_.operators[id].outputs) {
      if (t != kNone) gone[t] = true;
    }
  }
  for (const Total& total : found_.totals) gone[total.result] = false;
  for (OperatorId id = 0; id < Operators(); ++id) {
    if (found_.operators[id]) continue;
    for (const TensorId t : graph_.operators[id].inputs) {
      if (t != kNone && gone[t]) return false;
    }
  }
  return std::none_of(required_.begin(), required_.end(), [&](TensorId t) { return gone[t]; });
}

}  // namespace planproof::lineage::rounds
