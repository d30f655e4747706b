// Finds which tensors of a plan have the same bits: they are computed by the same operators from
// the same bits.
#ifndef PLANPROOF_MONITOR_PROVED_EXPORT_SAMENESS_H_
#define PLANPROOF_MONITOR_PROVED_EXPORT_SAMENESS_H_

#include <vector>

#include "lineage/lineage.h"
#include "monitor/proved/monitors.h"

namespace planproof::monitor {

class ComputedAlike {
 public:
  // The problem's plan must be in topological order, as Graph::Check leaves it.
  explicit ComputedAlike(const lineage::Problem& problem);

  // How equal these tensors of the plan are, given that they are equal as real numbers.
  Sameness Of(const std::vector<sdfg::TensorId>& tensors) const;

 private:
  // Classes by tensor: with collectives told apart by their group, and not.
  std::vector<int64_t> shared_, alike_;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_EXPORT_SAMENESS_H_
