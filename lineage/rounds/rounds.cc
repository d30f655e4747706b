#include "lineage/rounds/rounds.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "lineage/rounds/recurrence.h"
#include "sdfg/collectives.h"
#include "sdfg/infinite_values.h"

namespace planproof::lineage::rounds {

using sdfg::AxisId;
using sdfg::Graph;
using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::OperatorId;
using sdfg::OperatorKind;
using sdfg::Tensor;
using sdfg::TensorId;

namespace {

// Along a ring: rank c hands on to rank c + step.
struct Hop {
  AxisId axis = kNone;
  int64_t step = 0;
  bool operator==(const Hop&) const = default;
};

bool SameForm(const Tensor& a, const Tensor& b) {
  return a.shape == b.shape && a.axes == b.axes && a.dtype == b.dtype;
}

class Finding {
 public:
  Finding(const Graph& graph, const std::vector<TensorId>& required)
      : graph_(graph),
        required_(required),
        family_of_(graph.tensors.size(), {-1, 0}),
        same_in_all_(graph.tensors.size(), false),
        next_(graph.tensors.size(), kNone) {
    found_.operators.assign(graph.operators.size(), false);
    found_.first_of.assign(graph.tensors.size(), -1);
    for (OperatorId id = 0; id < Operators(); ++id) {
      const Operator& op = graph.operators[id];
      if (op.lifted && op.kind == OperatorKind::kCompute) {
        by_key_.try_emplace({op.function.get(), op.inputs}, id);
      }
    }
  }

  std::optional<Rounds> Run() {
    if (!FindRing()) return std::nullopt;
    for (bool found = true; found;) {
      found = false;
      for (OperatorId id = 0; id < Operators(); ++id) {
        const Operator& op = graph_.operators[id];
        if (found_.operators[id] || !op.lifted || op.kind != OperatorKind::kCompute) continue;
        found |= Computed(id) || Maxima(id) || Rescaled(id) || Sums(id);
      }
    }
    if (contradicts_ || found_.totals.empty() || !StandsForAll()) return std::nullopt;
    return std::move(found_);
  }

 private:
  struct Place {
    int family = -1;
    int64_t round = 0;
  };
  using Key = std::pair<const IndexFunction*, std::vector<TensorId>>;

  OperatorId Operators() const { return static_cast<OperatorId>(graph_.operators.size()); }

  // How the operator hands on its operand along an axis, if it does.
  Hop HopOf(const Operator& op) {
    if (op.kind != OperatorKind::kPermute || op.lifted || op.inputs.size() != 1 ||
        op.outputs.size() != 1 || op.outputs[0] == kNone ||
        !SameForm(graph_.tensors[op.inputs[0]], graph_.tensors[op.outputs[0]])) {
      return {};
    }
    const Tensor& tensor = graph_.tensors[op.inputs[0]];
    const auto [known, fresh] = hops_.try_emplace({op.function.get(), tensor.axes});
    if (!fresh) return known->second;
    const std::string own = op.function->Serialize();
    for (size_t a = 0; a < tensor.axes.size(); ++a) {
      const int64_t ranks = tensor.shape[a];
      if (ranks < kLeastRounds) continue;
      for (const int64_t step : {int64_t{1}, ranks - 1}) {
        std::vector<int64_t> source(static_cast<size_t>(ranks));
        for (int64_t r = 0; r < ranks; ++r) source[r] = (r + ranks - step) % ranks;
        const auto hop = sdfg::AxisPermute(tensor.shape, tensor.dtype, static_cast<int>(a), source);
        if (hop.ok() && hop->Serialize() == own) known->second = {tensor.axes[a], step};
      }
    }
    return known->second;
  }

