#include "shape_reduction/loss_dependence.h"

#include <algorithm>

namespace planproof::shape_reduction {

std::vector<char> DependOnLoss(const sdfg::Graph& graph) {
  std::vector<char> result(graph.tensors.size(), 0);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    result[t] = graph.tensors[t].role == sdfg::TensorRole::kOne;
  }
  for (const sdfg::Operator& op : graph.operators) {
    const bool depends = std::any_of(op.inputs.begin(), op.inputs.end(),
                                     [&](sdfg::TensorId id) { return result[id] != 0; });
    for (sdfg::TensorId id : op.outputs) {
      if (id != sdfg::kNone && depends) result[id] = 1;
    }
  }
  return result;
}

}  // namespace planproof::shape_reduction
