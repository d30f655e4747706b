#include "sdfg/graph_check.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sdfg/declaration_shapes.h"
#include "sdfg/limit.h"

namespace planproof::sdfg {
namespace {

constexpr size_t kMaxCyclePrinted = 12;
constexpr size_t kMaxLeftOver = 4;

std::string AxesText(const Graph& graph, const std::vector<AxisId>& axes) {
  std::vector<std::string> names;
  for (AxisId axis : axes) names.push_back(graph.axes[axis].name);
  return absl::StrCat("(", absl::StrJoin(names, ", "), ")");
}

absl::Status TensorError(const Tensor& tensor, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor.name, ": ", what));
}

absl::Status OperatorError(const Graph& graph, OperatorId id, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("operator ", graph.Describe(id), ": ", what));
}

bool Exists(const Graph& graph, TensorId tensor) {
  return tensor >= 0 && tensor < static_cast<TensorId>(graph.tensors.size());
}

// The shape of a tensor with these axes whose instances have shape `local`.
Shape WithCoordinates(const Graph& graph, const std::vector<AxisId>& axes, const Shape& local) {
  Shape result;
  for (AxisId axis : axes) result.push_back(graph.axes[axis].extent);
  result.insert(result.end(), local.begin(), local.end());
  return result;
}

bool ReadsAsInteger(const IndexFunction& function, int input) {
  for (const Node& node : function.nodes) {
    if (node.op == Op::kIntElement && node.input == input) return true;
  }
  return false;
}

// Where an operator was forgotten, what it should have read is left over: values of the same name
// (up to '#', which readers put before numbers of their own) that nothing reads.
std::string LeftOver(const Graph& graph, const std::vector<OperatorId>& producer,
                     TensorId missing) {
  auto base = [&](TensorId id) {
    const std::string& name = graph.tensors[id].name;
    return name.substr(0, name.find('#'));
  };
  std::vector<char> read(graph.tensors.size(), 0);
  for (const Operator& op : graph.operators) {
    for (TensorId input : op.inputs) {
      if (Exists(graph, input)) read[input] = 1;
    }
  }
  std::vector<std::string> found;
  for (TensorId id = 0; id < static_cast<TensorId>(graph.tensors.size()); ++id) {
    if (id == missing || read[id] || producer[id] == kNone || base(id) != base(missing)) continue;
    if (found.size() == kMaxLeftOver) {
      found.push_back("others");
      break;
    }
    found.push_back(absl::StrCat(graph.tensors[id].name, " of ", graph.Describe(producer[id])));
  }
  if (found.empty()) return "";
  return absl::StrCat("; left over, read by nothing: ", absl::StrJoin(found, ", "));
}

}  // namespace

