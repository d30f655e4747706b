// Finds the operators that hand tensors on from rank to rank around a ring.
#ifndef PLANPROOF_LINEAGE_ROUNDS_RING_HOPS_H_
#define PLANPROOF_LINEAGE_ROUNDS_RING_HOPS_H_

#include <cstdint>
#include <vector>

#include "sdfg/graph.h"

namespace planproof::lineage::rounds {

// Along an axis of n ranks: rank c hands on to rank c + step (mod n), step 1 or n - 1.
struct Hop {
  sdfg::AxisId axis = sdfg::kNone;
  int64_t step = 0;
  bool operator==(const Hop&) const = default;
};

// Both have one shape, axes and type.
bool SameForm(const sdfg::Tensor& a, const sdfg::Tensor& b);

// By operator; of those that hand nothing on the axis is kNone. Axes of fewer than `least` ranks
// are no rings.
std::vector<Hop> HopsOf(const sdfg::Graph& graph, int64_t least);

}  // namespace planproof::lineage::rounds

#endif  // PLANPROOF_LINEAGE_ROUNDS_RING_HOPS_H_
