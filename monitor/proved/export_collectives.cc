#include "monitor/proved/export_collectives.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "monitor/proved/export_layout.h"

namespace planproof::monitor {
namespace {

// kOther of what is no collective.
CollectiveKind CollectiveKindOf(sdfg::OperatorKind kind) {
  switch (kind) {
    case sdfg::OperatorKind::kAllReduce:
      return CollectiveKind::kAllReduce;
    case sdfg::OperatorKind::kAllGather:
      return CollectiveKind::kAllGather;
    case sdfg::OperatorKind::kReduceScatter:
      return CollectiveKind::kReduceScatter;
    case sdfg::OperatorKind::kAllToAll:
      return CollectiveKind::kAllToAll;
    case sdfg::OperatorKind::kBroadcast:
      return CollectiveKind::kBroadcast;
    case sdfg::OperatorKind::kReduce:
      return CollectiveKind::kReduce;
    default:
      return CollectiveKind::kOther;
  }
}

// Whether the results are computed from it, by operator.
std::vector<bool> WhatResultsDependOn(const sdfg::Graph& graph,
                                      const std::vector<sdfg::TensorId>& results) {
  std::vector<bool> needed(graph.operators.size(), false);
  const auto need = [&](sdfg::TensorId tensor) {
    if (tensor == sdfg::kNone) return;
    const sdfg::OperatorId producer = graph.tensors[tensor].producer;
    if (producer != sdfg::kNone) needed[producer] = true;
  };
  for (const sdfg::TensorId result : results) need(result);
  // In topological order.
  for (size_t k = graph.operators.size(); k-- > 0;) {
    if (!needed[k]) continue;
    for (const sdfg::TensorId input : graph.operators[k].inputs) need(input);
  }
  return needed;
}

struct CollectiveOfRanks {
  CollectiveMonitor monitor;
  std::map<int32_t, int64_t> counts;  // by rank
};

}  // namespace

std::optional<std::vector<int32_t>> AxesOfGroup(const std::vector<ProvedAxis>& axes,
                                                const std::vector<int32_t>& ranks) {
  if (ranks.size() < 2) return std::nullopt;
  std::set<int32_t> differ;
  const std::vector<int64_t> first = CoordinatesOf(axes, ranks[0]);
  for (const int32_t rank : ranks) {
    const std::vector<int64_t> own = CoordinatesOf(axes, rank);
    for (size_t a = 0; a < axes.size(); ++a) {
      if (own[a] != first[a]) differ.insert(static_cast<int32_t>(a));
    }
  }
  int64_t line = 1;
  for (const int32_t axis : differ) line *= axes[axis].extent;
  const std::set<int32_t> distinct(ranks.begin(), ranks.end());
  if (line != static_cast<int64_t>(distinct.size())) return std::nullopt;
  return std::vector<int32_t>(differ.begin(), differ.end());
}

std::vector<CollectiveMonitor> CollectivesOf(const lineage::Problem& problem,
                                             const std::vector<ProvedAxis>& axes, int32_t world,
                                             const std::vector<sdfg::TensorId>& results) {
  const sdfg::Graph& graph = problem.parallel;
  const std::vector<bool> needed = WhatResultsDependOn(graph, results);
  using Key = std::tuple<CollectiveKind, std::vector<int32_t>, sdfg::DType>;
  std::map<Key, size_t> numbers;
  std::vector<CollectiveOfRanks> found;
  for (size_t k = 0; k < graph.operators.size(); ++k) {
    const sdfg::Operator& op = graph.operators[k];
    const CollectiveKind kind = CollectiveKindOf(op.kind);
    if (!needed[k] || kind == CollectiveKind::kOther || op.devices.size() != 1) continue;
    const auto along = AxesOfGroup(axes, {op.group.begin(), op.group.end()});
    if (!along || op.inputs.empty()) continue;
    const sdfg::DType dtype = graph.tensors[op.inputs[0]].dtype;
    const auto [at, is_new] = numbers.emplace(Key(kind, *along, dtype), found.size());
    if (is_new) {
      const std::string place =
          op.source.line > 0 ? absl::StrCat(op.source.file, ":", op.source.line) : op.source.file;
      CollectiveMonitor& own = found.emplace_back().monitor;
      own.kind = kind;
      own.axes = *along;
      own.dtype = dtype;
      own.place = place;
    }
    ++found[at->second].counts[op.devices[0]];
  }
  std::vector<CollectiveMonitor> collectives;
  for (CollectiveOfRanks& each : found) {
    const bool everywhere = static_cast<int32_t>(each.counts.size()) == world;
    for (const auto& [rank, count] : each.counts) {
      each.monitor.count = std::max(each.monitor.count, count);
      if (!everywhere) each.monitor.ranks.push_back(rank);
    }
    collectives.push_back(std::move(each.monitor));
  }
  return collectives;
}

}  // namespace planproof::monitor
