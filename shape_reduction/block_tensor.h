// Represents a tensor as one value per block.
#ifndef PLANPROOF_SHAPE_REDUCTION_BLOCK_TENSOR_H_
#define PLANPROOF_SHAPE_REDUCTION_BLOCK_TENSOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "shape_reduction/program_partition.h"

namespace planproof::shape_reduction {

// Whether the premises of a program hold on all blocks.
struct PremiseCheck {
  bool violated = false;
  bool undecided = false;
  std::string text;  // of the first that is not known to hold
};

template <typename V>
struct BlockTensor {
  std::vector<PartitionPtr> dims;
  bool int_valued = false;
  std::vector<V> values;      // row-major over blocks; empty if int_valued
  std::vector<int64_t> ints;  // likewise for integer tensors

  int64_t Blocks() const {
    int64_t n = 1;
    for (const PartitionPtr& dim : dims) n *= dim->blocks();
    return n;
  }
  // Position in values of the block that holds the element at the original indices.
  int64_t Offset(const std::vector<int64_t>& indices) const {
    int64_t offset = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      offset = offset * dims[d]->blocks() + dims[d]->BlockOf(indices[d]);
    }
    return offset;
  }
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_BLOCK_TENSOR_H_
