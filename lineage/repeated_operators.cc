#include "lineage/repeated_operators.h"

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

class Merging {
 public:
  explicit Merging(const Graph& model) : model_(model), first_(model.tensors.size()) {
    std::iota(first_.begin(), first_.end(), TensorId{0});
    for (const Operator& op : model.operators) Enter(op);
  }

  bool Any() const { return operators_.size() < model_.operators.size(); }

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
    for (Operator op : operators_) {
      for (std::vector<TensorId>* tensors : {&op.inputs, &op.outputs}) {
        for (TensorId& t : *tensors) t = t == kNone ? kNone : (*number)[t];
      }
      merged.AddOperator(std::move(op));
    }
    return merged;
  }

 private:
  void Enter(Operator op) {
    for (TensorId& t : op.inputs) t = t == kNone ? kNone : first_[t];
    if (op.kind == sdfg::OperatorKind::kCompute) {
      const auto [found, fresh] = by_key_.try_emplace(Key{op.function.get(), op.inputs},
                                                      static_cast<OperatorId>(operators_.size()));
      if (!fresh && Repeats(operators_[found->second], op)) {
        Replace(op, &operators_[found->second]);
        return;
      }
    }
    operators_.push_back(std::move(op));
  }

  // Of the same function and operands: whether the results are tensors of one form, too.
  bool Repeats(const Operator& earlier, const Operator& op) const {
    if (earlier.lifted != op.lifted || earlier.outputs.size() != op.outputs.size()) return false;
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (earlier.outputs[o] == kNone || op.outputs[o] == kNone) continue;
      const Tensor& a = model_.tensors[earlier.outputs[o]];
      const Tensor& b = model_.tensors[op.outputs[o]];
      if (a.shape != b.shape || a.axes != b.axes || a.dtype != b.dtype || a.role != b.role) {
        return false;
      }
    }
    return true;
  }

  void Replace(const Operator& op, Operator* earlier) {
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o] == kNone) continue;
      if (earlier->outputs[o] == kNone) {
        earlier->outputs[o] = op.outputs[o];  // wanted here for the first time
      } else {
        first_[op.outputs[o]] = earlier->outputs[o];
      }
    }
  }

  const Graph& model_;
  std::vector<TensorId> first_;      // by tensor: the one that stands for it
  std::vector<Operator> operators_;  // those that stay, in order
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
  return merged;
}

}  // namespace planproof::lineage
