#include "shape_reduction/comparison.h"

#include <algorithm>
#include <cmath>

namespace planproof::shape_reduction {
namespace {

double ValueAt(const BlockTensor<double>& tensor, int64_t offset) {
  return tensor.int_valued ? static_cast<double>(tensor.ints[offset]) : tensor.values[offset];
}

double LargestFinite(const BlockTensor<double>& tensor) {
  double largest = 0;
  for (double value : tensor.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

}  // namespace

Difference CompareTensors(const BlockTensor<double>& left, const BlockTensor<double>& right,
                          double tolerance) {
  Difference result;
  if (&left == &right) return result;
  const size_t rank = left.dims.size();
  // Of the common refinement: representatives, and the offset that each contributes on either side.
  std::vector<std::vector<int64_t>> points(rank), left_at(rank), right_at(rank);
  int64_t left_stride = 1, right_stride = 1;
  for (size_t d = rank; d-- > 0;) {
    points[d] = left.dims[d]->Refine(*right.dims[d]).Representatives();
    if (points[d].empty()) return result;
    for (int64_t index : points[d]) {
      left_at[d].push_back(left.dims[d]->BlockOf(index) * left_stride);
      right_at[d].push_back(right.dims[d]->BlockOf(index) * right_stride);
    }
    left_stride *= left.dims[d]->blocks();
    right_stride *= right.dims[d]->blocks();
  }
  const double floor = tolerance * std::max(LargestFinite(left), LargestFinite(right));
  std::vector<size_t> at(rank, 0);
  double largest = 0;
  while (true) {
    int64_t a_offset = 0, b_offset = 0;
    for (size_t d = 0; d < rank; ++d) {
      a_offset += left_at[d][at[d]];
      b_offset += right_at[d][at[d]];
    }
    const double a = ValueAt(left, a_offset), b = ValueAt(right, b_offset);
    if (a != b) {
      if (std::isnan(a) || std::isnan(b)) {
        result.undefined |= std::isnan(a) != std::isnan(b);
        if (std::isfinite(a) && result.undefined_right.empty()) {
          for (size_t d = 0; d < rank; ++d) result.undefined_right.push_back(points[d][at[d]]);
        }
      } else {
        const double distance = std::fabs(a - b);
        const double size =
            std::isfinite(distance) ? distance / std::max(std::fabs(a), std::fabs(b)) : 1;
        if (distance > floor && size > tolerance && distance > largest) {
          largest = distance;
          result.found = true;
          result.size = size;
          result.left = a;
          result.right = b;
          result.index.clear();
          for (size_t d = 0; d < rank; ++d) result.index.push_back(points[d][at[d]]);
        }
      }
    }
    size_t d = rank;
    while (d > 0 && ++at[d - 1] == points[d - 1].size()) at[--d] = 0;
    if (d == 0) return result;
  }
}

}  // namespace planproof::shape_reduction
