#include "report/ranks.h"

#include <algorithm>

namespace planproof::report {

RankSet RankSetOf(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  RankSet set;
  for (const int rank : ranks) {
    if (!set.empty() && rank <= set.back().second) continue;
    if (!set.empty() && rank == set.back().second + 1) {
      set.back().second = rank;
    } else {
      set.emplace_back(rank, rank);
    }
  }
  return set;
}

std::string ToText(const RankSet& ranks) {
  std::string text;
  for (const auto& [first, last] : ranks) {
    if (!text.empty()) text += ", ";
    text += std::to_string(first);
    if (last > first) text += (last == first + 1 ? ", " : "-") + std::to_string(last);
  }
  return text;
}

std::string Named(const RankSet& ranks) {
  if (ranks.empty()) return "";
  return (CountOf(ranks) == 1 ? "rank " : "ranks ") + ToText(ranks);
}

int64_t CountOf(const RankSet& ranks) {
  int64_t count = 0;
  for (const auto& [first, last] : ranks) count += int64_t{last} - first + 1;
  return count;
}

RankSet Common(const RankSet& a, const RankSet& b) {
  RankSet both;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int first = std::max(a[i].first, b[j].first), last = std::min(a[i].second, b[j].second);
    if (first <= last) both.emplace_back(first, last);
    a[i].second < b[j].second ? ++i : ++j;
  }
  return both;
}

bool Overlap(const RankSet& a, const RankSet& b) { return !Common(a, b).empty(); }

RankSet Union(const RankSet& a, const RankSet& b) {
  RankSet all = a, merged;
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end());
  for (const auto& range : all) {
    if (!merged.empty() && range.first <= merged.back().second + 1) {
      merged.back().second = std::max(merged.back().second, range.second);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

RankSet Without(const RankSet& all, const RankSet& some) {
  RankSet rest;
  for (auto [first, last] : all) {
    for (const auto& [from, to] : some) {
      if (to < first || from > last) continue;
      if (from > first) rest.emplace_back(first, from - 1);
      first = to + 1;
      if (first > last) break;
    }
    if (first <= last) rest.emplace_back(first, last);
  }
  return rest;
}

const RankSet& RanksOfGraph::OfTensor(sdfg::TensorId tensor) {
  const sdfg::Tensor& t = graph_.tensors[tensor];
  return Of(t.device >= 0 ? std::vector<sdfg::Device>{t.device} : std::vector<sdfg::Device>{},
            t.axes);
}

const RankSet& RanksOfGraph::OfOperator(sdfg::OperatorId id) {
  const sdfg::Operator& op = graph_.operators[id];
  std::vector<sdfg::Device> first(op.devices.begin(), op.devices.end());
  std::vector<sdfg::AxisId> axes;
  for (const sdfg::TensorId output : op.outputs) {
    if (output == sdfg::kNone) continue;
    const sdfg::Tensor& t = graph_.tensors[output];
    if (t.device >= 0) first.push_back(t.device);
    axes.insert(axes.end(), t.axes.begin(), t.axes.end());
  }
  std::sort(first.begin(), first.end());
  first.erase(std::unique(first.begin(), first.end()), first.end());
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return Of(first, axes);
}

const RankSet& RanksOfGraph::Of(const std::vector<sdfg::Device>& first,
                                const std::vector<sdfg::AxisId>& axes) {
  const auto [at, added] = known_.try_emplace({first, axes});
  if (!added) return at->second;
  constexpr size_t kMostRanks = 1 << 20;
  std::vector<int> ranks(first.begin(), first.end());
  for (const sdfg::AxisId axis : axes) {
    const int64_t stride = graph_.axis_device_stride[axis], extent = graph_.axes[axis].extent;
    if (stride == 0 || ranks.size() * extent > kMostRanks) continue;
    const size_t before = ranks.size();
    for (int64_t c = 1; c < extent; ++c) {
      for (size_t i = 0; i < before; ++i) ranks.push_back(ranks[i] + static_cast<int>(c * stride));
    }
  }
  return at->second = RankSetOf(std::move(ranks));
}

}  // namespace planproof::report
