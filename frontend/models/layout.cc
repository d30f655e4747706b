#include "frontend/models/layout.h"

#include <algorithm>

namespace planproof::models {

Layout::Layout(const Strategy& strategy) : stages_(strategy.pipeline_parallel) {
  const auto add = [this](const char* axis, int64_t extent) -> Axes {
    if (extent == 1) return {};
    extents_[axis] = extent;
    return {axis};
  };
  // Outermost first, as ranks of a node are numbered: tensor parallelism stays within nodes.
  const std::vector<std::pair<std::string, int64_t>> axes = {{"pp", strategy.pipeline_parallel},
                                                             {"dp", strategy.data_parallel},
                                                             {"tp", strategy.tensor_parallel}};
  for (const auto& [axis, extent] : axes) {
    if (extent > 1) mesh_.emplace_back(axis, extent);
  }
  batch_ = Union(add("dp", strategy.data_parallel), add("microbatch", strategy.microbatches));
  tensor_ = add("tp", strategy.tensor_parallel);
  if (strategy.sequence_parallel) sequence_outside_ = tensor_;
}

int64_t Layout::Extent(const std::string& axis) const {
  const auto found = extents_.find(axis);
  return found == extents_.end() ? 1 : found->second;
}

int64_t Layout::Local(const Dim& dim) const {
  int64_t parts = 1;
  for (const std::string& axis : dim.over) parts *= Extent(axis);
  return dim.extent / parts;
}

Axes Union(const Axes& a, const Axes& b) {
  Axes all = a;
  for (const std::string& axis : b) {
    if (std::find(all.begin(), all.end(), axis) == all.end()) all.push_back(axis);
  }
  return all;
}

Axes AxesOf(const Dims& dims) {
  Axes all;
  for (const Dim& dim : dims) all = Union(all, dim.over);
  return all;
}

Axes Minus(const Axes& axes, const Axes& without) {
  Axes rest;
  for (const std::string& axis : axes) {
    if (std::find(without.begin(), without.end(), axis) == without.end()) rest.push_back(axis);
  }
  return rest;
}

}  // namespace planproof::models
