// Bounds the range of an index map.
#ifndef PLANPROOF_LINEAGE_MAP_RANGE_H_
#define PLANPROOF_LINEAGE_MAP_RANGE_H_

#include <vector>

#include "absl/status/status.h"
#include "lineage/lineage.h"

namespace planproof::lineage {

// The smallest and the largest value of the map over all indices of a tensor of this shape, which
// has no empty dimension. InvalidArgument for a map that is not well formed, ResourceExhausted for
// one that adds several terms of one dimension whose digits begin anew too often.
absl::Status RangeOfMap(const IndexMap& map, const sdfg::Shape& shape, __int128* low,
                        __int128* high);

// That the maps, one for each dimension of a tensor of shape `to`, are well formed and stay inside
// it at all indices of a tensor of shape `from`. InvalidArgument with the index that does not,
// ResourceExhausted if that is not known (RangeOfMap).
absl::Status CheckInside(const std::vector<IndexMap>& maps, const sdfg::Shape& from,
                         const sdfg::Shape& to);

}  // namespace planproof::lineage

#endif  // PLANPROOF_LINEAGE_MAP_RANGE_H_
