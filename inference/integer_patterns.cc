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

// By tensor.
struct Integers {
  std::vector<bool> whole;  // made of nothing but integers and constants
  std::vector<bool> data;   // integers of the data go into it
};

// `constants`: also what operators without operands make of other numbers.
Integers FindIntegers(const sdfg::Graph& graph, bool constants) {
  Integers found{std::vector<bool>(graph.tensors.size(), false),
                 std::vector<bool>(graph.tensors.size(), false)};
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].producer != kNone) continue;
    found.whole[t] = found.data[t] = sdfg::IsInteger(graph.tensors[t].dtype);
  }
  for (const sdfg::Operator& op : graph.operators) {
    const auto& nodes = op.function->nodes;
    const bool plain =
        std::all_of(nodes.begin(), nodes.end(), [](const auto& n) { return IsOfIntegers(n.op); });
    const bool whole = (plain || (constants && op.inputs.empty())) &&
                       std::all_of(op.inputs.begin(), op.inputs.end(),
                                   [&](TensorId t) { return t == kNone || found.whole[t]; });
    const bool data = std::any_of(op.inputs.begin(), op.inputs.end(),
                                  [&](TensorId t) { return t != kNone && found.data[t]; });
    for (const TensorId t : op.outputs) {
      if (t == kNone) continue;
      found.whole[t] = whole;
      found.data[t] = data;
    }
  }
  return found;
}

}  // namespace

std::vector<bool> IntegerPatterns(const sdfg::Graph& graph) {
  const Integers found = FindIntegers(graph, /*constants=*/false);
  std::vector<bool> patterns(graph.tensors.size(), false);
  for (size_t t = 0; t < patterns.size(); ++t) {
    patterns[t] = found.whole[t] && found.data[t] && graph.tensors[t].producer != kNone;
  }
  return patterns;
}

std::vector<bool> MadeOfIntegers(const sdfg::Graph& graph) {
  return FindIntegers(graph, /*constants=*/true).whole;
}

}  // namespace planproof::inference
