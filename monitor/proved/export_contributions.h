// Reads from a plan's graph which combination of what ranks contribute a gradient is.
#ifndef PLANPROOF_MONITOR_PROVED_EXPORT_CONTRIBUTIONS_H_
#define PLANPROOF_MONITOR_PROVED_EXPORT_CONTRIBUTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sdfg/graph.h"

namespace planproof::monitor {

// The gradient is `factor` times the sum of what these ranks contribute.
struct ContributionForm {
  double factor = 1;
  std::set<int32_t> ranks;
};

// A rank's contribution is what differentiation gives: the result of a contraction, which views,
// sums and constant factors follow. A factor may belong to differentiation as well as to what is
// done with its result; it belongs to the latter if a collective applies it, or if it is written
// into memory that was there before (`in_place`: tensors, [first, last)).
class ContributionReader {
 public:
  ContributionReader(const sdfg::Graph& graph,
                     const std::vector<std::pair<sdfg::TensorId, sdfg::TensorId>>& in_place);
  ~ContributionReader();

  // Nothing if the gradient is computed in another way, if it cannot be told whose a factor is, or
  // if it is computed in a narrower type than its own.
  std::optional<ContributionForm> FormOf(sdfg::TensorId gradient);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_EXPORT_CONTRIBUTIONS_H_
