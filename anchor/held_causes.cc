#include "anchor/held_causes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime_check/positions.h"

namespace planproof::anchor {
namespace {

using runtime_check::CountOf;
using runtime_check::ForEachPosition;
using runtime_check::Values;
using Kind = HeldFinding::Kind;
using Part = HeldTensor::Part;

// Comparisons of slices that a search for their places may take.
constexpr int64_t kMostComparisons = int64_t{1} << 24;

bool SameAt(const HeldTensor& tensor, const Part& part, const Values& whole, int64_t i, int64_t at,
            double factor = 1) {
  return at >= 0 && SameNumber(part.values.At(i), part.dtype, factor * whole.At(at), tensor.dtype,
                               part.allowed);
}

// Whether the part's elements are those of `whole` at the map.
bool HoldsAt(const HeldTensor& tensor, const Part& part, const Values& whole,
             const std::vector<sdfg::IndexMap>& map, double factor = 1) {
  bool same = true;
  ForEachPosition(map, whole.shape, part.values.shape, [&](int64_t i, int64_t at) {
    same = same && SameAt(tensor, part, whole, i, at, factor);
  });
  return same;
}

// Whether the part's numbers tell places apart: they are not all equal, as zeros of biases are, and
// what an element may differ by is little beside what elements differ by among themselves.
bool TellsPlaces(const Part& part) {
  const auto count = static_cast<double>(part.values.size());
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < part.values.size(); ++i) sum += part.values.At(i);
  for (int64_t i = 0; i < part.values.size(); ++i) {
    const double own = part.values.At(i) - sum / count;
    squares += own * own;
  }
  return std::sqrt(squares / count) > 20 * part.allowed;
}

std::optional<HeldFinding> PartOfAnother(const HeldTensor& tensor, const Part& part) {
  std::vector<int32_t> ranks;
  const std::vector<sdfg::IndexMap>* found = nullptr;
  for (const Part& other : tensor.parts) {
    if (other.rank == part.rank || other.map == part.map) continue;
    if (other.values.shape != part.values.shape) continue;
    if (found != nullptr && *found != other.map) continue;
    if (found == nullptr && !HoldsAt(tensor, part, tensor.whole, other.map)) continue;
    found = &other.map;
    ranks.push_back(other.rank);
  }
  if (ranks.empty()) return std::nullopt;
  return HeldFinding{Kind::kOtherPart, absl::StrCat("the part of rank ", ranks[0])};
}

std::optional<HeldFinding> Transposed(const HeldTensor& tensor, const Part& part) {
  const sdfg::Shape& shape = part.values.shape;
  if (shape.size() != 2 || shape[0] != shape[1] || part.map.size() != 2) return std::nullopt;
  for (int64_t i = 0; i < shape[0]; ++i) {
    for (int64_t j = 0; j < shape[1]; ++j) {
      const int64_t at = runtime_check::PositionOf(part.map, tensor.whole.shape, {j, i});
      if (!SameAt(tensor, part, tensor.whole, i * shape[1] + j, at)) return std::nullopt;
    }
  }
  return HeldFinding{Kind::kTransposed, "its place transposed"};
}

std::optional<HeldFinding> Multiple(const HeldTensor& tensor, const Part& part) {
  double factor = 0;
  ForEachPosition(part.map, tensor.whole.shape, part.values.shape, [&](int64_t i, int64_t at) {
    if (factor != 0 || at < 0 || tensor.whole.At(at) == 0) return;
    factor = part.values.At(i) / tensor.whole.At(at);
  });
  if (factor == 0 || !std::isfinite(factor)) return std::nullopt;
  // The quotient of two rounded numbers.
  Part rounded = part;
  for (int64_t i = 0; i < part.values.size(); ++i)
    rounded.allowed = std::max(rounded.allowed, std::fabs(part.values.At(i)) * 0x1p-20);
  if (!HoldsAt(tensor, rounded, tensor.whole, part.map, factor)) return std::nullopt;
  return HeldFinding{Kind::kMultiple, absl::StrFormat("%.6g times its place", factor)};
}

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
      : tensor_(tensor), part_(part), dim_(dim) {
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
    if (mine == 0 || mine * theirs > kMostComparisons) return std::nullopt;
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
  bool Same(int64_t mine, int64_t theirs) const {
    return std::all_of(elements_.begin(), elements_.end(), [&](const auto& element) {
      return SameAt(tensor_, part_, tensor_.whole, element.first + mine * inner_,
                    element.second + theirs * stride_);
    });
  }

  const HeldTensor& tensor_;
  const Part& part_;
  size_t dim_;
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

std::optional<HeldFinding> OtherSlices(const HeldTensor& tensor, const Part& part) {
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
    return HeldFinding{Kind::kOtherPlaces,
                       absl::StrCat("places ", RunsText(*found), " of dimension ", dim,
                                    " of the whole, and its place is ", RunsText(wanted))};
  }
  return std::nullopt;
}

HeldFinding DifferingElements(const HeldTensor& tensor, const Part& part) {
  int64_t differing = 0, zeros = 0;
  for (int64_t i = 0; i < part.values.size(); ++i) zeros += part.values.At(i) == 0;
  if (zeros == part.values.size()) return {Kind::kUnrelated, "zeros"};
  ForEachPosition(part.map, tensor.whole.shape, part.values.shape, [&](int64_t i, int64_t at) {
    differing += !SameAt(tensor, part, tensor.whole, i, at);
  });
  if (2 * differing > part.values.size()) {
    return {Kind::kUnrelated,
            absl::StrCat("unrelated numbers: ",
                         differing == part.values.size()
                             ? absl::StrCat("all ", differing)
                             : absl::StrCat(differing, " of ", part.values.size()),
                         " elements differ")};
  }
  return {Kind::kSomeDiffer,
          absl::StrCat(differing, " of ", part.values.size(), " elements that differ")};
}

}  // namespace

