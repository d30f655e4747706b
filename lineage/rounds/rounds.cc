#include "lineage/rounds/rounds.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "lineage/rounds/carried_sums.h"
#include "lineage/rounds/masked_functions.h"
#include "lineage/rounds/recurrence.h"
#include "lineage/rounds/ring_hops.h"
#include "sdfg/coordinate_functions.h"
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

  std::optional<Rounds> Run() {
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

 private:
  struct Place {
    int family = -1;
    int64_t round = 0;
  };
  using Key = std::pair<const IndexFunction*, std::vector<TensorId>>;

  OperatorId Operators() const { return static_cast<OperatorId>(graph_.operators.size()); }

  // Tensors that are handed on from rank to rank until each was everywhere. All rings that count
  // run along the axis, and the way, of the first.
  bool FindRing() {
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
    NoteOperands(first, op, {maximum->before});
    AddMaxima(std::move(values), first, operators, nullptr);
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

  // How many terms each tensor is the sum of, if it is one.
  void CountTerms() {
    terms_.assign(graph_.tensors.size(), 1);
    for (OperatorId id = 0; id < Operators(); ++id) {
      const Operator& op = graph_.operators[id];
      if (found_.operators[id] || op.outputs.size() != 1 || op.outputs[0] == kNone ||
          IsMember(op.outputs[0])) {
        continue;
      }
      const bool scales =
          op.lifted && std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId t) {
            return t != kNone && factors_[t].family >= 0;
          });
      int64_t terms = 1;
      if (hops_[id].axis == found_.axis && hops_[id].axis != kNone) {
        terms = terms_[op.inputs[0]];
      } else if (scales) {
        for (const TensorId t : op.inputs) {
          if (t != kNone) terms = std::max(terms, terms_[t]);
        }
      } else if (op.lifted && IsSum(*op.function)) {
        terms = terms_[op.inputs[0]] + terms_[op.inputs[1]];
      }
      terms_[op.outputs[0]] = std::min(terms, found_.count + 1);
    }
  }

  // Sums of the members of a family: where they are, handed on from addition to addition, or scaled
  // with the maxima.
  bool Sums(OperatorId last) {
    const Operator& op = graph_.operators[last];
    if (!HasOneOutput(op) || IsMember(op.outputs[0]) || terms_[op.outputs[0]] != found_.count)
      return false;
    const auto is_term = [&](TensorId t) { return IsMember(t); };
    const auto shift_of = [&](OperatorId id) -> std::optional<int64_t> {
      if (hops_[id].axis != found_.axis) return std::nullopt;
      return found_.count - hops_[id].step;
    };
    const auto factor_of = [&](TensorId t) { return factors_[t]; };
    const auto is_free = [&](OperatorId id) { return !found_.operators[id]; };
    const SumReader reader = {graph_, found_.count, is_term, shift_of, factor_of, is_free};
    const std::optional<Sum> sum = SumOf(reader, op.outputs[0], static_cast<size_t>(found_.count));
    if (!sum.has_value()) return false;
    std::optional<Total> total = TotalOf(*sum);
    if (!total.has_value()) return false;
    total->result = op.outputs[0];
    if (!SameForm(graph_.tensors[op.outputs[0]], graph_.tensors[sum->terms[0].tensor])) return false;
    found_.totals.push_back(*std::move(total));
    Use(sum->operators);
    return true;
  }

  // One term of each round of one family, all of them alike.
  std::optional<Total> TotalOf(const Sum& sum) const {
    const int64_t n = found_.count;
    Total total;
    total.family = family_of_[sum.terms[0].tensor].family;
    std::vector<bool> rounds(static_cast<size_t>(n), false);
    bool here = true, home = true, scaled = sum.scale_family >= 0;
    for (const Term& term : sum.terms) {
      const Place place = family_of_[term.tensor];
      if (place.family != total.family || rounds[place.round]) return std::nullopt;
      rounds[place.round] = true;
      const bool last = place.round == n - 1;
      here &= term.shift == 0 && !term.scaled;
      home &= term.shift == found_.step * place.round % n && !term.scaled;
      scaled &= term.shift == 0 && (last ? !term.scaled
                                         : term.scaled && term.from == place.round &&
                                               term.to == n - 1);
    }
    if (!here && !home && !scaled) return std::nullopt;
    total.kind = here   ? Total::Kind::kSum
                 : home ? Total::Kind::kOfPieces
                        : Total::Kind::kRescaled;
    if (total.kind == Total::Kind::kRescaled) {
      total.terms = total.family;
      total.family = sum.scale_family;
      total.scale_dims = sum.scale_dims;
    }
    return total;
  }

  // Operators exp(M[r - 1] - M[r]), of which nothing is left but what they scale.
  void AddFactors(int family) {
    const std::vector<TensorId> maxima = found_.families[family].members;
    for (size_t r = 1; r < maxima.size(); ++r) {
      for (const OperatorId id : consumers_[maxima[r]]) {
        const Operator& op = graph_.operators[id];
        if (found_.operators[id] || !op.lifted || !HasOneOutput(op)) continue;
        const std::optional<Difference> change = DifferenceOf(*op.function);
        if (!change.has_value() || op.inputs[change->a] != maxima[r - 1] ||
            op.inputs[change->b] != maxima[r]) {
          continue;
        }
        std::vector<OperatorId> operators = {id};
        for (const OperatorId reader : consumers_[op.outputs[0]]) {
          const Operator& exp = graph_.operators[reader];
          if (!exp.lifted || !HasOneOutput(exp) || !IsExponential(*exp.function)) continue;
          factors_[exp.outputs[0]] = {family, static_cast<int64_t>(r)};
          operators.push_back(reader);
        }
        if (operators.size() > 1) Use(operators);
      }
    }
  }

  // What rounds scale on their way back, from the last to the first: `last` is the operator that
  // makes the member of the round before the last.
  bool Scaled(OperatorId last) {
    const Operator& op = graph_.operators[last];
    if (!HasOneOutput(op)) return false;
    for (const Scaling& scaling : ScalingsOf(*op.function)) {
      const TensorId start = op.inputs[scaling.x], by = op.inputs[scaling.factor];
      if (start == kNone || by == kNone || factors_[by].round != found_.count - 1) continue;
      std::vector<OperatorId> operators = {last};
      std::vector<TensorId> members = {start, op.outputs[0]};
      for (int64_t r = found_.count - 2; r > 0; --r) {
        const OperatorId next = ScaledNext(op, scaling, members.back(), factors_[by].family, r);
        if (next == kNone) break;
        operators.push_back(next);
        members.push_back(graph_.operators[next].outputs[0]);
      }
      const bool alike = std::all_of(members.begin(), members.end(), [&](TensorId t) {
        return !IsMember(t) && SameForm(graph_.tensors[t], graph_.tensors[start]);
      });
      if (static_cast<int64_t>(members.size()) != found_.count || !alike ||
          graph_.tensors[by].axes != graph_.tensors[start].axes) {
        continue;
      }
      std::reverse(members.begin(), members.end());
      Family family = {Family::Kind::kScaled, std::move(members)};
      family.scale = factors_[by].family;
      family.scale_dims = scaling.factor_dims;
      Add(std::move(family));
      Use(operators);
      return true;
    }
    return false;
  }

  OperatorId ScaledNext(const Operator& like, const Scaling& scaling, TensorId value, int family,
                        int64_t round) const {
    for (const OperatorId id : consumers_[value]) {
      const Operator& op = graph_.operators[id];
      if (found_.operators[id] || !op.lifted || op.function != like.function || !HasOneOutput(op) ||
          op.inputs[scaling.x] != value || op.inputs[scaling.factor] == kNone) {
        continue;
      }
      const ScaleFactor& factor = factors_[op.inputs[scaling.factor]];
      if (factor.family == family && factor.round == round) return id;
    }
    return kNone;
  }

  // The functions of these operators, one of each round, with explicit coordinates. All operands
  // vary over the axes of the result.
  std::optional<MaskedRounds> AsMasked(const std::vector<OperatorId>& operators) {
    const Operator& first = graph_.operators[operators[0]];
    const std::vector<AxisId>& axes = graph_.tensors[first.outputs[0]].axes;
    MaskedRounds rounds;
    rounds.axes = axes.size();
    rounds.ring = static_cast<size_t>(std::find(axes.begin(), axes.end(), found_.axis) - axes.begin());
    rounds.count = found_.count;
    rounds.step = found_.step;
    for (const TensorId t : first.inputs) rounds.of_piece.push_back(IsMember(t, 0));
    for (const OperatorId id : operators) {
      const Operator& op = graph_.operators[id];
      std::vector<std::vector<AxisId>> input_axes;
      for (const TensorId t : op.inputs) {
        if (t == kNone || graph_.tensors[t].axes != axes) return std::nullopt;
        input_axes.push_back(axes);
      }
      if (!op.lifted) {
        rounds.functions.push_back(op.function);
        continue;
      }
      std::shared_ptr<const IndexFunction>& known = explicit_[{op.function.get(), axes}];
      if (known == nullptr) {
        auto made = sdfg::CombineByCoordinate({*op.function}, graph_.axes, {}, input_axes, axes,
                                              /*affine=*/false);
        if (!made.ok()) return std::nullopt;
        known = std::make_shared<IndexFunction>(*std::move(made));
      }
      rounds.functions.push_back(known);
    }
    return rounds;
  }

  // Operators that read these, of one output like that of the given one; none counts yet.
  std::vector<OperatorId> Reading(const std::vector<TensorId>& operands, const Operator& like) const {
    std::vector<OperatorId> reading;
    for (const OperatorId id : consumers_[operands[0]]) {
      const Operator& op = graph_.operators[id];
      if (!found_.operators[id] && op.kind == OperatorKind::kCompute && op.inputs == operands &&
          HasOneOutput(op) && !IsMember(op.outputs[0]) &&
          SameForm(graph_.tensors[op.outputs[0]], graph_.tensors[like.outputs[0]]) &&
          std::find(reading.begin(), reading.end(), id) == reading.end()) {
        reading.push_back(id);
      }
    }
    return reading;
  }

  // The same operator in all rounds, but for its mask.
  bool MaskedComputed(OperatorId first) {
    const Operator& op = graph_.operators[first];
    if (!HasOneOutput(op) || IsMember(op.outputs[0]) || !IsOfRound(op.inputs, 0)) return false;
    std::vector<OperatorId> operators = Reading(op.inputs, op);
    const auto own = std::find(operators.begin(), operators.end(), first);
    if (own == operators.end()) return false;
    const size_t which = own - operators.begin();  // of those that read the same
    operators = {first};
    for (int64_t r = 1; r < found_.count; ++r) {
      std::vector<TensorId> operands = op.inputs;
      for (TensorId& t : operands) t = InRound(t, 0, r);
      const std::vector<OperatorId> others = Reading(operands, op);
      if (others.size() <= which) return false;
      operators.push_back(others[which]);
    }
    const std::optional<MaskedRounds> masked = AsMasked(operators);
    if (!masked.has_value()) return false;
    auto& known = products_[{masked->functions, masked->of_piece}];
    if (!known.has_value()) {
      auto product = ProductOfAllRounds(*masked);
      known = product.has_value() ? std::make_shared<IndexFunction>(*std::move(product)) : nullptr;
    }
    if (*known == nullptr) return false;
    Family family = {Family::Kind::kComputed, {}, first, 0};
    for (const OperatorId id : operators) family.members.push_back(graph_.operators[id].outputs[0]);
    family.function = *known;
    NoteSameInAll(op.inputs);
    Add(std::move(family));
    Use(operators);
    return true;
  }

  // Maxima of what masks leave of each round.
  bool MaskedMaxima(OperatorId first) {
    const Operator& op = graph_.operators[first];
    if (op.inputs.size() != 1 || !HasOneOutput(op) || IsMember(op.outputs[0]) ||
        op.inputs[0] == kNone || !IsMember(op.inputs[0], 0)) {
      return false;
    }
    const std::vector<TensorId>& read = found_.families[family_of_[op.inputs[0]].family].members;
    for (const int input : {0, 1}) {
      std::vector<OperatorId> operators = {first};
      std::vector<TensorId> values = {op.outputs[0]};
      for (int64_t r = 1; r < found_.count; ++r) {
        std::vector<TensorId> operands = {read[r], values.back()};
        if (input == 1) std::swap(operands[0], operands[1]);
        const std::vector<OperatorId> next = Reading(operands, op);
        if (next.empty()) break;
        operators.push_back(next[0]);
        values.push_back(graph_.operators[next[0]].outputs[0]);
      }
      if (static_cast<int64_t>(values.size()) != found_.count || !AreNumbers(read)) continue;
      const std::optional<MaskedRounds> masked = AsMasked(operators);
      if (!masked.has_value()) continue;
      auto& known = maxima_[{masked->functions, input}];
      if (!known.has_value()) {
        auto maximum = MaximumOfAllRounds(*masked, input, 1 - input);
        known = maximum.has_value() ? std::make_shared<IndexFunction>(*std::move(maximum)) : nullptr;
      }
      if (*known == nullptr) continue;
      AddMaxima(std::move(values), first, operators, *known);
      return true;
    }
    return false;
  }

  void AddMaxima(std::vector<TensorId> values, OperatorId first,
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
  std::vector<Hop> hops_;                           // by operator
  std::vector<std::vector<OperatorId>> consumers_;  // by tensor
  std::vector<ScaleFactor> factors_;                // by tensor
  std::vector<int64_t> terms_;                      // by tensor
  std::map<std::pair<const IndexFunction*, std::vector<AxisId>>,
           std::shared_ptr<const IndexFunction>>
      explicit_;
  // What was made of functions by round; null if nothing was.
  using Functions = std::vector<std::shared_ptr<const IndexFunction>>;
  std::map<std::pair<Functions, std::vector<bool>>,
           std::optional<std::shared_ptr<const IndexFunction>>>
      products_;
  std::map<std::pair<Functions, int>, std::optional<std::shared_ptr<const IndexFunction>>> maxima_;
  Rounds found_;
};

}  // namespace

std::optional<Rounds> FindRounds(const Graph& graph, const std::vector<TensorId>& required) {
  return Finding(graph, required).Run();
}

}  // namespace planproof::lineage::rounds
