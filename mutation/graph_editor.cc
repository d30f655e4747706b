#include "mutation/graph_editor.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sdfg/collectives.h"

namespace planproof::mutation {

using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

std::vector<bool> TensorsAfterLoss(const sdfg::Graph& graph) {
  std::vector<bool> after(graph.tensors.size(), false);
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    after[i] = graph.tensors[i].role == sdfg::TensorRole::kOne;
  }
  for (const sdfg::Operator& op : graph.operators) {  // in topological order
    const bool any = std::any_of(op.inputs.begin(), op.inputs.end(),
                                 [&](TensorId input) { return input >= 0 && after[input]; });
    for (const TensorId output : op.outputs) {
      if (output >= 0 && any) after[output] = true;
    }
  }
  return after;
}

GraphEditor::GraphEditor(lineage::Problem& problem)
    : problem_(problem), after_loss_(TensorsAfterLoss(problem.parallel)) {
  const sdfg::Graph& graph = problem.parallel;
  consumed_.assign(graph.tensors.size(), false);
  for (const sdfg::Operator& op : graph.operators) {
    bool backward = false;
    for (const TensorId input : op.inputs) {
      if (input < 0) continue;
      backward = backward || after_loss_[input];
      consumed_[input] = true;
    }
    backward_.push_back(backward);
  }
}

bool GraphEditor::NameContains(OperatorId id, const std::string& text) const {
  return op(id).name.find(text) != std::string::npos;
}

sdfg::Device GraphEditor::DeviceOf(OperatorId id) const {
  for (const TensorId output : op(id).outputs) {
    if (output >= 0) return problem_.parallel.tensors[output].device;
  }
  return -1;
}

int GraphEditor::OwnInput(OperatorId id) const {
  const sdfg::Device device = DeviceOf(id);
  for (size_t i = 0; i < op(id).inputs.size(); ++i) {
    if (problem_.parallel.tensors[op(id).inputs[i]].device == device) return static_cast<int>(i);
  }
  return -1;
}

bool GraphEditor::SameShape(TensorId a, TensorId b) const {
  const sdfg::Tensor& x = problem_.parallel.tensors[a];
  const sdfg::Tensor& y = problem_.parallel.tensors[b];
  return x.shape == y.shape && x.axes == y.axes &&
         sdfg::IsInteger(x.dtype) == sdfg::IsInteger(y.dtype);
}

std::vector<OperatorId> GraphEditor::Group(OperatorId id) const {
  std::vector<OperatorId> group;
  for (OperatorId other = 0; other < size(); ++other) {
    if (op(other).name == op(id).name && op(other).inputs == op(id).inputs) group.push_back(other);
  }
  return group;
}

std::vector<OperatorId> GraphEditor::Replicas(OperatorId id) const {
  const auto logical_of = [this](OperatorId at) {
    const TensorId output = op(at).outputs.empty() ? kNone : op(at).outputs[0];
    return output < 0 || output >= static_cast<TensorId>(problem_.lineage.size())
               ? kNone
               : problem_.lineage[output].logical;
  };
  std::vector<OperatorId> replicas;
  for (OperatorId other = 0; other < size(); ++other) {
    const bool same_place = logical_of(id) != kNone ? logical_of(other) == logical_of(id)
                                                    : op(other).label == op(id).label;
    if (op(other).name == op(id).name && same_place && IsBackward(other) == IsBackward(id)) {
      replicas.push_back(other);
    }
  }
  return replicas;
}

bool GraphEditor::BypassWith(OperatorId id, int input) {
  const sdfg::Operator& old = op(id);
  if (old.outputs.size() != 1 || old.outputs[0] == kNone || input < 0) return false;
  if (!old.lifted && old.inputs.size() == 1) {
    return EditFunction(id, [](IndexFunction& function) {
      for (const sdfg::Node& node : function.nodes) {
        if (node.op != sdfg::Op::kSum || function.vars[node.var].extent < 2) continue;
        function.vars[node.var].extent = 1;
        return true;
      }
      return false;
    });
  }
  const TensorId source = old.inputs[input];
  if (!old.lifted || !SameShape(source, old.outputs[0])) return false;
  absl::StatusOr<IndexFunction> copy =
      sdfg::Copy(old.function->inputs[input].shape, old.function->inputs[input].dtype);
  if (!copy.ok()) return false;
  SetFunction(id, *std::move(copy), {source});
  return true;
}

bool GraphEditor::EditFunction(OperatorId id, const std::function<bool(IndexFunction&)>& edit) {
  IndexFunction function = *op(id).function;
  if (!edit(function)) return false;
  graph().operators[id].function = graph().Intern(std::move(function));
  return true;
}

void GraphEditor::SetInput(OperatorId id, int input, TensorId tensor) {
  graph().operators[id].inputs[input] = tensor;
}

void GraphEditor::SetFunction(OperatorId id, IndexFunction function, std::vector<TensorId> inputs) {
  sdfg::Operator& changed = graph().operators[id];
  function.operator_name = changed.function->operator_name;
  changed.function = graph().Intern(std::move(function));
  changed.inputs = std::move(inputs);
}

void GraphEditor::Remove(std::vector<OperatorId> ids) {
  std::sort(ids.begin(), ids.end());
  for (size_t i = ids.size(); i-- > 0;) {
    graph().operators.erase(graph().operators.begin() + ids[i]);
  }
  for (sdfg::Tensor& tensor : graph().tensors) tensor.producer = kNone;
  for (OperatorId id = 0; id < size(); ++id) {
    for (size_t i = 0; i < op(id).outputs.size(); ++i) {
      if (op(id).outputs[i] == kNone) continue;
      sdfg::Tensor& tensor = graph().tensors[op(id).outputs[i]];
      tensor.producer = id;
      tensor.producer_output = static_cast<int32_t>(i);
    }
  }
}

Mutation GraphEditor::Done(const std::string& kind, const std::vector<OperatorId>& ids,
                           const std::string& change) const {
  Mutation mutation;
  mutation.kind = kind;
  std::set<int> devices;
  for (const OperatorId id : ids) {
    mutation.operators.push_back(problem_.parallel.Describe(id));
    devices.insert(op(id).devices.begin(), op(id).devices.end());
    if (DeviceOf(id) >= 0) devices.insert(DeviceOf(id));
  }
  mutation.devices.assign(devices.begin(), devices.end());
  mutation.what = kind + ": ";
  for (size_t i = 0; i < std::min<size_t>(mutation.operators.size(), 4); ++i) {
    mutation.what += (i > 0 ? ", " : "") + mutation.operators[i];
  }
  if (mutation.operators.size() > 4) mutation.what += ", ...";
  mutation.what += (mutation.operators.empty() ? "" : ": ") + change;
  return mutation;
}

}  // namespace planproof::mutation
