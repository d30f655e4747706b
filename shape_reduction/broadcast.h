// Loops over dense arrays whose dimensions are subsets of an ordered list of variables.
//
// An array with variable set `mask` is stored row-major over its variables in rank order. Walk
// visits all points of one set while every operand advances by its own strides (0 where it does not
// vary).
#ifndef PLANPROOF_SHAPE_REDUCTION_BROADCAST_H_
#define PLANPROOF_SHAPE_REDUCTION_BROADCAST_H_

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace planproof::shape_reduction {

using VarMask = uint64_t;  // bit r: the variable of rank r

class BlockSpace {
 public:
  explicit BlockSpace(std::vector<int64_t> extents) : extents_(std::move(extents)) {}

  // Number of points, saturating at 2^62.
  int64_t Size(VarMask mask) const {
    int64_t size = 1;
    for (VarMask m = mask; m != 0; m &= m - 1) {
      const int64_t n = extents_[std::countr_zero(m)];
      if (n == 0) return 0;
      if (__builtin_mul_overflow(size, n, &size) || size > (int64_t{1} << 62)) {
        size = int64_t{1} << 62;
      }
    }
    return size;
  }
  int64_t extent(int rank) const { return extents_[rank]; }
  // Step of rank `rank` in an array over `mask`; 0 if it does not vary with it.
  int64_t Stride(VarMask mask, int rank) const {
    if (!(mask >> rank & 1)) return 0;
    return Size(rank == 63 ? 0 : mask & (~VarMask{0} << (rank + 1)));
  }

  // Calls row(count, offsets, strides) for each innermost row of the points of `over`: operand k is
  // at offsets[k] + i * strides[k] for i in [0, count).
  template <size_t K, typename Row>
  void Walk(VarMask over, const std::array<VarMask, K>& operands, Row row) const {
    struct Loop {
      int64_t extent;
      std::array<int64_t, K> stride;
    };
    std::vector<Loop> loops;
    for (VarMask m = over; m != 0; m &= m - 1) {
      const int rank = std::countr_zero(m);
      Loop loop{extents_[rank], {}};
      if (loop.extent == 0) return;
      if (loop.extent == 1) continue;
      for (size_t k = 0; k < K; ++k) loop.stride[k] = Stride(operands[k], rank);
      bool joined = !loops.empty();
      for (size_t k = 0; k < K && joined; ++k) {
        joined = loops.back().stride[k] == loop.stride[k] * loop.extent;
      }
      if (joined) {
        loop.extent *= loops.back().extent;
        loops.back() = loop;
      } else {
        loops.push_back(loop);
      }
    }
    std::array<int64_t, K> offset{};
    if (loops.empty()) {
      row(int64_t{1}, offset, std::array<int64_t, K>{});
      return;
    }
    const Loop inner = loops.back();
    loops.pop_back();
    std::vector<int64_t> at(loops.size(), 0);
    while (true) {
      row(inner.extent, offset, inner.stride);
      size_t d = loops.size();
      while (d > 0) {
        Loop& loop = loops[d - 1];
        for (size_t k = 0; k < K; ++k) offset[k] += loop.stride[k];
        if (++at[d - 1] < loop.extent) break;
        for (size_t k = 0; k < K; ++k) offset[k] -= loop.stride[k] * loop.extent;
        at[d - 1] = 0;
        --d;
      }
      if (d == 0) return;
    }
  }

 private:
  std::vector<int64_t> extents_;
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_BROADCAST_H_
