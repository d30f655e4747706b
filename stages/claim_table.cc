#include "stages/claim_table.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "stages/class_key.h"

namespace planproof::stages {

using lineage::LineageKind;
using sdfg::kNone;
using sdfg::TensorId;

ClaimTable::ClaimTable(const lineage::Problem& problem, const Cone& cone) {
  std::vector<int> of_tensor(problem.parallel.tensors.size(), -1);
  for (const sdfg::Operator& op : problem.parallel.operators) {
    for (TensorId t : op.outputs) {
      if (t == kNone || !cone.tensors[t] || problem.lineage[t].kind != LineageKind::kFull) continue;
      Claim claim;
      claim.parallel = t;
      claim.target = problem.lineage[t];
      of_tensor[t] = static_cast<int>(claims_.size());
      claims_.push_back(std::move(claim));
    }
  }
  for (size_t r = 0; r < problem.required.size(); ++r) {
    const auto& required = problem.required[r];
    const int own = of_tensor[required.parallel];
    if (own >= 0 && claims_[own].target.logical == required.lineage.logical &&
        claims_[own].target.map == required.lineage.map) {
      of_required_.push_back(own);
      if (claims_[own].required < 0) claims_[own].required = static_cast<int64_t>(r);
      continue;
    }
    Claim claim;
    claim.parallel = required.parallel;
    claim.target = required.lineage;
    claim.required = static_cast<int64_t>(r);
    of_required_.push_back(static_cast<int>(claims_.size()));
    claims_.push_back(std::move(claim));
  }
  in_order_.resize(claims_.size());
  std::iota(in_order_.begin(), in_order_.end(), 0);
  std::stable_sort(in_order_.begin(), in_order_.end(), [&](int a, int b) {
    const auto& tensors = problem.parallel.tensors;
    return tensors[claims_[a].parallel].producer < tensors[claims_[b].parallel].producer;
  });
}

std::vector<int> ClaimTable::Failed(const std::vector<ClaimOutcome>& outcomes) const {
  std::vector<int> failed;
  for (const int c : in_order_) {
    if (outcomes[c].status == ClaimStatus::kFailed) failed.push_back(c);
  }
  return failed;
}

std::vector<ClaimClass> ClaimTable::Classes(const std::vector<int>& which,
                                            const Relations& relations, bool use_classes) const {
  std::vector<ClaimClass> classes;
  std::unordered_map<std::string, int> by_key;
  ClassKeys keys(relations.problem(), relations);
  for (int c : which) {
    std::string key = use_classes ? keys.Of(claims_[c]) : std::string();
    if (key.empty()) {
      classes.push_back({{c}});
      continue;
    }
    auto [it, inserted] = by_key.try_emplace(std::move(key), static_cast<int>(classes.size()));
    if (inserted) {
      classes.push_back({{c}});
    } else {
      classes[it->second].members.push_back(c);
    }
  }
  return classes;
}

std::vector<ClaimClass> ClaimTable::AllClasses(const Relations& relations, bool use_classes) const {
  std::vector<int> all(claims_.size());
  std::iota(all.begin(), all.end(), 0);
  return Classes(all, relations, use_classes);
}

std::vector<TensorId> RelatedInputs(const lineage::Problem& problem, const Relations& relations,
                                    const Claim& claim) {
  const sdfg::Graph& g = problem.parallel;
  std::vector<TensorId> related, work;
  std::vector<bool> seen(g.tensors.size(), false);
  const sdfg::OperatorId op = g.tensors[claim.parallel].producer;
  if (op == kNone) return {claim.parallel};
  work = g.operators[op].inputs;
  while (!work.empty()) {
    TensorId t = work.back();
    work.pop_back();
    if (seen[t]) continue;
    seen[t] = true;
    if (relations.Related(t)) {
      related.push_back(t);
    } else if (g.tensors[t].producer != kNone) {
      for (const TensorId input : g.operators[g.tensors[t].producer].inputs) {
        if (!seen[input]) work.push_back(input);
      }
    }
  }
  return related;
}

}  // namespace planproof::stages
