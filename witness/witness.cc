#include "witness/witness.h"

#include <algorithm>

namespace planproof::witness {

int64_t Dimension::Extent() const {
  int64_t extent = 1;
  for (const Digit& digit : digits) extent *= digit.extent;
  return extent;
}

int64_t Dimension::Blocks() const {
  int64_t blocks = 1;
  for (const Digit& digit : digits) blocks *= static_cast<int64_t>(digit.starts.size());
  return blocks;
}

int64_t Dimension::BlockOf(int64_t index) const {
  int64_t block = 0, stride = Extent();
  for (const Digit& digit : digits) {
    stride /= digit.extent;
    const int64_t value = index / stride % digit.extent;
    const auto after = std::upper_bound(digit.starts.begin(), digit.starts.end(), value);
    block = block * static_cast<int64_t>(digit.starts.size()) + (after - digit.starts.begin()) - 1;
  }
  return block;
}

sdfg::Shape Tensor::Shape() const {
  sdfg::Shape shape;
  for (const Dimension& dim : dims) shape.push_back(dim.Extent());
  return shape;
}

sdfg::Shape Tensor::Blocks() const {
  sdfg::Shape blocks;
  for (const Dimension& dim : dims) blocks.push_back(dim.Blocks());
  return blocks;
}

int64_t Tensor::Offset(const std::vector<int64_t>& index) const {
  int64_t offset = 0;
  for (size_t d = 0; d < dims.size(); ++d)
    offset = offset * dims[d].Blocks() + dims[d].BlockOf(index[d]);
  return offset;
}

}  // namespace planproof::witness
