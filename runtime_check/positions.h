// Computes where the elements of a parallel tensor are in the model's.
#ifndef PLANPROOF_RUNTIME_CHECK_POSITIONS_H_
#define PLANPROOF_RUNTIME_CHECK_POSITIONS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_check/values.h"
#include "sdfg/index_map.h"

namespace planproof::runtime_check {

// Position of an index in row-major order; -1 if it is outside of the shape.
int64_t PositionOf(const std::vector<sdfg::IndexMap>& map, const sdfg::Shape& logical,
                   const std::vector<int64_t>& parallel_index);

// The same of all elements of a parallel tensor, row by row: what does not differ within a row is
// computed once for it. Keeps references.
class Positions {
 public:
  Positions(const std::vector<sdfg::IndexMap>& map, const sdfg::Shape& logical,
            const sdfg::Shape& parallel);

  // Elements of a row: the extent of the last dimension, 1 without dimensions.
  int64_t row() const { return static_cast<int64_t>(positions_.size()); }
  // Of the row that begins with element `first`; until the next call.
  std::span<const int64_t> Row(int64_t first);

 private:
  // A dimension of the model's tensor in which the elements of a row differ.
  struct Varying {
    size_t dim = 0;
    std::vector<int64_t> steps;  // by element of the row
  };

  const std::vector<sdfg::IndexMap>& map_;
  const sdfg::Shape& logical_;
  const sdfg::Shape& parallel_;
  bool gated_ = false;  // terms depend on two dimensions
  std::vector<int64_t> strides_;
  std::vector<bool> varies_;  // by dimension of the model's tensor
  std::vector<Varying> varying_;
  std::vector<int64_t> positions_;
};

// Calls f(element, position) for each element, in order.
template <typename F>
void ForEachPosition(const std::vector<sdfg::IndexMap>& map, const sdfg::Shape& logical,
                     const sdfg::Shape& parallel, const F& f) {
  const int64_t count = CountOf(parallel);
  if (count == 0) return;
  Positions positions(map, logical, parallel);
  for (int64_t first = 0; first < count; first += positions.row()) {
    const std::span<const int64_t> row = positions.Row(first);
    for (size_t j = 0; j < row.size(); ++j) f(first + static_cast<int64_t>(j), row[j]);
  }
}

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_POSITIONS_H_
