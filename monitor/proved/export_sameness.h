// Finds which tensors of a plan have the same bits: they are computed by the same operators from
// the same bits.
#ifndef PLANPROOF_MONITOR_PROVED_EXPORT_SAMENESS_H_
#define PLANPROOF_MONITOR_PROVED_EXPORT_SAMENESS_H_

#include <cstdint>
#include <vector>

#include "lineage/lineage.h"
#include "monitor/proved/monitors.h"

namespace planproof::monitor {

// Each element of the plan's tensors has a label; elements of one label have the same bits.
// Frameworks lay tensors side by side in buffers, of which one part may be the same on two ranks
// and another not.
class ComputedAlike {
 public:
  // The problem's plan must be in topological order, as Graph::Check leaves it. Of a plan with
  // coordinate axes, or one that is too large, nothing is found.
  explicit ComputedAlike(const lineage::Problem& problem);

  // How equal these tensors of the plan are, given that they are equal as real numbers.
  Sameness Of(const std::vector<sdfg::TensorId>& tensors) const;

 private:
  using Labels = std::vector<std::vector<uint64_t>>;  // by tensor, in row-major order

  // With sums over ranks told apart by their group, and not.
  Labels shared_, alike_;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_EXPORT_SAMENESS_H_
