#include "monitor/proved/export_sameness.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "monitor/proved/element_labels.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::monitor {
namespace {

using sdfg::TensorId;

constexpr int64_t kMostLabels = int64_t{1} << 24;

// Sums and the like of what several ranks have: their order is the group's.
bool Reduces(sdfg::OperatorKind kind) {
  return kind == sdfg::OperatorKind::kAllReduce || kind == sdfg::OperatorKind::kReduceScatter ||
         kind == sdfg::OperatorKind::kReduce;
}

class LabelsOfPlan {
 public:
  LabelsOfPlan(const lineage::Problem& problem, bool by_group)
      : problem_(problem), by_group_(by_group) {}

  std::vector<std::vector<uint64_t>> Compute() {
    const sdfg::Graph& graph = problem_.parallel;
    labels_.resize(graph.tensors.size());
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      if (graph.tensors[t].producer == sdfg::kNone) SetHeld(static_cast<TensorId>(t));
    }
    for (const sdfg::Operator& op : graph.operators) SetComputed(op);
    return std::move(labels_);
  }

 private:
  // What a rank holds at the start: an element of a tensor of the model, or of nothing else.
  void SetHeld(TensorId tensor) {
    const sdfg::Tensor& held = problem_.parallel.tensors[tensor];
    const lineage::Lineage& lineage = problem_.lineage[tensor];
    uint64_t whose = Mixed(static_cast<uint64_t>(held.dtype), static_cast<uint64_t>(held.role));
    const bool known = lineage.kind == lineage::LineageKind::kFull;
    const bool constant =
        held.role == sdfg::TensorRole::kOne || held.role == sdfg::TensorRole::kZero;
    if (known) whose = Mixed(whose, static_cast<uint64_t>(lineage.logical));
    if (!known && !constant) whose = Mixed(whose, ~static_cast<uint64_t>(tensor));
    std::vector<uint64_t>& labels = labels_[tensor];
    std::vector<int64_t> index(held.shape.size(), 0);
    const int64_t elements = sdfg::ElementCount(held.shape);
    for (int64_t k = 0; k < elements; ++k) {
      uint64_t label = whose;
      if (known) {
        for (const int64_t i : lineage.LogicalIndex(index)) {
          label = Mixed(label, static_cast<uint64_t>(i));
        }
      } else if (!constant) {
        label = Mixed(label, static_cast<uint64_t>(k));
      }
      labels.push_back(label);
      Advance(held.shape, &index);
    }
  }

  void SetComputed(const sdfg::Operator& op) {
    uint64_t seed = Mixed(static_cast<uint64_t>(op.kind), op.lifted ? 1 : 0);
    const bool reduces = Reduces(op.kind);
    if (by_group_ && reduces) {
      for (const sdfg::Device rank : op.group) seed = Mixed(seed, static_cast<uint64_t>(rank));
    }
    // Memory that nobody wrote is the same nowhere.
    if (op.kind == sdfg::OperatorKind::kUninitialised) {
      seed = Mixed(seed, ~static_cast<uint64_t>(op.outputs.front()));
    }
    std::vector<const std::vector<uint64_t>*> inputs;
    for (const TensorId input : op.inputs) inputs.push_back(&labels_[input]);
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      const TensorId output = op.outputs[k];
      if (output == sdfg::kNone) continue;
      const sdfg::Tensor& tensor = problem_.parallel.tensors[output];
      const uint64_t own = Mixed(seed, static_cast<uint64_t>(tensor.dtype));
      std::optional<std::vector<uint64_t>> labels;
      if (op.function != nullptr) {
        labels = LabelsElementByElement(*op.function, static_cast<int>(k), inputs, own, reduces);
      }
      labels_[output] = labels ? *std::move(labels) : OfWhole(op, k, own, tensor.shape);
    }
  }

  // Of an operator whose elements depend on much of its inputs, or on positions: the same function
  // of the same inputs.
  std::vector<uint64_t> OfWhole(const sdfg::Operator& op, size_t output, uint64_t label,
                                const sdfg::Shape& shape) {
    label = Mixed(label, FunctionNumber(op));
    label = Mixed(label, output);
    for (const TensorId input : op.inputs) {
      for (const uint64_t own : labels_[input]) label = Mixed(label, own);
    }
    std::vector<uint64_t> labels;
    const int64_t elements = sdfg::ElementCount(shape);
    for (int64_t k = 0; k < elements; ++k) {
      labels.push_back(Mixed(label, static_cast<uint64_t>(k)));
    }
    return labels;
  }

  // Functions of two ranks that are equal need not be one object.
  uint64_t FunctionNumber(const sdfg::Operator& op) {
    const auto [at, is_new] = function_numbers_.emplace(op.function.get(), 0);
    if (is_new) {
      std::string text = op.function == nullptr ? "" : op.function->Serialize();
      at->second = texts_.emplace(std::move(text), texts_.size()).first->second;
    }
    return at->second;
  }

  const lineage::Problem& problem_;
  const bool by_group_;
  std::vector<std::vector<uint64_t>> labels_;
  std::map<const sdfg::IndexFunction*, uint64_t> function_numbers_;
  std::map<std::string, uint64_t> texts_;
};

bool CanBeLabelled(const sdfg::Graph& graph) {
  int64_t elements = 0;
  for (const sdfg::Tensor& tensor : graph.tensors) {
    if (!tensor.axes.empty()) return false;
    elements += sdfg::ElementCount(tensor.shape);
    if (elements > kMostLabels) return false;
  }
  return true;
}

bool HaveOneLabel(const std::vector<std::vector<uint64_t>>& labels,
                  const std::vector<TensorId>& tensors) {
  return !labels.empty() && std::all_of(tensors.begin(), tensors.end(), [&](TensorId tensor) {
    return labels[tensor] == labels[tensors.front()];
  });
}

}  // namespace

ComputedAlike::ComputedAlike(const lineage::Problem& problem) {
  if (!CanBeLabelled(problem.parallel)) return;
  shared_ = LabelsOfPlan(problem, true).Compute();
  alike_ = LabelsOfPlan(problem, false).Compute();
}

Sameness ComputedAlike::Of(const std::vector<TensorId>& tensors) const {
  if (tensors.size() < 2 || HaveOneLabel(shared_, tensors)) return Sameness::kBits;
  return HaveOneLabel(alike_, tensors) ? Sameness::kAlike : Sameness::kValues;
}

}  // namespace planproof::monitor
