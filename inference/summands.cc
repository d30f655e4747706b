#include "inference/summands.h"

namespace planproof::inference {

using sdfg::kNone;
using sdfg::OperatorKind;
using sdfg::TensorId;

namespace {

// A sum over an axis of the mesh, or over microbatches, that a reader wrote as a function.
bool SumsOverAxis(const sdfg::Graph& g, const sdfg::Operator& op) {
  const sdfg::IndexFunction& f = *op.function;
  if (op.inputs.size() != 1 || op.outputs.size() != 1 || f.outputs.size() != 1) return false;
  if (op.inputs[0] == kNone || op.outputs[0] == kNone) return false;
  return f.nodes[f.outputs[0].body].op == sdfg::Op::kSum &&
         g.tensors[op.inputs[0]].axes.size() > g.tensors[op.outputs[0]].axes.size();
}

bool Reduces(const sdfg::Graph& g, const sdfg::Operator& op) {
  switch (op.kind) {
    case OperatorKind::kAllReduce:
    case OperatorKind::kReduceScatter:
    case OperatorKind::kReduce:
    case OperatorKind::kAccumulate:
      return true;
    case OperatorKind::kCompute:
      return SumsOverAxis(g, op);
    default:
      return false;
  }
}

}  // namespace

std::vector<bool> OnlyAddedUp(const sdfg::Graph& parallel, const stages::Cone& cone) {
  std::vector<bool> added(parallel.tensors.size(), false), otherwise(added);
  for (size_t o = 0; o < parallel.operators.size(); ++o) {
    if (!cone.operators[o]) continue;
    const sdfg::Operator& op = parallel.operators[o];
    std::vector<bool>& readers = Reduces(parallel, op) ? added : otherwise;
    for (const TensorId t : op.inputs) {
      if (t != kNone) readers[t] = true;
    }
  }
  for (size_t t = 0; t < added.size(); ++t) added[t] = added[t] && !otherwise[t];
  return added;
}

}  // namespace planproof::inference
