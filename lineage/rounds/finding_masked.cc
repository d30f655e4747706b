#include "lineage/rounds/finding.h"
#include "sdfg/coordinate_functions.h"

namespace planproof::lineage::rounds {

using sdfg::AxisId;
using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::OperatorId;
using sdfg::OperatorKind;
using sdfg::TensorId;

// The functions of these operators, one of each round, with explicit coordinates. All operands
// vary over the axes of the result.
std::optional<MaskedRounds> Finding::AsMasked(const std::vector<OperatorId>& operators) {
  const Operator& first = graph_.operators[operators[0]];
  const std::vector<AxisId>& axes = graph_.tensors[first.outputs[0]].axes;
  MaskedRounds rounds;
  rounds.axes = axes.size();
  rounds.ring =
      static_cast<size_t>(std::find(axes.begin(), axes.end(), found_.axis) - axes.begin());
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
std::vector<OperatorId> Finding::Reading(const std::vector<TensorId>& operands,
                                         const Operator& like) const {
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
bool Finding::MaskedComputed(OperatorId first) {
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
  auto& known = products_[{{masked->functions, masked->axes, masked->ring}, masked->of_piece}];
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
bool Finding::MaskedMaxima(OperatorId first) {
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
    auto& known = maxima_[{{masked->functions, masked->axes, masked->ring}, input}];
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

}  // namespace planproof::lineage::rounds
