#include "inference/integer_patterns.h"

#include <algorithm>

#include "sdfg/element_type.h"

namespace planproof::inference {

using sdfg::kNone;
using sdfg::Op;
using sdfg::TensorId;

namespace {

bool IsOfIntegers(Op op) {
  switch (op) {
    case Op::kNegInf:
    case Op::kPow:
    case Op::kExp:
    case Op::kLog:
    case Op::kErf:
    case Op::kSin:
    case Op::kCos:
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kOpaque:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::vector<bool> IntegerPatterns(const sdfg::Graph& graph) {
  // Made of nothing but integers and constants; and integers of the data are among them.
  std::vector<bool> whole(graph.tensors.size(), false), data(graph.tensors.size(), false);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].producer != kNone) continue;
    whole[t] = data[t] = sdfg::IsInteger(graph.tensors[t].dtype);
  }
  std::vector<bool> patterns(graph.tensors.size(), false);
  for (const sdfg::Operator& op : graph.operators) {
    const auto& nodes = op.function->nodes;
    const bool made_of_whole =
        std::all_of(nodes.begin(), nodes.end(), [](const auto& n) { return IsOfIntegers(n.op); }) &&
        std::all_of(op.inputs.begin(), op.inputs.end(),
                    [&](TensorId t) { return t == kNone || whole[t]; });
    const bool from_data = std::any_of(op.inputs.begin(), op.inputs.end(),
                                       [&](TensorId t) { return t != kNone && data[t]; });
    for (const TensorId t : op.outputs) {
      if (t == kNone) continue;
      whole[t] = made_of_whole;
      data[t] = from_data;
      patterns[t] = made_of_whole && from_data;
    }
  }
  return patterns;
}

}  // namespace planproof::inference
