#include "runtime_check/positions.h"

#include <algorithm>
#include <utility>

namespace planproof::runtime_check {

int64_t PositionOf(const std::vector<sdfg::IndexMap>& map, const sdfg::Shape& logical,
                   const std::vector<int64_t>& parallel_index) {
  int64_t position = 0;
  for (size_t d = 0; d < logical.size(); ++d) {
    const int64_t at = map[d].ValueAt(parallel_index);
    if (at < 0 || at >= logical[d]) return -1;
    position = position * logical[d] + at;
  }
  return position;
}

Positions::Positions(const std::vector<sdfg::IndexMap>& map, const sdfg::Shape& logical,
                     const sdfg::Shape& parallel)
    : map_(map), logical_(logical), parallel_(parallel), strides_(logical.size(), 1) {
  const int64_t row = parallel.empty() ? 1 : parallel.back();
  const int last = static_cast<int>(parallel.size()) - 1;
  positions_.resize(row);
  varies_.resize(logical.size(), false);
  for (size_t d = logical.size(); d-- > 1;) strides_[d - 1] = strides_[d] * logical[d];
  for (size_t d = 0; d < logical.size(); ++d) {
    Varying varying{d, std::vector<int64_t>(row, 0)};
    for (const sdfg::IndexTerm& term : map[d].terms) {
      gated_ |= term.gated();
      if (term.gated() || term.dim != last) continue;
      varies_[d] = true;
      for (int64_t j = 0; j < row; ++j) varying.steps[j] += term.scale * term.At(j);
    }
    if (varies_[d]) varying_.push_back(std::move(varying));
  }
}

std::span<const int64_t> Positions::Row(int64_t first) {
  std::vector<int64_t> index = IndexAt(parallel_, first);
  if (gated_) {
    for (size_t j = 0; j < positions_.size(); ++j) {
      if (!index.empty()) index.back() = static_cast<int64_t>(j);
      positions_[j] = PositionOf(map_, logical_, index);
    }
    return positions_;
  }
  // The terms of the last dimension are in the steps.
  int64_t base = 0;
  std::vector<int64_t> starts;
  for (size_t d = 0; d < logical_.size(); ++d) {
    int64_t at = map_[d].constant;
    for (const sdfg::IndexTerm& term : map_[d].terms) {
      if (term.dim + 1 != static_cast<int>(parallel_.size())) at += term.ValueAt(index);
    }
    if (varies_[d]) {
      starts.push_back(at);
    } else if (at < 0 || at >= logical_[d]) {
      std::fill(positions_.begin(), positions_.end(), -1);
      return positions_;
    } else {
      base += at * strides_[d];
    }
  }
  std::fill(positions_.begin(), positions_.end(), base);
  for (size_t v = 0; v < varying_.size(); ++v) {
    const int64_t extent = logical_[varying_[v].dim], stride = strides_[varying_[v].dim];
    for (size_t j = 0; j < positions_.size(); ++j) {
      const int64_t at = starts[v] + varying_[v].steps[j];
      if (at < 0 || at >= extent) {
        positions_[j] = -1;
      } else if (positions_[j] >= 0) {
        positions_[j] += at * stride;
      }
    }
  }
  return positions_;
}

}  // namespace planproof::runtime_check
