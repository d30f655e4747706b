#include "monitor/proved/export_sameness.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace planproof::monitor {
namespace {

using sdfg::TensorId;

// Sums and the like of what several ranks have: their order is the group's.
bool Reduces(sdfg::OperatorKind kind) {
  return kind == sdfg::OperatorKind::kAllReduce || kind == sdfg::OperatorKind::kReduceScatter ||
         kind == sdfg::OperatorKind::kReduce;
}

// What tells tensors apart that nothing computes, and results of operators.
using TensorKey = std::vector<int64_t>;

class TensorClasses {
 public:
  TensorClasses(const lineage::Problem& problem, bool by_group)
      : problem_(problem), by_group_(by_group) {}

  std::vector<int64_t> Compute() {
    const sdfg::Graph& graph = problem_.parallel;
    classes_.assign(graph.tensors.size(), -1);
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      if (graph.tensors[t].producer == sdfg::kNone) SetHeld(static_cast<TensorId>(t));
    }
    for (const sdfg::Operator& op : graph.operators) SetComputed(op);
    return std::move(classes_);
  }

 private:
  int64_t ClassOf(TensorKey key) {
    return known_.emplace(std::move(key), static_cast<int64_t>(known_.size())).first->second;
  }

  // A tensor that a rank holds at the start: the same part of the same tensor of the model.
  void SetHeld(TensorId tensor) {
    const sdfg::Tensor& held = problem_.parallel.tensors[tensor];
    const lineage::Lineage& lineage = problem_.lineage[tensor];
    TensorKey key = {0, static_cast<int64_t>(held.dtype), static_cast<int64_t>(held.role)};
    const bool constant =
        held.role == sdfg::TensorRole::kOne || held.role == sdfg::TensorRole::kZero;
    if (lineage.kind != lineage::LineageKind::kFull && !constant) key.push_back(-1 - tensor);
    key.insert(key.end(), held.shape.begin(), held.shape.end());
    key.push_back(lineage.kind == lineage::LineageKind::kFull ? lineage.logical : -1);
    for (const sdfg::IndexMap& map : lineage.map) {
      key.push_back(map.constant);
      key.push_back(static_cast<int64_t>(map.terms.size()));
      for (const sdfg::IndexTerm& term : map.terms) {
        key.insert(key.end(), {term.dim, term.scale, term.div, term.mod, term.offset, term.gate.dim,
                               term.gate.div, term.gate.mod, term.gate.offset});
      }
    }
    classes_[tensor] = ClassOf(std::move(key));
  }

  void SetComputed(const sdfg::Operator& op) {
    TensorKey key = {1, FunctionNumber(op), static_cast<int64_t>(op.kind), op.lifted ? 1 : 0};
    const bool told_apart = by_group_ && Reduces(op.kind);
    for (const TensorId input : op.inputs) {
      key.push_back(classes_[input]);
      // Results of one collective are one, those of two groups may be summed in another order.
      if (told_apart) key.push_back(input);
    }
    // Memory that nobody wrote is the same nowhere.
    if (op.kind == sdfg::OperatorKind::kUninitialised) key.push_back(op.outputs.front());
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      if (op.outputs[k] == sdfg::kNone) continue;
      TensorKey own = key;
      own.push_back(static_cast<int64_t>(k));
      own.push_back(static_cast<int64_t>(problem_.parallel.tensors[op.outputs[k]].dtype));
      classes_[op.outputs[k]] = ClassOf(std::move(own));
    }
  }

  // Functions of two ranks that are equal need not be one object.
  int64_t FunctionNumber(const sdfg::Operator& op) {
    const auto [at, is_new] = function_numbers_.emplace(op.function.get(), 0);
    if (is_new) {
      std::string text = op.function == nullptr ? "" : op.function->Serialize();
      at->second =
          texts_.emplace(std::move(text), static_cast<int64_t>(texts_.size())).first->second;
    }
    return at->second;
  }

  const lineage::Problem& problem_;
  const bool by_group_;
  std::vector<int64_t> classes_;
  std::map<TensorKey, int64_t> known_;
  std::map<const sdfg::IndexFunction*, int64_t> function_numbers_;
  std::map<std::string, int64_t> texts_;
};

bool AllOfOneClass(const std::vector<int64_t>& classes, const std::vector<TensorId>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](TensorId tensor) {
    return classes[tensor] == classes[tensors.front()];
  });
}

}  // namespace

ComputedAlike::ComputedAlike(const lineage::Problem& problem)
    : shared_(TensorClasses(problem, true).Compute()),
      alike_(TensorClasses(problem, false).Compute()) {}

Sameness ComputedAlike::Of(const std::vector<TensorId>& tensors) const {
  if (tensors.empty() || AllOfOneClass(shared_, tensors)) return Sameness::kBits;
  return AllOfOneClass(alike_, tensors) ? Sameness::kAlike : Sameness::kValues;
}

}  // namespace planproof::monitor
