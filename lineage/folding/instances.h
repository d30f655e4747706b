// Puts tensors together of instances of others, and takes instances out of folded tensors: this
// connects what is folded with what is not.
#ifndef PLANPROOF_LINEAGE_FOLDING_INSTANCES_H_
#define PLANPROOF_LINEAGE_FOLDING_INSTANCES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/graph.h"

namespace planproof::lineage::folding {

// One instance of a tensor of the folded graph: at a rank, or (kNone) the tensor itself.
struct Instance {
  sdfg::TensorId tensor = sdfg::kNone;
  int32_t rank = sdfg::kNone;
  bool operator==(const Instance&) const = default;
};

// An operator operand: the tensor, and the position of the dimension of the rank in question; -1
// where it has none.
struct InstanceSource {
  sdfg::TensorId tensor = sdfg::kNone;
  int rank_dim = -1;
};

struct InstanceFunction {
  std::vector<InstanceSource> sources;  // the operands, in order
  sdfg::IndexFunction function;
};

// y[.., r, ..] = instances[r] at every rank r, the rank being axis `axis` of the result; with the
// axis kNone there is one instance, and y is it. rank_axes[i] is the axis of instances[i]'s rank,
// kNone where it has none. The result varies over `axes`: those of the instances, and `axis`.
absl::StatusOr<InstanceFunction> MakeInstances(const sdfg::Graph& graph,
                                               const std::vector<Instance>& instances,
                                               const std::vector<sdfg::AxisId>& rank_axes,
                                               sdfg::AxisId axis, std::vector<sdfg::AxisId>* axes);

// The one element that an instance function reads at `rank`, all other indices being those of the
// result, a tensor of these axes; nothing if it is not of that form. For checks.
std::optional<Instance> InstanceAt(const sdfg::Graph& graph, const InstanceFunction& made,
                                   const std::vector<sdfg::AxisId>& axes, int axis_dim,
                                   int64_t rank);

}  // namespace planproof::lineage::folding

#endif  // PLANPROOF_LINEAGE_FOLDING_INSTANCES_H_
