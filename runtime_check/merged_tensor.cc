#include "runtime_check/merged_tensor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime_check/positions.h"

namespace planproof::runtime_check {
namespace {

void Note(const sdfg::Shape& shape, int64_t position, double difference, Disagreement* found) {
  if (found->elements++ == 0) found->index = IndexAt(shape, position);
  found->squares += difference * difference;
}

}  // namespace

MergedTensor::MergedTensor(sdfg::Shape logical)
    : shape_(std::move(logical)), values_(CountOf(shape_), 0), owner_(CountOf(shape_), 0) {}

bool MergedTensor::Add(const Values& values, int axes, const std::vector<sdfg::IndexMap>& map) {
  const int64_t local = CountOf({values.shape.begin() + axes, values.shape.end()});
  bool inside = true;
  ForEachPosition(map, shape_, values.shape, [&](int64_t i, int64_t at) {
    if (at < 0) {
      inside = false;
      return;
    }
    const double value = values.At(i);
    const int64_t owner = i % local + 1;
    if (owner_[at] == 0) {
      owner_[at] = owner;
      values_[at] = value;
      ++held_;
      return;
    }
    const double first = values_[at];
    if (value == first || (std::isnan(value) && std::isnan(first))) return;
    Note(shape_, at, value - first,
         owner_[at] == owner ? &disagreements_.replicas : &disagreements_.overlaps);
  });
  return inside;
}

Disagreements MergedTensor::Add(const MergedTensor& other) {
  Disagreements found;
  for (int64_t at = 0; at < static_cast<int64_t>(owner_.size()); ++at) {
    if (other.owner_[at] == 0) continue;
    const double value = other.values_[at], first = values_[at];
    if (owner_[at] == 0) {
      owner_[at] = other.owner_[at];
      values_[at] = value;
      ++held_;
    } else if (value != first && !(std::isnan(value) && std::isnan(first))) {
      Note(shape_, at, value - first,
           owner_[at] == other.owner_[at] ? &found.replicas : &found.overlaps);
    }
  }
  return found;
}

std::vector<int64_t> MergedTensor::FirstOmitted() const {
  const auto at = std::find(owner_.begin(), owner_.end(), 0);
  return IndexAt(shape_, at - owner_.begin());
}

}  // namespace planproof::runtime_check
