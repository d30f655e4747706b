// What a search has shown: claims with all that they rest on.
#include <algorithm>
#include <vector>

#include "stages/proof_search.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::TensorId;

// Each operator is looked at once, after those that it reads from: what it reads is shown if it is
// given, related by a claim that is shown, or made of what is shown.
std::vector<bool> ProofSearch::ProvedClaims() const {
  const sdfg::Graph& graph = problem_.parallel;
  std::vector<bool> shown(outcomes_.size());
  std::vector<std::vector<int>> claims_of(graph.operators.size());
  for (int c = 0; c < static_cast<int>(outcomes_.size()); ++c) {
    shown[c] = outcomes_[c].status == ClaimStatus::kProved && !outcomes_[c].unsatisfiable &&
               outcomes_[c].restrictions.empty();
    const sdfg::OperatorId producer = graph.tensors[table_.claims()[c].parallel].producer;
    if (producer != kNone) claims_of[producer].push_back(c);
  }
  std::vector<bool> rests_on_shown(graph.tensors.size());
  for (size_t t = 0; t < graph.tensors.size(); ++t)
    rests_on_shown[t] = graph.tensors[t].producer == kNone;
  for (size_t id = 0; id < graph.operators.size(); ++id) {
    const sdfg::Operator& op = graph.operators[id];
    const bool all = std::all_of(op.inputs.begin(), op.inputs.end(),
                                 [&](TensorId t) { return t == kNone || rests_on_shown[t]; });
    for (const int c : claims_of[id]) shown[c] = shown[c] && all;
    for (const TensorId t : op.outputs) {
      if (t == kNone) continue;
      const int claim = claim_of_tensor_[t];
      rests_on_shown[t] = relations_.Related(t) ? claim >= 0 && shown[claim] : all;
    }
  }
  return shown;
}

bool ProofSearch::BehindRequired(std::vector<int>* claims) const {
  const sdfg::Graph& graph = problem_.parallel;
  std::vector<bool> entered(outcomes_.size(), false), seen(graph.tensors.size(), false);
  std::vector<TensorId> work;
  const auto read_by = [&](sdfg::OperatorId producer) {
    const std::vector<TensorId>& inputs = graph.operators[producer].inputs;
    work.insert(work.end(), inputs.begin(), inputs.end());
  };
  const auto enter = [&](int c) {
    if (entered[c]) return;
    entered[c] = true;
    claims->push_back(c);
    const sdfg::OperatorId producer = graph.tensors[table_.claims()[c].parallel].producer;
    if (producer != kNone) read_by(producer);
  };
  for (size_t r = 0; r < problem_.required.size(); ++r)
    enter(table_.ClaimOfRequired(static_cast<int64_t>(r)));
  while (!work.empty()) {
    const TensorId t = work.back();
    work.pop_back();
    if (t == kNone || seen[t]) continue;
    seen[t] = true;
    const sdfg::OperatorId producer = graph.tensors[t].producer;
    if (producer == kNone) continue;  // an input relation, or memory that nothing has written
    if (!relations_.Related(t)) {
      read_by(producer);
      continue;
    }
    if (claim_of_tensor_[t] < 0) return false;
    enter(claim_of_tensor_[t]);
  }
  return true;
}

bool ProofSearch::RequiredProved() const {
  std::vector<int> claims;
  if (!BehindRequired(&claims)) return false;
  for (int c : claims) {
    if (outcomes_[c].status != ClaimStatus::kProved || outcomes_[c].unsatisfiable) return false;
  }
  for (int c : claims) {
    const TensorId t = table_.claims()[c].parallel;
    if (claim_of_tensor_[t] == c && relations_.Related(t)) relations_.MarkProved(t);
  }
  return true;
}

std::vector<int> ProofSearch::Restricted() const {
  std::vector<int> claims, restricted;
  BehindRequired(&claims);
  std::sort(claims.begin(), claims.end());
  for (int c : claims) {
    if (!outcomes_[c].restrictions.empty()) restricted.push_back(c);
  }
  return restricted;
}

}  // namespace planproof::stages
