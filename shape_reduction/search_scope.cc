#include "shape_reduction/search_scope.h"

#include <algorithm>
#include <numeric>

namespace planproof::shape_reduction {

using sdfg::TensorId;

namespace {

// By parallel tensor: it is a suspect, or computed from one.
std::vector<char> AffectedBy(const sdfg::Graph& graph, const std::vector<TensorId>& suspects) {
  std::vector<char> affected(graph.tensors.size(), 0);
  for (TensorId id : suspects) affected[id] = 1;
  for (const sdfg::Operator& op : graph.operators) {
    const bool reads = std::any_of(op.inputs.begin(), op.inputs.end(),
                                   [&](TensorId id) { return affected[id] != 0; });
    if (!reads) continue;
    for (TensorId id : op.outputs) {
      if (id != sdfg::kNone) affected[id] = 1;
    }
  }
  return affected;
}

}  // namespace

std::vector<char> IndependentOf(const lineage::Problem& problem,
                                const std::vector<TensorId>& suspects) {
  std::vector<char> independent = AffectedBy(problem.parallel, suspects);
  for (size_t id = 0; id < independent.size(); ++id) {
    independent[id] = !independent[id] && id < problem.lineage.size() &&
                      problem.lineage[id].kind == lineage::LineageKind::kFull;
  }
  return independent;
}

SearchScope ScopeOfSuspects(const lineage::Problem& problem,
                            const std::vector<TensorId>& suspects) {
  SearchScope scope;
  const sdfg::Graph& graph = problem.parallel;
  std::vector<char> affected = AffectedBy(graph, suspects);
  if (suspects.empty()) affected.assign(graph.tensors.size(), 1);
  for (size_t r = 0; r < problem.required.size(); ++r) {
    if (affected[problem.required[r].parallel]) scope.required.push_back(static_cast<int>(r));
  }
  if (scope.required.empty()) {  // the doubt is about a required relation itself
    scope.required.resize(problem.required.size());
    std::iota(scope.required.begin(), scope.required.end(), 0);
    std::fill(affected.begin(), affected.end(), 1);
  }
  scope.trusted.assign(graph.tensors.size(), 0);
  for (size_t id = 0; id < graph.tensors.size() && id < problem.lineage.size(); ++id) {
    scope.trusted[id] = !affected[id] && problem.lineage[id].kind == lineage::LineageKind::kFull;
  }
  for (int r : scope.required) {
    scope.logical_cone.push_back(problem.required[r].lineage.logical);
    scope.parallel_cone.push_back(problem.required[r].parallel);
  }
  // The trusted tensors at which the evaluation of the parallel graph starts.
  std::vector<char> needed(graph.tensors.size(), 0);
  for (TensorId id : scope.parallel_cone) needed[id] = 1;
  for (size_t o = graph.operators.size(); o-- > 0;) {
    const sdfg::Operator& op = graph.operators[o];
    const bool used = std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
      return id != sdfg::kNone && needed[id] && !scope.trusted[id];
    });
    if (!used) continue;
    for (TensorId id : op.inputs) needed[id] = 1;
  }
  for (size_t id = 0; id < graph.tensors.size(); ++id) {
    scope.trusted[id] = scope.trusted[id] && needed[id];
    if (scope.trusted[id]) scope.logical_cone.push_back(problem.lineage[id].logical);
  }
  return scope;
}

}  // namespace planproof::shape_reduction
