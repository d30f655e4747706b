#include "anchor/held_slices.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime_check/positions.h"

namespace planproof::anchor {
namespace {

using runtime_check::CountOf;
using Part = HeldTensor::Part;

// Comparisons of slices that a search for their places may take.
constexpr int64_t kMostComparisons = int64_t{1} << 24;

// Indices of one dimension as runs: "0:4, 8:12", or "0, 2, 4 and on by 2".
std::string RunsText(const std::vector<int64_t>& indices) {
  const auto count = static_cast<int64_t>(indices.size());
  if (count > 2 && indices[1] - indices[0] > 1) {
    const int64_t step = indices[1] - indices[0];
    bool even = true;
    for (int64_t i = 0; i < count; ++i) even = even && indices[i] == indices[0] + i * step;
    if (even) return absl::StrCat(indices[0], ", ", indices[1], " and on by ", step);
  }
  std::vector<std::string> runs;
  for (int64_t i = 0; i < count;) {
    int64_t end = i + 1;
    while (end < count && indices[end] == indices[end - 1] + 1) ++end;
    runs.push_back(end == i + 1 ? absl::StrCat(indices[i])
                                : absl::StrCat(indices[i], ":", indices[end - 1] + 1));
    i = end;
  }
  const size_t all = runs.size();
  constexpr size_t kMostRuns = 8;
  if (all > kMostRuns) runs.resize(kMostRuns);
  return absl::StrCat(absl::StrJoin(runs, ", "), all > kMostRuns ? ", ..." : "");
}

// The part's slices along one dimension, each looked for among the reference's, the other
// dimensions being at the part's place.
class SliceSearch {
 public:
  SliceSearch(const HeldTensor& tensor, const Part& part, size_t dim)
      : tensor_(tensor), part_(part), dim_(dim), evidence_(EvidenceOf(part)) {
    const sdfg::Shape& shape = part.values.shape;
    for (size_t d = dim + 1; d < shape.size(); ++d) inner_ *= shape[d];
    std::vector<int64_t> index(shape.size(), 0);
    sdfg::Shape others = shape;
    others[dim] = 1;
    const int64_t count = CountOf(others);
    std::vector<int64_t> strides(shape.size(), 1);
    const sdfg::Shape& whole = tensor.whole.shape;
    for (size_t d = whole.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * whole[d + 1];
    stride_ = strides[dim];
    for (int64_t i = 0; i < count; ++i) {
      int64_t own = 0, theirs = 0, stride = 1;
      for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) own += index[d] * stride;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (d != dim) theirs += part.map[d].ValueAt(index) * strides[d];
      }
      elements_.emplace_back(own, theirs);
      runtime_check::Advance(others, &index);
    }
  }

  // Where each slice stands; nothing if one is nowhere, or as its place says.
  std::optional<std::vector<int64_t>> Find() const {
    const int64_t mine = part_.values.shape[dim_], theirs = tensor_.whole.shape[dim_];
    if (mine == 0 || mine * theirs > kMostComparisons || !Tells(mine, theirs)) return std::nullopt;
    std::vector<int64_t> found;
    int64_t next = 0;  // usually they stand one after another
    for (int64_t i = 0; i < mine; ++i) {
      int64_t at = -1;
      for (int64_t k = 0; k < theirs && at < 0; ++k) {
        const int64_t candidate = (next + k) % theirs;
        if (Same(i, candidate)) at = candidate;
      }
      if (at < 0) return std::nullopt;
      found.push_back(at);
      next = at + 1;
    }
    return found;
  }

 private:
  // Whether unrelated numbers would hardly be found: each of my slices among so many of theirs.
  bool Tells(int64_t mine, int64_t theirs) const {
    const double slice = std::log(evidence_.chance) * static_cast<double>(elements_.size()) +
                         std::log(static_cast<double>(theirs));
    return slice < 0 && slice * static_cast<double>(mine) < kLogOfSmallChance;
  }
  bool Same(int64_t mine, int64_t theirs) const {
    return std::all_of(elements_.begin(), elements_.end(), [&](const auto& element) {
      return SameNumber(part_.values.At(element.first + mine * inner_), part_.dtype,
                        tensor_.whole.At(element.second + theirs * stride_), tensor_.dtype,
                        evidence_.allowed);
    });
  }

  const HeldTensor& tensor_;
  const Part& part_;
  size_t dim_;
  HeldEvidence evidence_;
  int64_t inner_ = 1, stride_ = 1;
  std::vector<std::pair<int64_t, int64_t>> elements_;  // of a slice: in the part, in the whole
};

// A relation in which each dimension of the part is one of the whole.
bool ByDimension(const HeldTensor& tensor, const Part& part) {
  if (part.map.size() != part.values.shape.size() || part.map.size() != tensor.whole.shape.size())
    return false;
  for (size_t d = 0; d < part.map.size(); ++d) {
    for (const sdfg::IndexTerm& term : part.map[d].terms) {
      if (term.dim != static_cast<int32_t>(d) || term.gated()) return false;
    }
  }
  return !part.map.empty();
}

}  // namespace

std::optional<std::string> OtherSlices(const HeldTensor& tensor, const HeldTensor::Part& part) {
  if (!ByDimension(tensor, part)) return std::nullopt;
  for (size_t dim = 0; dim < part.map.size(); ++dim) {
    const std::optional<std::vector<int64_t>> found = SliceSearch(tensor, part, dim).Find();
    if (!found) continue;
    std::vector<int64_t> wanted, index(part.map.size(), 0);
    for (int64_t i = 0; i < part.values.shape[dim]; ++i) {
      index[dim] = i;
      wanted.push_back(part.map[dim].ValueAt(index));
    }
    if (wanted == *found) continue;
    return absl::StrCat("places ", RunsText(*found), " of dimension ", dim,
                        " of the whole, and its place is ", RunsText(wanted));
  }
  return std::nullopt;
}

}  // namespace planproof::anchor
