// Compares two block-constant tensors of one shape, element by element in effect.
#ifndef PLANPROOF_SHAPE_REDUCTION_COMPARISON_H_
#define PLANPROOF_SHAPE_REDUCTION_COMPARISON_H_

#include <cstdint>
#include <vector>

#include "shape_reduction/block_tensor.h"

namespace planproof::shape_reduction {

struct Difference {
  bool found = false;
  bool undefined = false;  // some element is invalid on exactly one side
  // An element that is finite on the left and invalid on the right, if there is one.
  std::vector<int64_t> undefined_right;
  std::vector<int64_t> index;  // an element (original indices) where the difference is largest
  double left = 0, right = 0;  // its two values
  double size = 0;             // their difference, relative to the larger one
};

// The largest difference that exceeds `tolerance` relative to the largest element of either tensor:
// what is smaller may be rounding of terms that cancelled.
Difference CompareTensors(const BlockTensor<double>& left, const BlockTensor<double>& right,
                          double tolerance);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_COMPARISON_H_
