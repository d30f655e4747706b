#include "inference/candidates.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <tuple>
#include <utility>

#include "inference/copies.h"

namespace planproof::inference {

using sdfg::kNone;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxCandidates = 48;
constexpr int kMaxVisited = 4000;
constexpr int kMaxDepth = 100;
constexpr size_t kMaxOpened = 5;

// Of a part of several tensors that were joined: the one in which it lies; kNone of others.
TensorId PieceOf(const sdfg::Graph& graph, const std::vector<TensorId>& first, Operands* operands,
                 TensorId tensor) {
  if (graph.tensors[tensor].producer == kNone || first[tensor] == tensor) return kNone;
  const std::vector<TensorId> of = operands->Of(graph, tensor);
  // Of a plain part, tensor and operand are copies of the same.
  return of.size() == 1 && first[of[0]] != first[tensor] ? first[tensor] : kNone;
}

}  // namespace

bool JoinsAny(const sdfg::Graph& graph) {
  const std::vector<TensorId> first = FirstOfCopies(graph);
  Operands operands;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const auto id = static_cast<TensorId>(t);
    if (PieceOf(graph, first, &operands, id) != kNone) return true;
  }
  return false;
}

Candidates::Candidates(const sdfg::Graph& logical, Buckets buckets, Opening opening,
                       std::vector<bool> constant, Operands* operands)
    : graph_(logical),
      opening_(opening),
      operands_(*operands),
      constant_(std::move(constant)),
      computed_from_(logical.tensors.size()) {
  if (buckets == Buckets::kAreTheirPieces) first_ = FirstOfCopies(logical);
  for (const sdfg::Operator& op : logical.operators) {
    if (op.kind == sdfg::OperatorKind::kMultiple) continue;
    for (const TensorId out : op.outputs) {
      if (out == kNone) continue;
      for (const TensorId operand : OperandsOf(out)) {
        auto& of = computed_from_[operand];
        if (of.empty() || of.back() != out) of.push_back(out);
      }
    }
  }
}

std::vector<TensorId> Candidates::OperandsOf(TensorId tensor) {
  const TensorId piece = first_.empty() ? kNone : PieceOf(graph_, first_, &operands_, tensor);
  if (piece != kNone) return {piece};
  return operands_.Of(graph_, tensor);
}

bool Candidates::IsDetermined(TensorId t, int depth) {
  if (const auto known = determined_.find(t); known != determined_.end()) return known->second;
  const sdfg::Tensor& tensor = graph_.tensors[t];
  // Multiples have been added since.
  if (static_cast<size_t>(t) < constant_.size() && constant_[t]) return determined_[t] = true;
  if (tensor.producer == kNone) {
    return determined_[t] =
               tensor.role == sdfg::TensorRole::kOne || tensor.role == sdfg::TensorRole::kZero;
  }
  if (depth > kMaxDepth || ++visited_ > kMaxVisited) return false;
  bool all = true;
  for (const TensorId operand : OperandsOf(t)) {
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
  // Whatever depends on all of them depends on the one that is read least. A weight or a mask may
  // be read once, by a view that all layers and microbatches read; of what is computed, the latest
  // has least behind it.
  const auto readers = [this](TensorId t) {
    return std::make_tuple(graph_.tensors[t].producer == kNone, computed_from_[t].size(), -t);
  };
  const TensorId start =
      *std::min_element(values.begin(), values.end(),
                        [&](TensorId a, TensorId b) { return readers(a) < readers(b); });
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
    for (const TensorId operand : OperandsOf(t)) {
      if (seen.emplace(operand, true).second) work.push_back(operand);
    }
  }
  return met == values.size();
}

std::vector<TensorId> Candidates::ComputedFrom(const std::vector<TensorId>& values) {
  std::vector<TensorId> found = DeterminedBy(values);
  const auto not_all = [&](TensorId t) { return !NeedsAll(t, values); };
  found.erase(std::remove_if(found.begin(), found.end(), not_all), found.end());
  return found;
}

