// Says in axes of the mesh which ranks hold the same part of a tensor.
#ifndef PLANPROOF_MONITOR_PROVED_EXPORT_LAYOUT_H_
#define PLANPROOF_MONITOR_PROVED_EXPORT_LAYOUT_H_

#include <vector>

#include "lineage/lineage.h"
#include "monitor/proved/export.h"
#include "monitor/proved/monitors.h"

namespace planproof::monitor {

// The mesh of the problem; one axis "rank" where it does not say one.
std::vector<ProvedAxis> AxesOf(const lineage::Problem& problem, int32_t world);

// Coordinates of a rank in row-major order of the axes.
std::vector<int64_t> CoordinatesOf(const std::vector<ProvedAxis>& axes, int64_t rank);

// Where a part lies along each dimension of the whole, as numbers: equal ones, equal places.
using PlaceKey = std::vector<int64_t>;
std::vector<PlaceKey> PlaceOf(const lineage::Problem& problem, const ExportedPart& part);

// Elements of the part.
int64_t ElementsOfPart(const lineage::Problem& problem, const ExportedPart& part);

// Sets `cut`, `flat` or `groups` of the monitor to what the relations of the set's parts say.
void SetLayout(const lineage::Problem& problem, const std::vector<ProvedAxis>& axes,
               const ExportedSet& set, TensorMonitor* monitor);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_EXPORT_LAYOUT_H_