  // Tensors that are handed on from rank to rank until each was everywhere. All rings that count
  // run along the axis, and the way, of the first.
  bool FindRing() {
    std::vector<Hop> hops(graph_.operators.size());
    std::vector<bool> handed_on(graph_.tensors.size(), false);
    std::vector<Hop> ways;
    for (OperatorId id = 0; id < Operators(); ++id) {
      hops[id] = HopOf(graph_.operators[id]);
      if (hops[id].axis != kNone && std::find(ways.begin(), ways.end(), hops[id]) == ways.end())
        ways.push_back(hops[id]);
    }
    for (const Hop& way : ways) {
      std::fill(next_.begin(), next_.end(), kNone);
      std::fill(handed_on.begin(), handed_on.end(), false);
      for (OperatorId id = 0; id < Operators(); ++id) {
        if (!(hops[id] == way)) continue;
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

  TensorId HandedOn(TensorId t) const {
    return next_[t] == kNone ? kNone : graph_.operators[next_[t]].outputs[0];
  }

  void AddRing(TensorId piece) {
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

  void Add(Family family) {
    const int number = static_cast<int>(found_.families.size());
    for (size_t r = 0; r < family.members.size(); ++r) {
      const TensorId t = family.members[r];
      contradicts_ |= IsMember(t) || same_in_all_[t];
      family_of_[t] = {number, static_cast<int64_t>(r)};
    }
    found_.first_of[family.members[0]] = number;
    found_.families.push_back(std::move(family));
  }

  // An operator is part of one thing only.
  void Use(const std::vector<OperatorId>& operators) {
    for (const OperatorId id : operators) {
      contradicts_ |= found_.operators[id];
      found_.operators[id] = true;
    }
  }

  // What an operator that was found reads in all rounds alike is of no round: whoever says
  // otherwise later contradicts it.
  void NoteSameInAll(const std::vector<TensorId>& operands) {
    for (const TensorId t : operands) {
      if (!IsMember(t)) same_in_all_[t] = true;
    }
  }

  bool IsMember(TensorId t) const { return family_of_[t].family >= 0; }
  bool IsMember(TensorId t, int64_t round) const {
    return IsMember(t) && family_of_[t].round == round;
  }
  // What stands in the place of a tensor of round `from` in another.
  TensorId InRound(TensorId t, int64_t from, int64_t round) const {
    return IsMember(t, from) ? found_.families[family_of_[t].family].members[round] : t;
  }

  // The operator of this function and these operands that nothing stands for yet.
  OperatorId Find(const IndexFunction* function, std::vector<TensorId> operands) const {
    const auto at = by_key_.find(Key{function, std::move(operands)});
    return at == by_key_.end() || found_.operators[at->second] ? kNone : at->second;
  }

  // All operands are the same in every round, or of this round (0 or 1); at least one is.
  bool IsOfRound(const std::vector<TensorId>& operands, int64_t round) const {
    bool any = false;
    for (const TensorId t : operands) {
      if (t == kNone || (IsMember(t) && !IsMember(t, round) && !IsLastMaximum(t))) return false;
      any |= IsMember(t, round);
    }
    return any;
  }
  bool IsLastMaximum(TensorId t) const {
    return IsMember(t, found_.count - 1) &&
           found_.families[family_of_[t].family].kind == Family::Kind::kMaximum;
  }

  // Has one output, which varies over the ring's axis.
  bool HasOneOutput(const Operator& op) const {
    return op.outputs.size() == 1 && op.outputs[0] != kNone && VariesAlong(op.outputs[0]);
  }
  bool VariesAlong(TensorId t) const {
    const std::vector<AxisId>& axes = graph_.tensors[t].axes;
    return std::find(axes.begin(), axes.end(), found_.axis) != axes.end();
  }

  // The same operator in all rounds.
  bool Computed(OperatorId first) {
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

  // A value that rounds carry on: from `second`, the operator of round 1, whose input `before` is
  // the value of round 0. `operands` gives those of a round's operator, of the value before it. The
  // values of all rounds, and the operators of all but the first; nothing if one is missing.
  template <typename Operands>
  std::vector<TensorId> Carry(OperatorId second, TensorId start, const Operands& operands,
                              std::vector<OperatorId>* operators) const {
    const Operator& op = graph_.operators[second];
    std::vector<TensorId> values = {start, op.outputs[0]};
    operators->push_back(second);
    for (int64_t r = 2; r < found_.count; ++r) {
      const OperatorId next = Find(op.function.get(), operands(r, values.back()));
      if (next == kNone || !HasOneOutput(graph_.operators[next])) return {};
      operators->push_back(next);
      values.push_back(graph_.operators[next].outputs[0]);
    }
    for (const TensorId t : values) {
      if (IsMember(t) || !SameForm(graph_.tensors[t], graph_.tensors[start])) return {};
    }
    return values;
  }

  // The operator that makes the value of round 0, of operands of that round.
  OperatorId Starts(TensorId value) const {
    const OperatorId first = IsMember(value) ? kNone : graph_.tensors[value].producer;
    if (first == kNone || found_.operators[first]) return kNone;
    const Operator& op = graph_.operators[first];
    const bool fits = op.lifted && op.kind == OperatorKind::kCompute && HasOneOutput(op) &&
                      IsOfRound(op.inputs, 0);
    return fits ? first : kNone;
  }

  // Whether the expression of round 1's operator is what `first` computes, of the other round.
  bool SameAsFirst(const Operator& second, sdfg::ExprId value, const Operator& first) const {
    return SameValue(*second.function, value, *first.function, first.function->outputs[0].body,
                     [&](int input, int other) {
                       return InRound(second.inputs[input], 1, 0) == first.inputs[other];
                     });
  }

  // Operands of round r of an operator of round 1 whose input `before` is the value before.
  std::vector<TensorId> OperandsIn(const Operator& second, int before, int64_t r,
                                   TensorId value) const {
    std::vector<TensorId> operands = second.inputs;
    for (TensorId& t : operands) t = InRound(t, 1, r);
    operands[before] = value;
    return operands;
  }

  // The same but for some inputs, which are left out.
  bool OthersAreOfRound(const Operator& op, std::vector<int> inputs, int64_t round) const {
    std::vector<TensorId> others;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (std::find(inputs.begin(), inputs.end(), static_cast<int>(i)) == inputs.end())
        others.push_back(op.inputs[i]);
    }
    return IsOfRound(others, round);
  }

  // Of the operators of rounds 0 and 1, but for these inputs of the latter.
  void NoteOperands(OperatorId first, const Operator& second, std::vector<int> inputs) {
    NoteSameInAll(graph_.operators[first].inputs);
    for (size_t i = 0; i < second.inputs.size(); ++i) {
      if (std::find(inputs.begin(), inputs.end(), static_cast<int>(i)) == inputs.end())
        NoteSameInAll({second.inputs[i]});
    }
  }

  bool Maxima(OperatorId second) {
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
    Total total;
    total.kind = Total::Kind::kMaximum;
    total.result = values.back();
    total.family = static_cast<int>(found_.families.size());
    total.first = first;
    found_.totals.push_back(std::move(total));
    NoteOperands(first, op, {maximum->before});
    Add({Family::Kind::kMaximum, std::move(values), first, 0});
    Use(operators);
    return true;
  }

  // Where a mask leaves nothing of the first rounds, their maximum is no number.
  bool AreNumbers(const std::vector<TensorId>& values) {
    if (infinite_.empty()) infinite_ = sdfg::MayBeInfinite(graph_);
    return std::all_of(values.begin(), values.end(), [&](TensorId t) {
      return sdfg::IsFloating(graph_.tensors[t].dtype) && !infinite_[t];
    });
  }

  bool Rescaled(OperatorId second) {
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

  // Sums of the members of a family, added up on the spot or handed on before each addition.
  bool Sums(OperatorId second) {
    const Operator& op = graph_.operators[second];
    if (!HasOneOutput(op) || op.inputs.size() != 2 || !IsSum(*op.function)) return false;
    for (const int before : {0, 1}) {
      const TensorId own = op.inputs[1 - before], start = op.inputs[before];
      if (own == kNone || start == kNone || !IsMember(own, 1)) continue;
      const TensorId member = found_.families[family_of_[own].family].members[0];
      if (start == member && AddedUp(second, own, false)) return true;
      if (start == HandedOn(member) && !IsMember(start) && AddedUp(second, own, true)) return true;
    }
    return false;
  }

  bool AddedUp(OperatorId second, TensorId own, bool travels) {
    const Operator& op = graph_.operators[second];
    const int family = family_of_[own].family;
    std::vector<OperatorId> operators = {second};
    TensorId value = op.outputs[0];
    const auto hop = [&](TensorId from) {
      const TensorId to = HandedOn(from);
      if (to == kNone || IsMember(to) || found_.operators[next_[from]]) return kNone;
      operators.push_back(next_[from]);
      return to;
    };
    if (travels && hop(found_.families[family].members[0]) == kNone) return false;
    for (int64_t r = 2; r < found_.count; ++r) {
      const TensorId before = travels ? hop(value) : value;
      const TensorId more = found_.families[family].members[r];
      if (before == kNone || IsMember(before)) return false;
      OperatorId next = Find(op.function.get(), {before, more});
      if (next == kNone) next = Find(op.function.get(), {more, before});
      if (next == kNone || !HasOneOutput(graph_.operators[next])) return false;
      operators.push_back(next);
      value = graph_.operators[next].outputs[0];
    }
    if (travels) value = hop(value);
    if (value == kNone || IsMember(value) || !SameForm(graph_.tensors[value], graph_.tensors[own]))
      return false;
    found_.totals.push_back(
        {travels ? Total::Kind::kOfPieces : Total::Kind::kSum, value, family, kNone, {}});
    Use(operators);
    return true;
  }

  // Nothing else reads what one round alone makes.
  bool StandsForAll() const {
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

  const Graph& graph_;
  const std::vector<TensorId>& required_;
  std::vector<Place> family_of_;
  std::vector<bool> same_in_all_;  // by tensor
  std::vector<bool> infinite_;     // by tensor, if it was asked for
  bool contradicts_ = false;
  std::vector<OperatorId> next_;  // by tensor: the operator that hands it on
  absl::flat_hash_map<Key, OperatorId> by_key_;
  std::map<std::pair<const IndexFunction*, std::vector<AxisId>>, Hop> hops_;
  Rounds found_;
};

}  // namespace

std::optional<Rounds> FindRounds(const Graph& graph, const std::vector<TensorId>& required) {
  return Finding(graph, required).Run();
}

}  // namespace planproof::lineage::rounds
