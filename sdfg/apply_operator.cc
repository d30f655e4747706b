#include "sdfg/apply_operator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sdfg/status_macros.h"

namespace planproof::sdfg {

absl::StatusOr<TensorId> ApplyOperator(Graph* graph, const OperatorLibrary& library,
                                       const std::string& name, const std::vector<TensorId>& inputs,
                                       const Attributes& attributes, const std::string& output) {
  Tensor result;
  result.name = output;
  std::vector<Operand> operands;
  for (TensorId input : inputs) {
    const Tensor& tensor = graph->tensors[input];
    const auto local = tensor.shape.begin() + static_cast<int64_t>(tensor.axes.size());
    Operand operand;
    operand.shape.assign(local, tensor.shape.end());
    operand.dtype = tensor.dtype;
    operands.push_back(std::move(operand));
    std::vector<AxisId> axes;
    std::set_union(result.axes.begin(), result.axes.end(), tensor.axes.begin(), tensor.axes.end(),
                   std::back_inserter(axes));
    result.axes = std::move(axes);
    result.device = std::max(result.device, tensor.device);
  }
  PLAN_ASSIGN_OR_RETURN(IndexFunction function, library.Instantiate(name, operands, attributes));
  for (AxisId axis : result.axes) result.shape.push_back(graph->axes[axis].extent);
  const Shape local = function.outputs[0].shape(function.vars);
  result.shape.insert(result.shape.end(), local.begin(), local.end());
  result.dtype = function.outputs[0].dtype;
  Operator op;
  op.name = name;
  op.label = output;
  op.inputs = inputs;
  if (result.device >= 0) op.devices = {result.device};
  op.outputs.assign(function.outputs.size(), kNone);
  op.outputs[0] = graph->AddTensor(std::move(result));
  op.function = graph->Intern(std::move(function));
  const TensorId first = op.outputs[0];
  graph->AddOperator(std::move(op));
  return first;
}

}  // namespace planproof::sdfg
