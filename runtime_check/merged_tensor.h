// Puts what devices hold of one logical tensor together, by lineage.
#ifndef PLANPROOF_RUNTIME_CHECK_MERGED_TENSOR_H_
#define PLANPROOF_RUNTIME_CHECK_MERGED_TENSOR_H_

#include <cstdint>
#include <vector>

#include "runtime_check/values.h"
#include "sdfg/index_map.h"

namespace planproof::runtime_check {

// Elements that are held more than once and are not equal.
struct Disagreement {
  int64_t elements = 0;
  double squares = 0;          // of the differences to the value that came first
  std::vector<int64_t> index;  // of the first, in the logical tensor
};

// Of instances that hold the same part, and of parts that overlap without being the same.
struct Disagreements {
  Disagreement replicas, overlaps;
};

class MergedTensor {
 public:
  explicit MergedTensor(sdfg::Shape logical);

  // Adds the elements of a parallel tensor whose first `axes` dimensions are coordinates. An
  // element whose index the map takes outside of the logical tensor is no part of it: false.
  bool Add(const Values& values, int axes, const std::vector<sdfg::IndexMap>& map);

  // Adds what another parallel tensor holds of the same logical one. Gives where the two disagree;
  // elements that either holds more than once count as the one that came first.
  Disagreements Add(const MergedTensor& other);

  // Within the parallel tensors that were added.
  const Disagreements& disagreements() const { return disagreements_; }
  int64_t omitted() const { return CountOf(shape_) - held_; }
  std::vector<int64_t> FirstOmitted() const;  // index; there is one

  const sdfg::Shape& shape() const { return shape_; }
  bool Holds(int64_t i) const { return owner_[i] != 0; }
  double At(int64_t i) const { return values_[i]; }

 private:
  const sdfg::Shape shape_;
  std::vector<double> values_;
  // Position within its instance of the element that came first, plus 1; 0: nobody holds it.
  std::vector<int64_t> owner_;
  int64_t held_ = 0;
  Disagreements disagreements_;
};

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_MERGED_TENSOR_H_
