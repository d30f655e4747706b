// Lists the collectives that results of a plan depend on.
#ifndef PLANPROOF_MONITOR_PROVED_EXPORT_COLLECTIVES_H_
#define PLANPROOF_MONITOR_PROVED_EXPORT_COLLECTIVES_H_

#include <optional>
#include <vector>

#include "lineage/lineage.h"
#include "monitor/proved/monitors.h"

namespace planproof::monitor {

// In the order of the first of each. Groups that do not lie along axes are left out, and messages
// between two ranks.
std::vector<CollectiveMonitor> CollectivesOf(const lineage::Problem& problem,
                                             const std::vector<ProvedAxis>& axes, int32_t world,
                                             const std::vector<sdfg::TensorId>& results);

// The axes along which the ranks differ, if they are all ranks that differ in nothing else.
std::optional<std::vector<int32_t>> AxesOfGroup(const std::vector<ProvedAxis>& axes,
                                                const std::vector<int32_t>& ranks);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_EXPORT_COLLECTIVES_H_
