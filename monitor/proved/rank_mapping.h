// Says which ranks of a proof a rank of a run is to be compared with, where axes have other
// extents.
#ifndef PLANPROOF_MONITOR_PROVED_RANK_MAPPING_H_
#define PLANPROOF_MONITOR_PROVED_RANK_MAPPING_H_

#include <cstdint>
#include <set>
#include <vector>

#include "monitor/proved/monitors.h"
#include "monitor/proved/program_comparison.h"
#include "monitor/proved/size_ratios.h"

namespace planproof::monitor {

class RankMapping {
 public:
  // `run_axes`: those of the monitors, with the run's extents.
  RankMapping(const ProvedMonitors& monitors, std::vector<ProvedAxis> run_axes, int64_t run_world);

  // Each rank of the run has coordinates along the proof's axes.
  bool fits() const { return fits_; }
  bool same_world() const { return same_world_; }
  // Ranks of the proof, the one that is most like it first. Along an axis of another extent the
  // first is compared with the first, the last with the last, others with any.
  std::vector<int32_t> Candidates(int32_t run_rank) const;
  const SizeRatios& ratios() const { return ratios_; }
  // In the same world a group is itself; else it lies along the same axes.
  SameGroup same_group() const;

 private:
  using Coordinates = std::vector<int64_t>;
  static Coordinates CoordinatesOf(const std::vector<ProvedAxis>& axes, int64_t rank);
  // Axes along which the group's members differ, or the last element is -1 if they do not fill
  // these.
  static std::set<int64_t> AlongOf(const std::vector<ProvedAxis>& axes,
                                   const std::vector<int32_t>& group);

  std::vector<ProvedAxis> axes_, run_axes_;
  bool fits_ = true, same_world_ = true;
  SizeRatios ratios_;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_RANK_MAPPING_H_
