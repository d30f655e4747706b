#include "lineage/repeated_operators.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace planproof::lineage {

using sdfg::Graph;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::OperatorId;
using sdfg::Tensor;
using sdfg::TensorId;

namespace {

using Key = std::pair<const sdfg::IndexFunction*, std::vector<TensorId>>;

// The function of (a, b) is that of (b, a): a sum or a product of two operands of one form that are
// read at one index, in which no operand is read. Equal expressions of a function are one node, so
// equal indices are equal ids.
bool OperandsCommute(const sdfg::IndexFunction& function) {
  if (function.inputs.size() != 2 || function.outputs.size() != 1) return false;
  if (!function.premises.empty()) return false;
  const sdfg::Node& root = function.nodes[function.outputs[0].body];
  if (root.op != sdfg::Op::kAdd && root.op != sdfg::Op::kMul) return false;
  const sdfg::Node& a = function.nodes[root.args[0]];
  const sdfg::Node& b = function.nodes[root.args[1]];
  const auto reads = [](const sdfg::Node& node) {
    return node.op == sdfg::Op::kElement || node.op == sdfg::Op::kIntElement;
  };
  if (std::count_if(function.nodes.begin(), function.nodes.end(), reads) != 2) return false;
  return a.op == sdfg::Op::kElement && b.op == sdfg::Op::kElement && a.input != b.input &&
         a.args == b.args && function.inputs[0].shape == function.inputs[1].shape &&
         function.inputs[0].dtype == function.inputs[1].dtype;
}

class Merging {
 public:
  explicit Merging(const Graph& model) : model_(model), first_(model.tensors.size()) {
    std::iota(first_.begin(), first_.end(), TensorId{0});
    for (OperatorId id = 0; id < static_cast<OperatorId>(model.operators.size()); ++id) Enter(id);
  }

  bool Any() const { return kept_.size() < model_.operators.size(); }

  // The model without what repeats; `number` becomes the new number of each tensor.
  Graph Merged(std::vector<TensorId>* number) const {
    Graph merged = model_;
    merged.tensors.clear();
    merged.operators.clear();
    number->assign(first_.size(), kNone);
    for (size_t t = 0; t < first_.size(); ++t) {
      if (first_[t] != static_cast<TensorId>(t)) continue;
      Tensor tensor = model_.tensors[t];
      tensor.producer = kNone;
      tensor.producer_output = 0;
      (*number)[t] = merged.AddTensor(std::move(tensor));
    }
    for (size_t t = 0; t < first_.size(); ++t) (*number)[t] = (*number)[first_[t]];
    for (const OperatorId id : kept_) {
      Operator op = model_.operators[id];
      for (size_t o = 0; o < op.outputs.size(); ++o) op.outputs[o] = Output(id, o);
      for (std::vector<TensorId>* tensors : {&op.inputs, &op.outputs}) {
        for (TensorId& t : *tensors) t = t == kNone ? kNone : (*number)[t];
      }
      merged.AddOperator(std::move(op));
    }
    return merged;
  }

 private:
  void Enter(OperatorId id) {
    const Operator& op = model_.operators[id];
    if (op.kind == sdfg::OperatorKind::kCompute) {
      std::vector<TensorId> inputs = op.inputs;
      for (TensorId& t : inputs) t = t == kNone ? kNone : first_[t];
      if (OperandsCommute(*op.function)) std::sort(inputs.begin(), inputs.end());
      const auto [found, fresh] =
          by_key_.try_emplace(Key{op.function.get(), std::move(inputs)}, id);
      if (!fresh && Repeats(found->second, op)) {
        Replace(op, found->second);
        return;
      }
    }
    kept_.push_back(id);
  }

  // Of the same function and operands: whether the results are tensors of one form, too.
  bool Repeats(OperatorId earlier, const Operator& op) const {
    const Operator& other = model_.operators[earlier];
    if (other.lifted != op.lifted || other.outputs.size() != op.outputs.size()) return false;
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      const TensorId output = Output(earlier, o);
      if (output == kNone || op.outputs[o] == kNone) continue;
      const Tensor& a = model_.tensors[output];
      const Tensor& b = model_.tensors[op.outputs[o]];
      if (a.shape != b.shape || a.axes != b.axes || a.dtype != b.dtype || a.role != b.role) {
        return false;
      }
    }
    return true;
  }

  void Replace(const Operator& op, OperatorId earlier) {
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o] == kNone) continue;
      if (const TensorId output = Output(earlier, o); output != kNone) {
        first_[op.outputs[o]] = output;
      } else {
        only_later_[{earlier, o}] = op.outputs[o];
      }
    }
  }

  TensorId Output(OperatorId id, size_t o) const {
    const auto later = only_later_.find({id, o});
    return later == only_later_.end() ? model_.operators[id].outputs[o] : later->second;
  }

  const Graph& model_;
  std::vector<TensorId> first_;   // by tensor: the one that stands for it
  std::vector<OperatorId> kept_;  // in order
  // Results that the first of equal operators does not have, and a later one has.
  absl::flat_hash_map<std::pair<OperatorId, size_t>, TensorId> only_later_;
  absl::flat_hash_map<Key, OperatorId> by_key_;
};

}  // namespace

std::optional<Problem> WithoutRepeatedOperators(const Problem& problem) {
  const Merging merging(problem.logical);
  if (!merging.Any()) return std::nullopt;
  Problem merged = problem;
  std::vector<TensorId> number;
  merged.logical = merging.Merged(&number);
  const auto renumber = [&](TensorId* tensor) {
    if (*tensor != kNone) *tensor = number[*tensor];
  };
  for (Lineage& lineage : merged.lineage) renumber(&lineage.logical);
  for (RequiredRelation& required : merged.required) renumber(&required.lineage.logical);
  for (Problem::InputPremise& premise : merged.premises) renumber(&premise.tensor);
  std::map<TensorId, std::vector<solver::Rational>> recorded;
  for (auto& [tensor, elements] : merged.recorded) {
    recorded.emplace(number[tensor], std::move(elements));
  }
  merged.recorded = std::move(recorded);
  if (merged.sample != nullptr) {
    SampledInputs sample;
    for (const auto& [tensor, elements] : merged.sample->elements) {
      sample.elements.emplace(number[tensor], elements);
    }
    merged.sample = std::make_shared<const SampledInputs>(std::move(sample));
  }
  return merged;
}

}  // namespace planproof::lineage