HeldFinding WhatPartHolds(const HeldTensor& tensor, size_t number,
                          const std::vector<const HeldTensor*>& others) {
  const Part& part = tensor.parts[number];
  if (!TellsPlaces(part)) return DifferingElements(tensor, part);
  for (const auto& find : {PartOfAnother, Transposed, OtherSlices, Multiple}) {
    if (std::optional<HeldFinding> holds = find(tensor, part)) return *std::move(holds);
  }
  for (const HeldTensor* other : others) {
    if (other == &tensor || other->whole.shape != tensor.whole.shape) continue;
    if (!HoldsAt(tensor, part, other->whole, part.map)) continue;
    return {Kind::kOtherTensor, absl::StrCat("what the reference has as ", other->name)};
  }
  return DifferingElements(tensor, part);
}

std::string UsualCause(const HeldTensor& tensor, const std::vector<size_t>& differing, Kind kind) {
  const bool data = tensor.role == frontend::RecordedRole::kInput;
  switch (kind) {
    case Kind::kOtherPart:
      return data ? "a sampler or a slice goes by another number than the rank's coordinate"
                  : "a slice goes by another number than the rank's coordinate";
    case Kind::kOtherPlaces:
      return data ? "data are cut in another order than the inputs say"
                  : "a merged or converted weight (q, k and v; gate and up) was cut as one, or "
                    "along another dimension";
    case Kind::kTransposed:
      return "a weight was converted and not transposed";
    case Kind::kOtherTensor:
      return "weights are exchanged in a checkpoint";
    case Kind::kMultiple:
      return "it was scaled, or initialised otherwise";
    case Kind::kSomeDiffer:
      return "";
    case Kind::kUnrelated:
      break;
  }
  // Replicas of which some have the reference's numbers were not made equal.
  for (const size_t bad : differing) {
    for (size_t good = 0; good < tensor.parts.size(); ++good) {
      if (std::find(differing.begin(), differing.end(), good) != differing.end() ||
          tensor.parts[good].map != tensor.parts[bad].map) {
        continue;
      }
      return absl::StrCat(
          "rank ", tensor.parts[good].rank, ", which holds the same part, has the reference's: ",
          data ? "replicas read data of their own" : "replicas are seeded apart, or not broadcast");
    }
  }
  return data ? "ranks read other data than the reference"
              : "ranks start from another seed or checkpoint than the reference";
}

}  // namespace planproof::anchor
