#include "stages/cone.h"

#include <set>

#include "absl/strings/str_cat.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::TensorId;

Cone ConeOfRequired(const lineage::Problem& problem) {
  const sdfg::Graph& g = problem.parallel;
  Cone cone;
  cone.tensors.assign(g.tensors.size(), false);
  cone.operators.assign(g.operators.size(), false);
  std::vector<TensorId> work;
  for (const auto& r : problem.required) work.push_back(r.parallel);
  while (!work.empty()) {
    TensorId t = work.back();
    work.pop_back();
    if (cone.tensors[t]) continue;
    cone.tensors[t] = true;
    const sdfg::OperatorId op = g.tensors[t].producer;
    if (op == kNone || cone.operators[op]) continue;
    cone.operators[op] = true;
    for (TensorId input : g.operators[op].inputs) work.push_back(input);
  }
  return cone;
}

OperatorCounts CountOperators(const lineage::Problem& problem, const Cone& cone) {
  OperatorCounts counts;
  for (const sdfg::Operator& op : problem.logical.operators) {
    counts.logical += problem.logical.InstanceCount(op);
  }
  const sdfg::Graph& g = problem.parallel;
  for (size_t i = 0; i < g.operators.size(); ++i) {
    const int64_t n = g.InstanceCount(g.operators[i]);
    counts.parallel += n;
    if (cone.operators[i]) {
      counts.in_cone += n;
    } else {
      counts.without_effect.push_back(
          absl::StrCat(g.Describe(static_cast<int>(i)), " (", n, " instances)"));
    }
  }
  return counts;
}

std::vector<std::string> OperatorsBetween(const lineage::Problem& problem, const Cone& whole,
                                          const Cone& part) {
  std::vector<std::string> between;
  const sdfg::Graph& graph = problem.parallel;
  for (size_t o = 0; o < graph.operators.size(); ++o) {
    if (!whole.operators[o] || part.operators[o]) continue;
    const int64_t instances = graph.InstanceCount(graph.operators[o]);
    between.push_back(absl::StrCat(graph.Describe(static_cast<sdfg::OperatorId>(o)), " (",
                                   instances, instances == 1 ? " instance)" : " instances)"));
  }
  return between;
}

void AddAssumptions(const lineage::Problem& problem, const Cone& cone,
                    std::vector<std::string>* assumptions) {
  std::set<std::string> texts;
  for (const sdfg::Operator& op : problem.logical.operators)
    texts.insert(op.function->assumptions.begin(), op.function->assumptions.end());
  for (size_t i = 0; i < problem.parallel.operators.size(); ++i) {
    const auto& own = problem.parallel.operators[i].function->assumptions;
    if (cone.operators[i]) texts.insert(own.begin(), own.end());
  }
  for (const std::string& text : *assumptions) texts.erase(text);
  assumptions->insert(assumptions->end(), texts.begin(), texts.end());
}

}  // namespace planproof::stages
