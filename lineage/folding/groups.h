// Guesses which devices run the same program: the ranks of one coordinate.
#ifndef PLANPROOF_LINEAGE_FOLDING_GROUPS_H_
#define PLANPROOF_LINEAGE_FOLDING_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "sdfg/graph.h"

namespace planproof::lineage::folding {

struct Rank {
  int group = sdfg::kNone;
  int32_t rank = 0;
};

// Devices first, first + stride, ... of which one is rank 0, 1, ...
struct Group {
  sdfg::Device first = 0;
  int32_t stride = 1;
  int32_t size = 0;
  sdfg::Device device(int32_t rank) const { return first + rank * stride; }
};

struct Groups {
  std::vector<Group> groups;
  absl::flat_hash_map<sdfg::Device, Rank> of_device;
  Rank Of(sdfg::Device device) const {
    const auto found = of_device.find(device);
    return found == of_device.end() ? Rank{} : found->second;
  }
};

// Where an operator runs: the device of its outputs, or -1.
sdfg::Device DeviceOf(const sdfg::Graph& graph, const sdfg::Operator& op);

// Sets of devices that communicate with each other by collectives, disjoint, those that do so most
// often first (a mesh of two axes has a few collectives over all devices, too), then the largest,
// equally spaced, whose devices run about as many operators of each name.
Groups FindGroups(const sdfg::Graph& graph);

}  // namespace planproof::lineage::folding

#endif  // PLANPROOF_LINEAGE_FOLDING_GROUPS_H_