absl::Status CheckTensors(const Graph& graph) {
  for (const Axis& axis : graph.axes) {
    if (axis.extent < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", axis.name, " has extent ", axis.extent));
    }
  }
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.shape.size() < tensor.axes.size()) {
      return TensorError(tensor, "has more axes than dimensions");
    }
    for (size_t i = 0; i < tensor.axes.size(); ++i) {
      const AxisId axis = tensor.axes[i];
      if (axis < 0 || axis >= static_cast<AxisId>(graph.axes.size())) {
        return TensorError(tensor, absl::StrCat("unknown axis ", axis));
      }
      if (i > 0 && axis <= tensor.axes[i - 1]) return TensorError(tensor, "axes do not ascend");
      if (tensor.shape[i] != graph.axes[axis].extent) {
        return TensorError(
            tensor, absl::StrCat("extent ", tensor.shape[i], " along axis ", graph.axes[axis].name,
                                 " of ", graph.axes[axis].extent));
      }
    }
    for (int64_t extent : tensor.shape) {
      if (extent < 0) return TensorError(tensor, absl::StrCat("extent ", extent));
      if (extent > kMaxExtent) {
        return BeyondLimit(absl::StrCat("tensor ", tensor.name, ": extent"), extent, "2^60");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSingleAssignment(const Graph& graph) {
  std::vector<OperatorId> producer(graph.tensors.size(), kNone);
  for (OperatorId id = 0; id < static_cast<OperatorId>(graph.operators.size()); ++id) {
    const Operator& op = graph.operators[id];
    for (TensorId output : op.outputs) {
      if (output == kNone) continue;
      if (!Exists(graph, output)) {
        return OperatorError(graph, id,
                             absl::StrCat("writes tensor ", output, ", which does not exist"));
      }
      if (producer[output] != kNone) {
        return TensorError(graph.tensors[output],
                           absl::StrCat("is produced by ", graph.Describe(producer[output]),
                                        " and by ", graph.Describe(id)));
      }
      producer[output] = id;
      if (graph.tensors[output].role != TensorRole::kIntermediate) {
        return TensorError(
            graph.tensors[output],
            absl::StrCat("is an input of the graph, but produced by ", graph.Describe(id)));
      }
    }
  }
  for (OperatorId id = 0; id < static_cast<OperatorId>(graph.operators.size()); ++id) {
    for (TensorId input : graph.operators[id].inputs) {
      if (!Exists(graph, input)) {
        return OperatorError(graph, id,
                             absl::StrCat("reads tensor ", input, ", which does not exist"));
      }
      if (producer[input] == kNone && graph.tensors[input].role == TensorRole::kIntermediate) {
        return OperatorError(
            graph, id,
            absl::StrCat("reads tensor ", graph.tensors[input].name, ", which nothing produces",
                         LeftOver(graph, producer, input)));
      }
    }
  }
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (producer[i] == kNone && graph.tensors[i].role == TensorRole::kIntermediate) {
      return TensorError(graph.tensors[i], "nothing produces it");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOperator(const Graph& graph, OperatorId id) {
  const Operator& op = graph.operators[id];
  if (!op.function) return OperatorError(graph, id, "has no function");
  const IndexFunction& function = *op.function;
  if (op.inputs.size() != function.inputs.size()) {
    return OperatorError(
        graph, id,
        absl::StrCat("has ", op.inputs.size(), " inputs, expected ", function.inputs.size()));
  }
  if (op.outputs.size() != function.outputs.size()) {
    return OperatorError(
        graph, id,
        absl::StrCat("has ", op.outputs.size(), " outputs, expected ", function.outputs.size()));
  }
  const auto check_shape = [&](TensorId tensor, const Shape& expected) {
    const Tensor& t = graph.tensors[tensor];
    if (t.shape == expected) return absl::OkStatus();
    return OperatorError(graph, id,
                         absl::StrCat("tensor ", t.name, " has shape ", ShapeText(t.shape),
                                      ", expected ", ShapeText(expected)));
  };
  std::vector<AxisId> axes;  // of all inputs of a lifted operator
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const Tensor& input = graph.tensors[op.inputs[i]];
    if (IsFloating(input.dtype) && ReadsAsInteger(function, static_cast<int>(i))) {
      return OperatorError(graph, id,
                           absl::StrCat("reads tensor ", input.name, " of type ",
                                        DTypeName(input.dtype), " as integers"));
    }
    const std::vector<AxisId> own = op.lifted ? input.axes : std::vector<AxisId>();
    if (absl::Status status =
            check_shape(op.inputs[i], WithCoordinates(graph, own, function.inputs[i].shape));
        !status.ok()) {
      return status;
    }
    std::vector<AxisId> merged;
    std::set_union(axes.begin(), axes.end(), own.begin(), own.end(), std::back_inserter(merged));
    axes = std::move(merged);
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i] == kNone) continue;
    const Tensor& output = graph.tensors[op.outputs[i]];
    if (op.lifted && output.axes != axes) {
      return OperatorError(
          graph, id,
          absl::StrCat("output ", output.name, " varies over axes ", AxesText(graph, output.axes),
                       ", its inputs over ", AxesText(graph, axes)));
    }
    if (absl::Status status = check_shape(
            op.outputs[i], WithCoordinates(graph, axes, function.outputs[i].shape(function.vars)));
        !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status TopologicalOrder(const Graph& graph, std::vector<OperatorId>* order) {
  const size_t count = graph.operators.size();
  std::vector<OperatorId> producer(graph.tensors.size(), kNone);
  for (size_t id = 0; id < count; ++id) {
    for (TensorId output : graph.operators[id].outputs) {
      if (output != kNone) producer[output] = static_cast<OperatorId>(id);
    }
  }
  std::vector<std::vector<OperatorId>> consumers(count);
  std::vector<int32_t> waiting(count, 0);  // operands not yet produced
  for (size_t id = 0; id < count; ++id) {
    for (TensorId input : graph.operators[id].inputs) {
      if (producer[input] == kNone) continue;
      consumers[producer[input]].push_back(static_cast<OperatorId>(id));
      ++waiting[id];
    }
  }
  // The ready operator that comes first at present goes next, so a sorted graph stays as it is.
  std::priority_queue<OperatorId, std::vector<OperatorId>, std::greater<>> ready;
  for (size_t id = 0; id < count; ++id) {
    if (waiting[id] == 0) ready.push(static_cast<OperatorId>(id));
  }
  order->clear();
  while (!ready.empty()) {
    const OperatorId id = ready.top();
    ready.pop();
    order->push_back(id);
    for (OperatorId consumer : consumers[id]) {
      if (--waiting[consumer] == 0) ready.push(consumer);
    }
  }
  if (order->size() == count) return absl::OkStatus();

  // Every operator left waits for another one that is left: walk back until one repeats.
  OperatorId at = 0;
  while (waiting[at] == 0) ++at;
  std::vector<OperatorId> path;
  std::vector<bool> visited(count, false);
  while (!visited[at]) {
    visited[at] = true;
    path.push_back(at);
    for (TensorId input : graph.operators[at].inputs) {
      if (producer[input] != kNone && waiting[producer[input]] > 0) {
        at = producer[input];
        break;
      }
    }
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  std::reverse(path.begin() + 1, path.end());
  std::string text;
  for (size_t i = 0; i < path.size() && i < kMaxCyclePrinted; ++i) {
    absl::StrAppend(&text, graph.Describe(path[i]), " -> ");
  }
  if (path.size() > kMaxCyclePrinted) absl::StrAppend(&text, "... -> ");
  return absl::InvalidArgumentError(
      absl::StrCat("operators wait for each other: ", text, graph.Describe(path[0])));
}

}  // namespace planproof::sdfg
