#include "diagnosis/operands.h"

#include <algorithm>

#include "sdfg/dense_evaluator.h"
#include "sdfg/operator_library.h"
#include "stages/schedule/in_place.h"

namespace planproof::diagnosis {

using sdfg::Graph;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::TensorId;

std::vector<std::vector<TensorId>> OperandsByOutput(const Graph& graph, const Operator& op) {
  const auto reads = stages::ReadsOf(graph, op);
  std::vector<std::vector<TensorId>> operands(reads.size());
  for (size_t o = 0; o < reads.size(); ++o) {
    for (size_t i = 0; i < reads[o].size(); ++i) {
      if (reads[o][i].any && op.inputs[i] != kNone) operands[o].push_back(op.inputs[i]);
    }
  }
  return operands;
}

namespace {

// The result has fewer elements than the operand from which it takes them.
bool IsPart(const Graph& graph, TensorId result, TensorId operand) {
  return sdfg::ElementCount(graph.tensors[result].shape) <
         sdfg::ElementCount(graph.tensors[operand].shape);
}

}  // namespace

std::vector<bool> WithOperands(const Graph& graph, std::vector<bool> right) {
  for (auto op = graph.operators.rbegin(); op != graph.operators.rend(); ++op) {
    const auto is_right = [&](TensorId t) { return t != kNone && right[t]; };
    if (std::none_of(op->outputs.begin(), op->outputs.end(), is_right)) continue;
    const auto operands = OperandsByOutput(graph, *op);
    for (size_t o = 0; o < op->outputs.size(); ++o) {
      if (!is_right(op->outputs[o])) continue;
      const bool moves = sdfg::OperatorLibrary::IsDataMovement(*op->function);
      for (const TensorId t : operands[o]) {
        if (!moves || !IsPart(graph, op->outputs[o], t)) right[t] = true;
      }
    }
  }
  return right;
}

std::vector<bool> NotRightBehind(const Graph& graph, sdfg::OperatorId from,
                                 const std::vector<bool>& right) {
  std::vector<bool> behind(graph.tensors.size(), false);
  std::vector<TensorId> work = graph.operators[from].outputs;
  while (!work.empty()) {
    const TensorId t = work.back();
    work.pop_back();
    if (t == kNone || right[t] || behind[t]) continue;
    behind[t] = true;
    const sdfg::OperatorId producer = graph.tensors[t].producer;
    if (producer == kNone) continue;
    const auto& inputs = graph.operators[producer].inputs;
    work.insert(work.end(), inputs.begin(), inputs.end());
  }
  return behind;
}

std::vector<TensorId> UnreadTensors(const lineage::Problem& problem) {
  const sdfg::Graph& graph = problem.parallel;
  std::vector<char> read(graph.tensors.size(), 0);
  for (const sdfg::Operator& op : graph.operators) {
    for (TensorId input : op.inputs) read[input] = 1;
  }
  for (const auto& required : problem.required) read[required.parallel] = 1;
  std::vector<TensorId> unread;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!read[t] && graph.tensors[t].producer != kNone) unread.push_back(static_cast<TensorId>(t));
  }
  return unread;
}

}  // namespace planproof::diagnosis
