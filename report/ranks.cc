#include "report/ranks.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace planproof::report {
namespace {

// Both are ascending.
void Join(const std::vector<sdfg::AxisId>& more, std::vector<sdfg::AxisId>* axes) {
  if (std::includes(axes->begin(), axes->end(), more.begin(), more.end())) return;
  std::vector<sdfg::AxisId> all;
  std::set_union(axes->begin(), axes->end(), more.begin(), more.end(), std::back_inserter(all));
  *axes = std::move(all);
}

}  // namespace

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
  constexpr size_t kFewest = 3;  // that are worth a step
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    // Single ranks at equal distances.
    size_t end = i + 1;
    const auto single = [&](size_t k) { return ranks[k].first == ranks[k].second; };
    const int step = end < ranks.size() ? ranks[end].first - ranks[i].first : 0;
    while (end < ranks.size() && single(i) && single(end) &&
           ranks[end].first - ranks[end - 1].first == step)
      ++end;
    if (!text.empty()) text += ", ";
    const int first = ranks[i].first;
    if (end - i >= kFewest) {
      text += std::to_string(first) + "-" + std::to_string(ranks[end - 1].first) + " by " +
              std::to_string(step);
      i = end;
      continue;
    }
    const int last = ranks[i].second;
    text += std::to_string(first);
    if (last > first) text += (last == first + 1 ? ", " : "-") + std::to_string(last);
    ++i;
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

RanksOfPlan::RanksOfPlan(const lineage::Problem& problem)
    : problem_(problem), graph_(problem.parallel) {
  for (size_t axis = 0; axis < graph_.axes.size(); ++axis) {
    if (graph_.axes[axis].kind == sdfg::AxisKind::kCopy)
      copies_.push_back(static_cast<sdfg::AxisId>(axis));
  }
  const lineage::Schedule& schedule = problem.schedule;
  of_program_.resize(schedule.programs.size());
  for (size_t t = 0; t < graph_.tensors.size() && t < schedule.places.size(); ++t) {
    const int32_t program = schedule.places[t].program;
    if (program != sdfg::kNone) Join(graph_.tensors[t].axes, &of_program_[program]);
  }
}

const RankSet& RanksOfPlan::OfTensor(sdfg::TensorId tensor) {
  const sdfg::Tensor& t = graph_.tensors[tensor];
  std::vector<sdfg::AxisId> axes = t.axes;
  Join(copies_, &axes);
  const std::vector<lineage::Place>& places = problem_.schedule.places;
  if (static_cast<size_t>(tensor) < places.size() && places[tensor].program != sdfg::kNone)
    Join(of_program_[places[tensor].program], &axes);
  return Of(t.device, axes);
}

const RankSet& RanksOfPlan::OfOperator(sdfg::OperatorId id) {
  const auto [at, added] = of_operator_.try_emplace(id);
  if (!added) return at->second;
  // Where its results are; an operator whose ranks are a coordinate may list them, too.
  const sdfg::Operator& op = graph_.operators[id];
  RankSet& ranks = at->second;
  bool coordinates = false;
  for (const sdfg::TensorId output : op.outputs) {
    if (output == sdfg::kNone) continue;
    ranks = Union(ranks, OfTensor(output));
    const std::vector<sdfg::AxisId>& axes = graph_.tensors[output].axes;
    coordinates = coordinates || std::any_of(axes.begin(), axes.end(), [&](sdfg::AxisId axis) {
                    return graph_.axis_device_stride[axis] != 0;
                  });
  }
  if (!coordinates || ranks.empty())
    ranks = Union(ranks, RankSetOf({op.devices.begin(), op.devices.end()}));
  return ranks;
}

const RankSet& RanksOfPlan::Of(sdfg::Device device, const std::vector<sdfg::AxisId>& axes) {
  const auto [at, added] = of_tensor_.try_emplace({device, axes});
  if (!added || device < 0) return at->second;
  constexpr int64_t kMostRanks = 1 << 20;
  std::vector<int> ranks = {device};
  for (const sdfg::AxisId axis : axes) {
    const int64_t stride = graph_.axis_device_stride[axis], extent = graph_.axes[axis].extent;
    if (stride == 0 || static_cast<int64_t>(ranks.size()) * extent > kMostRanks) continue;
    const size_t before = ranks.size();
    for (int64_t c = 1; c < extent; ++c) {
      for (size_t i = 0; i < before; ++i) ranks.push_back(ranks[i] + static_cast<int>(c * stride));
    }
  }
  return at->second = RankSetOf(std::move(ranks));
}

}  // namespace planproof::report
