// Partitions a dimension into blocks on which a tensor is constant.
//
// A dimension of extent n is a mixed-radix product of digits, most significant first: index i has
// digit_j = floor(i / stride_j) mod extent_j, where stride_j is the product of the extents of the
// less significant digits, and the product of all extents is n. Every digit is cut into intervals.
// A block is a box: one interval per digit. A tensor that was derived from block-constant inputs is
// block-constant for the partition that the pullback (index_form.h) computes, so one number per
// block stands for all its elements, and a sum over the dimension is the sum over blocks of weight
// (number of indices in the block) times value. Nothing is approximated: partitions may only be too
// fine, never too coarse.
#ifndef PLANPROOF_SHAPE_REDUCTION_PARTITION_H_
#define PLANPROOF_SHAPE_REDUCTION_PARTITION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace planproof::shape_reduction {

struct Digit {
  int64_t extent = 1;
  std::vector<int64_t> starts;  // first value of each interval, ascending, starts[0] = 0
  bool operator==(const Digit&) const = default;
};

class DimPartition {
 public:
  // A dimension that has more blocks than this is not represented: see too_fine().
  static constexpr int64_t kMaxBlocks = int64_t{1} << 21;

  DimPartition() : DimPartition(0) {}
  // One block. Extent 0 has no block.
  explicit DimPartition(int64_t extent);
  // Intervals that start at the given points; points outside (0, extent) are ignored.
  static DimPartition WithCuts(int64_t extent, std::vector<int64_t> cuts);
  // Every index is its own block.
  static DimPartition Full(int64_t extent);
  // Cuts of the digit floor(i / div) mod digit_extent at the given values. Where the digit does not
  // divide the extent this is the full partition.
  static DimPartition WithDigitCuts(int64_t extent, int64_t div, int64_t digit_extent,
                                    const std::vector<int64_t>& cuts);

  int64_t extent() const { return extent_; }
  const std::vector<Digit>& digits() const { return digits_; }
  int64_t blocks() const { return blocks_; }
  bool too_fine() const { return too_fine_; }
  bool IsWhole() const { return blocks_ <= 1 && !too_fine_; }
  bool IsFull() const { return blocks_ == extent_; }

  // The block that holds `index`, 0 <= index < extent.
  int64_t BlockOf(int64_t index) const;
  // The smallest index of each block, in block order (lexicographic by digit intervals).
  std::vector<int64_t> Representatives() const;
  // The largest index of each block.
  std::vector<int64_t> Lasts() const;
  // The number of indices in each block.
  std::vector<int64_t> Weights() const;

  // The common refinement (possibly finer than necessary where the digits do not fit together).
  DimPartition Refine(const DimPartition& other) const;
  // "51200 = 400x{0,200} 128x{0}", for witnesses and messages.
  std::string ToString() const;
  bool operator==(const DimPartition& other) const {
    return extent_ == other.extent_ && too_fine_ == other.too_fine_ && digits_ == other.digits_;
  }

 private:
  // For each block the sum of value_of(digit, interval) times the stride of the digit.
  template <typename ValueOf>
  std::vector<int64_t> OfBlocks(ValueOf value_of) const;
  void CountBlocks();
  // Adds to `out` (whose digits have the strides `strides`) the cuts that this partition needs.
  void AddCutsTo(const std::vector<int64_t>& strides, DimPartition* out) const;
  std::vector<int64_t> Strides() const;  // of each digit, descending

  int64_t extent_ = 0;
  int64_t blocks_ = 0;
  bool too_fine_ = false;
  std::vector<Digit> digits_;
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_PARTITION_H_
