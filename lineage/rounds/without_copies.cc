#include "lineage/rounds/without_copies.h"

#include <numeric>
#include <utility>
#include <vector>

#include "lineage/rounds/recurrence.h"

namespace planproof::lineage::rounds {

using sdfg::Graph;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::Tensor;
using sdfg::TensorId;

namespace {

bool IsOneForm(const Tensor& a, const Tensor& b) {
  return a.shape == b.shape && a.axes == b.axes && a.dtype == b.dtype && a.device == b.device;
}

// Of which operand each output is a copy; nothing if one is none.
std::vector<TensorId> CopiedBy(const Graph& graph, const Operator& op) {
  std::vector<TensorId> of;
  if (!op.lifted || op.kind != sdfg::OperatorKind::kCompute) return {};
  for (size_t k = 0; k < op.outputs.size(); ++k) {
    of.push_back(kNone);
    if (op.outputs[k] == kNone) continue;
    const int input = CopiedInput(*op.function, k);
    if (input < 0 || op.inputs[input] == kNone ||
        !IsOneForm(graph.tensors[op.inputs[input]], graph.tensors[op.outputs[k]])) {
      return {};
    }
    of.back() = op.inputs[input];
  }
  return of;
}

// Takes these tensors of the plan, and the operators that make them, out.
void Drop(const std::vector<bool>& gone, Problem* problem) {
  Graph& graph = problem->parallel;
  std::vector<Tensor> tensors = std::move(graph.tensors);
  std::vector<Operator> operators = std::move(graph.operators);
  std::vector<Lineage> lineage = std::move(problem->lineage);
  graph.tensors.clear();
  graph.operators.clear();
  problem->lineage.clear();
  std::vector<TensorId> number(tensors.size(), kNone);
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (gone[t]) continue;
    tensors[t].producer = kNone;
    number[t] = graph.AddTensor(std::move(tensors[t]));
    problem->lineage.push_back(std::move(lineage[t]));
  }
  for (Operator& op : operators) {
    bool keep = true;
    for (TensorId& t : op.outputs) {
      if (t == kNone) continue;
      keep &= !gone[t];
      t = number[t];
    }
    for (TensorId& t : op.inputs) t = t == kNone ? kNone : number[t];
    if (keep) graph.AddOperator(std::move(op));
  }
  for (RequiredRelation& required : problem->required) {
    required.parallel = number[required.parallel];
  }
  problem->schedule = {};
}

}  // namespace

Problem WithoutCopies(const Problem& problem) {
  Problem out = problem;
  Graph& graph = out.parallel;
  std::vector<TensorId> source(graph.tensors.size());
  std::iota(source.begin(), source.end(), 0);
  std::vector<bool> copies(graph.operators.size(), false);
  for (size_t id = 0; id < graph.operators.size(); ++id) {
    Operator& op = graph.operators[id];
    for (TensorId& t : op.inputs) {
      if (t != kNone) t = source[t];
    }
    const std::vector<TensorId> of = CopiedBy(graph, op);
    for (size_t k = 0; k < of.size(); ++k) {
      if (of[k] == kNone) continue;
      copies[id] = true;
      source[op.outputs[k]] = of[k];
    }
  }
  std::vector<bool> gone(graph.tensors.size(), false);
  for (size_t id = 0; id < graph.operators.size(); ++id) {
    if (!copies[id]) continue;
    bool needed = false;
    for (const RequiredRelation& required : out.required) {
      for (const TensorId t : graph.operators[id].outputs) needed |= t == required.parallel;
    }
    if (needed) continue;
    for (const TensorId t : graph.operators[id].outputs) {
      if (t != kNone) gone[t] = true;
    }
  }
  Drop(gone, &out);
  return out;
}

}  // namespace planproof::lineage::rounds
