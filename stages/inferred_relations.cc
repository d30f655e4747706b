#include "stages/inferred_relations.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "lineage/multiple.h"
#include "stages/problem_check.h"

namespace planproof::stages {

using lineage::Lineage;
using lineage::LineageKind;
using sdfg::kNone;
using sdfg::TensorId;

namespace {

// Multiples for lineage that the problem has or gets, each once.
class AddedMultiples {
 public:
  explicit AddedMultiples(sdfg::Graph* logical) : logical_(*logical) {
    for (const sdfg::Operator& op : logical_.operators) {
      if (op.kind != sdfg::OperatorKind::kMultiple) continue;
      const lineage::Multiple multiple = lineage::AsMultiple(logical_, op.outputs[0]);
      known_.emplace_back(multiple.of, multiple.factor, op.outputs[0]);
    }
  }

  TensorId Of(TensorId tensor, const solver::Rational& factor) {
    if (factor.IsOne()) return tensor;
    for (const auto& [of, number, multiple] : known_) {
      if (of == tensor && number == factor) return multiple;
    }
    const TensorId multiple = lineage::AddMultiple(tensor, factor, &logical_);
    known_.emplace_back(tensor, factor, multiple);
    return multiple;
  }

 private:
  sdfg::Graph& logical_;
  std::vector<std::tuple<TensorId, solver::Rational, TensorId>> known_;
};

bool Exists(const sdfg::Graph& graph, TensorId tensor) {
  return tensor >= 0 && static_cast<size_t>(tensor) < graph.tensors.size();
}

bool ReadsOwnDimensions(const std::vector<sdfg::IndexMap>& map, size_t rank) {
  const auto own = [&](int32_t dim) { return dim >= 0 && static_cast<size_t>(dim) < rank; };
  for (const sdfg::IndexMap& expression : map) {
    for (const sdfg::IndexTerm& term : expression.terms) {
      if (!own(term.dim) || (term.gated() && !own(term.gate.dim))) return false;
    }
  }
  return true;
}

bool Fits(const lineage::Problem& problem, const InferredRelation& relation) {
  if (!Exists(problem.parallel, relation.parallel) || !Exists(problem.logical, relation.logical)) {
    return false;
  }
  const sdfg::Tensor& tensor = problem.parallel.tensors[relation.parallel];
  if (tensor.producer == kNone || relation.factor.IsZero() ||
      !ReadsOwnDimensions(relation.map, tensor.shape.size())) {
    return false;
  }
  if (!relation.factor.IsOne() &&
      !sdfg::IsFloating(problem.logical.tensors[relation.logical].dtype)) {
    return false;
  }
  Lineage lineage;
  lineage.kind = LineageKind::kFull;
  lineage.logical = relation.logical;
  lineage.map = relation.map;
  return CheckLineage(problem, relation.parallel, lineage, tensor.name).ok();
}

}  // namespace

lineage::Problem WithRelations(const lineage::Problem& problem,
                               const std::vector<InferredRelation>& relations) {
  lineage::Problem completed = problem;
  AddedMultiples multiples(&completed.logical);
  for (const InferredRelation& relation : relations) {
    if (!Fits(problem, relation)) continue;
    Lineage& lineage = completed.lineage[relation.parallel];
    if (lineage.kind == LineageKind::kFull) continue;
    lineage = {};
    lineage.kind = LineageKind::kFull;
    lineage.provenance = lineage::Provenance::kInferred;
    lineage.logical = multiples.Of(relation.logical, relation.factor);
    lineage.map = relation.map;
  }
  return completed;
}

std::vector<InferredRelation> RequiredRelations(const lineage::Problem& problem) {
  std::vector<bool> read(problem.parallel.tensors.size(), false);
  for (const sdfg::Operator& op : problem.parallel.operators) {
    for (const TensorId input : op.inputs) {
      if (input != kNone) read[input] = true;
    }
  }
  std::vector<InferredRelation> relations;
  for (const lineage::RequiredRelation& required : problem.required) {
    const TensorId t = required.parallel;
    if (!read[t] || required.lineage.kind != LineageKind::kFull ||
        problem.lineage[t].kind == LineageKind::kFull) {
      continue;
    }
    relations.push_back({t, required.lineage.logical, 1, required.lineage.map});
  }
  return relations;
}

int64_t CountInferred(const lineage::Problem& problem) {
  return std::count_if(problem.lineage.begin(), problem.lineage.end(), [](const Lineage& l) {
    return l.kind == LineageKind::kFull && l.provenance == lineage::Provenance::kInferred;
  });
}

}  // namespace planproof::stages
