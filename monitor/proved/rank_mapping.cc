#include "monitor/proved/rank_mapping.h"

#include <algorithm>
#include <utility>

namespace planproof::monitor {
namespace {

int64_t WorldOf(const std::vector<ProvedAxis>& axes) {
  int64_t world = 1;
  for (const ProvedAxis& axis : axes) world *= axis.extent;
  return world;
}

}  // namespace

RankMapping::RankMapping(const ProvedMonitors& monitors, std::vector<ProvedAxis> run_axes,
                         int64_t run_world)
    : axes_(monitors.axes), run_axes_(std::move(run_axes)) {
  const auto programs = static_cast<int64_t>(monitors.programs.size());
  same_world_ = programs == run_world;
  if (same_world_) {
    run_axes_ = axes_;
    return;
  }
  fits_ = run_axes_.size() == axes_.size() && WorldOf(axes_) == programs &&
          WorldOf(run_axes_) == run_world;
  for (size_t k = 0; fits_ && k < axes_.size(); ++k) {
    ratios_.Add(axes_[k].extent, run_axes_[k].extent);
  }
}

RankMapping::Coordinates RankMapping::CoordinatesOf(const std::vector<ProvedAxis>& axes,
                                                    int64_t rank) {
  Coordinates coordinates(axes.size());
  for (size_t k = axes.size(); k-- > 0;) {
    coordinates[k] = rank % axes[k].extent;
    rank /= axes[k].extent;
  }
  return coordinates;
}

std::vector<int32_t> RankMapping::Candidates(int32_t run_rank) const {
  if (same_world_) return {run_rank};
  const Coordinates at = CoordinatesOf(run_axes_, run_rank);
  std::vector<int32_t> found = {0};
  for (size_t k = 0; k < axes_.size(); ++k) {
    const int64_t extent = axes_[k].extent, run_extent = run_axes_[k].extent;
    std::vector<int64_t> choices;
    if (extent == run_extent || at[k] == 0) {
      choices = {at[k]};
    } else if (at[k] == run_extent - 1) {
      choices = {extent - 1};
    } else {
      for (int64_t c = 0; c < extent; ++c) choices.push_back((c + 1) % extent);
    }
    std::vector<int32_t> more;
    for (const int32_t before : found) {
      for (const int64_t choice : choices) {
        more.push_back(static_cast<int32_t>(before * extent + choice));
      }
    }
    found = std::move(more);
  }
  return found;
}

std::set<int64_t> RankMapping::AlongOf(const std::vector<ProvedAxis>& axes,
                                       const std::vector<int32_t>& group) {
  std::set<int64_t> along;
  if (group.empty()) return along;
  const Coordinates first = CoordinatesOf(axes, group[0]);
  for (const int32_t rank : group) {
    const Coordinates at = CoordinatesOf(axes, rank);
    for (size_t k = 0; k < axes.size(); ++k) {
      if (at[k] != first[k]) along.insert(static_cast<int64_t>(k));
    }
  }
  int64_t filled = 1;
  for (const int64_t axis : along) filled *= axes[axis].extent;
  if (filled != static_cast<int64_t>(group.size())) along.insert(-1);
  return along;
}

SameGroup RankMapping::same_group() const {
  if (same_world_) {
    return [](const std::vector<int32_t>& proved, const std::vector<int32_t>& run) {
      return proved == run;
    };
  }
  return [this](const std::vector<int32_t>& proved, const std::vector<int32_t>& run) {
    return proved.empty() == run.empty() && AlongOf(axes_, proved) == AlongOf(run_axes_, run);
  };
}

}  // namespace planproof::monitor
