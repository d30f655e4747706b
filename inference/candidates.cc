#include "inference/candidates.h"

#include <algorithm>
#include <deque>

namespace planproof::inference {

using sdfg::kNone;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxCandidates = 48;
constexpr int kMaxVisited = 4000;
constexpr int kMaxDepth = 100;

}  // namespace

Candidates::Candidates(const sdfg::Graph& logical, Operands* operands)
    : graph_(logical), operands_(*operands), computed_from_(logical.tensors.size()) {
  for (const sdfg::Operator& op : logical.operators) {
    if (op.kind == sdfg::OperatorKind::kMultiple) continue;
    for (const TensorId out : op.outputs) {
      if (out == kNone) continue;
      for (const TensorId operand : operands_.Of(logical, out)) {
        auto& of = computed_from_[operand];
        if (of.empty() || of.back() != out) of.push_back(out);
      }
    }
  }
}

bool Candidates::IsDetermined(TensorId t, int depth) {
  if (const auto known = determined_.find(t); known != determined_.end()) return known->second;
  const sdfg::Tensor& tensor = graph_.tensors[t];
  if (tensor.producer == kNone) {
    return determined_[t] =
               tensor.role == sdfg::TensorRole::kOne || tensor.role == sdfg::TensorRole::kZero;
  }
  if (depth > kMaxDepth || ++visited_ > kMaxVisited) return false;
  bool all = true;
  for (const TensorId operand : operands_.Of(graph_, t)) {
    if (IsDetermined(operand, depth + 1)) continue;
    all = false;
    break;
  }
  return determined_[t] = all;
}

std::vector<TensorId> Candidates::DeterminedBy(const std::vector<TensorId>& values) {
  std::vector<TensorId> found;
  if (values.empty()) return found;
  determined_.clear();
  visited_ = 0;
  for (const TensorId t : values) determined_[t] = true;
  // Whatever depends on all of them depends on the one that is read least.
  const TensorId start =
      *std::min_element(values.begin(), values.end(), [this](TensorId a, TensorId b) {
        return computed_from_[a].size() < computed_from_[b].size();
      });
  std::deque<TensorId> work = {start};
  std::unordered_map<TensorId, bool> seen = {{start, true}};
  while (!work.empty() && found.size() < kMaxCandidates && visited_ < kMaxVisited) {
    const TensorId t = work.front();
    work.pop_front();
    for (const TensorId out : computed_from_[t]) {
      if (!seen.emplace(out, true).second || !IsDetermined(out, 0)) continue;
      found.push_back(out);
      work.push_back(out);
    }
  }
  return found;
}

bool Candidates::NeedsAll(TensorId tensor, const std::vector<TensorId>& values) {
  std::unordered_map<TensorId, bool> seen = {{tensor, true}};
  std::vector<TensorId> work = {tensor};
  size_t met = 0;
  while (!work.empty()) {
    const TensorId t = work.back();
    work.pop_back();
    if (t != tensor && std::find(values.begin(), values.end(), t) != values.end()) {
      ++met;
      continue;
    }
    if (graph_.tensors[t].producer == kNone) continue;
    for (const TensorId operand : operands_.Of(graph_, t)) {
      if (seen.emplace(operand, true).second) work.push_back(operand);
    }
  }
  return met == values.size();
}

}  // namespace planproof::inference
