// Represents a counterexample as data.
//
// Inputs are constant on blocks: a dimension is divided into blocks of indices (all indices, or
// intervals of its digits), and a tensor has one value per block. So inputs of any size are small,
// and whoever replays them expands as much as is needed.
#ifndef PLANPROOF_WITNESS_WITNESS_H_
#define PLANPROOF_WITNESS_WITNESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sdfg/types.h"

namespace planproof::witness {

// A digit of an index, cut into intervals.
struct Digit {
  int64_t extent = 1;
  std::vector<int64_t> starts;  // ascending, from 0; empty only where the extent is 0
  bool operator==(const Digit&) const = default;
};

// A dimension: digits, most significant first, the product of whose extents is the dimension's. A
// block is one interval of each.
struct Dimension {
  std::vector<Digit> digits;
  int64_t Extent() const;
  int64_t Blocks() const;
  // The block that holds the index, 0 <= index < Extent().
  int64_t BlockOf(int64_t index) const;
  bool operator==(const Dimension&) const = default;
};

struct Tensor {
  std::string name;  // of the model's input
  sdfg::DType dtype = sdfg::DType::kUnknown;
  std::vector<Dimension> dims;
  // Row-major by block: of what is read as integers `integers`, of all others `reals`.
  bool is_integer = false;
  std::vector<double> reals;
  std::vector<int64_t> integers;

  sdfg::Shape Shape() const;
  sdfg::Shape Blocks() const;
  // Position in the values of the element at this index of the original tensor.
  int64_t Offset(const std::vector<int64_t>& index) const;
  bool operator==(const Tensor&) const = default;
};

struct Enclosure {
  double low = 0, high = 0;
  bool operator==(const Enclosure&) const = default;
};

// An element of a required output whose two values differ.
struct Difference {
  std::string what;  // the requirement, in words
  std::string logical_tensor, parallel_tensor;
  std::vector<int64_t> logical_index, parallel_index;  // the latter with coordinates first
  Enclosure logical;
  bool undefined = false;  // the plan's element has no value; otherwise:
  Enclosure parallel;
  // As text, which may have more digits than a double.
  std::string logical_value, parallel_value;
  int precision = 0;  // bits of the evaluation that told them apart
  bool operator==(const Difference&) const = default;
};

struct Witness {
  std::vector<Tensor> inputs;
  Difference difference;
  bool operator==(const Witness&) const = default;
};

}  // namespace planproof::witness

#endif  // PLANPROOF_WITNESS_WITNESS_H_