std::vector<std::vector<TensorId>> Candidates::ToOpen(
    const std::vector<TensorId>& values, const std::function<bool(TensorId)>& transparent) {
  std::vector<std::vector<TensorId>> choices;
  for (const bool closed : {false, true}) {
    if (closed && opening_ == Opening::kLeast) continue;
    std::vector<TensorId> opened = ToOpen(values, transparent, closed);
    const bool known = std::find(choices.begin(), choices.end(), opened) != choices.end();
    if (!opened.empty() && !known) choices.push_back(std::move(opened));
  }
  return choices;
}

// `closed`: what comes to light when something is opened is opened, too, where the rest determines
// it. Without that, less is opened.
std::vector<TensorId> Candidates::ToOpen(const std::vector<TensorId>& values,
                                         const std::function<bool(TensorId)>& transparent,
                                         bool closed) {
  std::vector<TensorId> computed;
  for (const TensorId value : values) {
    if (graph_.tensors[value].producer != kNone) computed.push_back(value);
  }
  if (computed.size() > kMaxOpened) return {};
  std::vector<uint32_t> subsets;
  for (uint32_t subset = 0; subset < (uint32_t{1} << computed.size()); ++subset) {
    subsets.push_back(subset);
  }
  std::stable_sort(subsets.begin(), subsets.end(),
                   [](uint32_t a, uint32_t b) { return std::popcount(a) < std::popcount(b); });
  for (const uint32_t subset : subsets) {
    std::vector<TensorId> opened;
    for (size_t k = 0; k < computed.size(); ++k) {
      if ((subset >> k & 1) != 0) opened.push_back(computed[k]);
    }
    std::vector<TensorId> rest = WithOpened(values, opened, transparent);
    for (auto more = Redundant(rest, closed); !more.empty(); more = Redundant(rest, closed)) {
      opened.insert(opened.end(), more.begin(), more.end());
      if (closed) {
        rest = WithOpened(values, opened, transparent);
        continue;
      }
      for (const TensorId r : more) rest.erase(std::find(rest.begin(), rest.end(), r));
      break;
    }
    if (!ComputedFrom(rest).empty()) return opened;
  }
  return {};
}

std::vector<TensorId> Candidates::WithOpened(std::vector<TensorId> values,
                                             const std::vector<TensorId>& opened,
                                             const std::function<bool(TensorId)>& transparent) {
  const auto is_opened = [&](TensorId t) {
    return std::find(opened.begin(), opened.end(), t) != opened.end();
  };
  values.erase(std::remove_if(values.begin(), values.end(), is_opened), values.end());
  std::vector<TensorId> work = opened;
  while (!work.empty()) {
    const TensorId t = work.back();
    work.pop_back();
    for (const TensorId operand : OperandsOf(t)) {
      if (transparent(operand) || is_opened(operand)) {
        work.push_back(operand);
      } else if (std::find(values.begin(), values.end(), operand) == values.end()) {
        values.push_back(operand);
      }
    }
  }
  return values;
}

// Of the values, those that the others determine; or of these, those that depend on what is read
// least.
std::vector<TensorId> Candidates::Redundant(const std::vector<TensorId>& values, bool all) {
  std::vector<TensorId> rest = values, redundant;
  for (const TensorId value : values) {
    if (graph_.tensors[value].producer == kNone || rest.size() == 1) continue;
    std::vector<TensorId> others = rest;
    others.erase(std::find(others.begin(), others.end(), value));
    if (!IsDeterminedBy(value, others, all)) continue;
    redundant.push_back(value);
    rest = std::move(others);
  }
  return redundant;
}

bool Candidates::IsDeterminedBy(TensorId tensor, const std::vector<TensorId>& values, bool all) {
  if (!all) {
    const std::vector<TensorId> determined = DeterminedBy(values);
    return std::find(determined.begin(), determined.end(), tensor) != determined.end();
  }
  determined_.clear();
  visited_ = 0;
  for (const TensorId value : values) determined_[value] = true;
  return IsDetermined(tensor, 0);
}

}  // namespace planproof::inference
