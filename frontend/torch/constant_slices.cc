#include "frontend/torch/constant_slices.h"

#include <algorithm>
#include <utility>

#include "frontend/torch/listed_constant.h"
#include "frontend/torch/memory.h"
#include "frontend/torch/strided.h"

namespace planproof::frontend::torch {
namespace {

using RangesOfDim = std::vector<std::pair<int64_t, int64_t>>;  // start and length
using Box = std::vector<RangesOfDim>;                          // by dimension

// A digit of a position in the part, and what it counts in the whole.
struct DigitOfBox {
  int64_t scale, div, extent;
};

// Of a dimension, the inner digit first; nothing if ranges are not alike.
bool AddDigits(const RangesOfDim& ranges, int64_t stride, int64_t own_stride,
               std::vector<DigitOfBox>* digits, int64_t* constant) {
  const auto [start, length] = ranges[0];
  *constant += start * stride;
  digits->push_back({stride, own_stride, length});
  if (ranges.size() == 1) return true;
  const int64_t apart = ranges[1].first - start;
  for (size_t r = 0; r < ranges.size(); ++r) {
    if (ranges[r].second != length || ranges[r].first != start + static_cast<int64_t>(r) * apart) {
      return false;
    }
  }
  digits->push_back({apart * stride, own_stride * length, static_cast<int64_t>(ranges.size())});
  return true;
}

// The part of a row-major whole of this shape that is at the place, if it has `size` elements.
std::optional<sdfg::IndexMap> MapOfBox(const sdfg::Shape& shape, const Box& box, int64_t size) {
  std::vector<DigitOfBox> digits;
  sdfg::IndexMap map;
  int64_t stride = 1, own_stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    int64_t length = 0;
    for (const auto& [start, part] : box[d]) {
      if (start < 0 || part <= 0 || start + part > shape[d]) return std::nullopt;
      length += part;
    }
    if (length == 0 || !AddDigits(box[d], stride, own_stride, &digits, &map.constant)) {
      return std::nullopt;
    }
    stride *= shape[d];
    own_stride *= length;
  }
  if (own_stride != size) return std::nullopt;
  std::vector<DigitOfBox> merged;
  for (const DigitOfBox& digit : digits) {
    if (digit.extent == 1) continue;
    if (!merged.empty() && digit.scale == merged.back().scale * merged.back().extent) {
      merged.back().extent *= digit.extent;
    } else {
      merged.push_back(digit);
    }
  }
  for (size_t k = 0; k < merged.size(); ++k) {
    const int64_t mod = k + 1 == merged.size() ? 0 : merged[k].extent;
    map.terms.push_back({0, merged[k].scale, merged[k].div, mod});
  }
  return map;
}

bool HoldsAt(const Storage& part, const Storage& whole, const sdfg::IndexMap& map) {
  for (int64_t i = 0; i < part.size; ++i) {
    const auto at = static_cast<size_t>(map.ValueAt({i}));
    if (at >= whole.values.size()) return false;
    const bool infinite = !part.uniform && part.minus_infinity[i];
    if (infinite != whole.minus_infinity[at]) return false;
    if (infinite) continue;
    if (!((part.uniform ? *part.uniform : part.values[i]) == whole.values[at])) return false;
  }
  return true;
}

Box WholeOf(const sdfg::Shape& shape) {
  Box box;
  for (int64_t extent : shape) box.push_back({{0, extent}});
  return box;
}

// Where inputs are parts of tensors whose first dimensions these are: a mask of tokens has the
// batch and the sequence in common with their embeddings.
std::vector<Box> BoxesOfInputs(const sdfg::Shape& shape, const Trace& rank) {
  std::vector<Box> boxes;
  for (const Input& input : rank.inputs) {
    if (input.role != InputRole::kInput || !input.part.whole || input.part.place.empty()) continue;
    const sdfg::Shape& whole = *input.part.whole;
    const size_t common = std::min(shape.size(), whole.size());
    if (!std::equal(shape.begin(), shape.begin() + static_cast<int64_t>(common), whole.begin())) {
      continue;
    }
    Box box = WholeOf(shape);
    for (size_t d = 0; d < common; ++d) box[d] = input.part.place[d];
    boxes.push_back(std::move(box));
  }
  return boxes;
}

// Where a part of shape `own` is, cut along one dimension.
std::vector<Box> BoxesAlongOne(const sdfg::Shape& shape, const sdfg::Shape& own) {
  std::vector<Box> boxes;
  if (shape.size() != own.size()) return boxes;
  std::optional<size_t> cut;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == own[d]) continue;
    if (cut || own[d] > shape[d] || own[d] == 0) return boxes;
    cut = d;
  }
  if (!cut) return boxes;
  for (int64_t start = 0; start + own[*cut] <= shape[*cut]; start += own[*cut]) {
    boxes.push_back(WholeOf(shape));
    boxes.back()[*cut] = {{start, own[*cut]}};
  }
  return boxes;
}

}  // namespace

std::set<sdfg::Shape> ShapesOf(const Trace& trace, StorageId storage) {
  std::set<sdfg::Shape> shapes;
  for (const Tensor& tensor : trace.tensors) {
    if (tensor.storage != storage || tensor.complex) continue;
    if (SamePositions(ViewOf(tensor), Contiguous(0, tensor.shape)) &&
        ElementsOf(tensor.shape) == trace.storages[storage].size) {
      shapes.insert(tensor.shape);
    }
  }
  return shapes;
}

std::vector<StorageId> UniformConstants(const Trace& trace) {
  std::vector<bool> written(trace.storages.size(), false);
  const auto write = [&](TensorNumber number) { written[trace.tensors[number].storage] = true; };
  for (const Executed& executed : trace.operators) {
    for (TensorNumber number : executed.writes) write(number);
    if (!executed.collective) continue;
    for (TensorNumber number : executed.collective->out) write(number);
  }
  std::vector<StorageId> uniform;
  for (size_t s = 0; s < trace.storages.size(); ++s) {
    if (trace.storages[s].uniform && trace.storages[s].size > 1 && !written[s]) {
      uniform.push_back(static_cast<StorageId>(s));
    }
  }
  return uniform;
}

std::optional<sdfg::IndexMap> SliceOf(const ListedWhole& whole, const Trace& rank,
                                      StorageId constant) {
  const Storage& part = rank.storages[constant];
  if ((part.values.empty() && !part.uniform) || part.dtype != whole.storage->dtype ||
      part.size >= whole.storage->size) {
    return std::nullopt;
  }
  std::vector<std::pair<sdfg::Shape, Box>> candidates;
  const std::set<sdfg::Shape> own_shapes = ShapesOf(rank, constant);
  for (const sdfg::Shape& shape : whole.shapes) {
    for (Box& box : BoxesOfInputs(shape, rank)) candidates.emplace_back(shape, box);
  }
  for (const sdfg::Shape& shape : whole.shapes) {
    if (part.uniform || CountsUp(part)) break;
    for (const sdfg::Shape& own : own_shapes) {
      for (Box& box : BoxesAlongOne(shape, own)) candidates.emplace_back(shape, box);
    }
  }
  for (const auto& [shape, box] : candidates) {
    std::optional<sdfg::IndexMap> map = MapOfBox(shape, box, part.size);
    if (map && HoldsAt(part, *whole.storage, *map)) return map;
  }
  return std::nullopt;
}

}  // namespace planproof::frontend::torch
