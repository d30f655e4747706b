#include "inference/operands.h"

#include <algorithm>

namespace planproof::inference {

using sdfg::ExprId;
using sdfg::TensorId;

const std::vector<int32_t>& Operands::UsedBy(const sdfg::IndexFunction& function, int output) {
  const auto [known, inserted] = used_.try_emplace({&function, output});
  std::vector<int32_t>& used = known->second;
  if (!inserted) return used;
  const ExprId root = function.outputs[output].body;
  std::vector<bool> part(root + 1, false);
  part[root] = true;
  for (ExprId id = root; id >= 0; --id) {
    if (!part[id]) continue;
    for (const ExprId arg : function.nodes[id].args) part[arg] = true;
    if (function.nodes[id].input >= 0) used.push_back(function.nodes[id].input);
  }
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

std::vector<TensorId> Operands::Of(const sdfg::Graph& graph, TensorId tensor) {
  const sdfg::Tensor& t = graph.tensors[tensor];
  const sdfg::Operator& op = graph.operators[t.producer];
  std::vector<TensorId> operands;
  for (const int32_t input : UsedBy(*op.function, t.producer_output)) {
    if (op.inputs[input] != sdfg::kNone) operands.push_back(op.inputs[input]);
  }
  return operands;
}

}  // namespace planproof::inference
