#include "strategy/proved_relations.h"

#include <unordered_map>

#include "diagnosis/describe.h"
#include "lineage/multiple.h"

namespace planproof::strategy {

using sdfg::TensorId;

namespace {

// Of every tensor: how many of its name come before it.
std::vector<int64_t> Numbers(const sdfg::Graph& graph) {
  std::unordered_map<std::string, int64_t> seen;
  std::vector<int64_t> numbers;
  for (const sdfg::Tensor& tensor : graph.tensors) numbers.push_back(seen[tensor.name]++);
  return numbers;
}

}  // namespace

std::vector<std::pair<std::string, int64_t>> NamesOf(const sdfg::Graph& graph,
                                                     const std::vector<TensorId>& tensors) {
  const std::vector<int64_t> numbers = Numbers(graph);
  std::vector<std::pair<std::string, int64_t>> names;
  for (const TensorId t : tensors) names.emplace_back(graph.tensors[t].name, numbers[t]);
  return names;
}

std::vector<stages::ProvedRelation> ProvedRelations(const lineage::Problem& problem,
                                                    const stages::ClaimTable& table,
                                                    const std::vector<bool>& proved) {
  const std::vector<int64_t> parallel = Numbers(problem.parallel);
  const std::vector<int64_t> logical = Numbers(problem.logical);
  std::vector<stages::ProvedRelation> relations;
  const diagnosis::LineageDescriber describer(problem);
  for (size_t c = 0; c < table.claims().size(); ++c) {
    const stages::Claim& claim = table.claims()[c];
    if (!proved[c] || claim.required >= 0) continue;
    const lineage::Multiple multiple = lineage::AsMultiple(problem.logical, claim.target.logical);
    stages::ProvedRelation relation;
    relation.tensor = problem.parallel.tensors[claim.parallel].name;
    relation.number = parallel[claim.parallel];
    relation.logical = problem.logical.tensors[multiple.of].name;
    relation.logical_number = logical[multiple.of];
    relation.factor = multiple.factor;
    relation.map = claim.target.map;
    relation.inferred = claim.target.provenance == lineage::Provenance::kInferred;
    relation.text = describer.Of(claim.parallel, claim.target);
    relations.push_back(std::move(relation));
  }
  return relations;
}

}  // namespace planproof::strategy
