// The cover of maps whose digits depend on each other: every element of every slice is visited.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lineage/cover.h"
#include "sdfg/status_macros.h"

namespace planproof::lineage {
namespace {

constexpr int64_t kMax = int64_t{1} << 24;
constexpr int32_t kNobody = -1;

absl::Status TooManyElements() {
  return absl::UnimplementedError(
      "the cover of so irregular a map is not decided above 2^24 elements; cut dimensions by axes, "
      "or write the map with digits that do not depend on each other");
}

// One index of each set of indices of dimension `dim` that the map does not tell apart.
std::vector<int64_t> Representatives(const CoverBox& box, int32_t dim) {
  std::vector<sdfg::IndexDigit> digits;
  for (const IndexMap& map : box.map) {
    for (const IndexTerm& term : map.terms) {
      if (term.scale == 0) continue;
      if (term.dim == dim) digits.push_back(term.digit());
      if (term.gated() && term.gate.dim == dim) digits.push_back(term.gate);
    }
  }
  if (digits.empty()) return {0};
  std::vector<int64_t> indices;
  std::map<std::vector<int64_t>, int64_t> seen;
  for (int64_t i = 0; i < box.extents[dim]; ++i) {
    std::vector<int64_t> values;
    for (const sdfg::IndexDigit& digit : digits) values.push_back(digit.At(i));
    if (seen.emplace(std::move(values), i).second) indices.push_back(i);
  }
  return indices;
}

// Counts through `choices`: one position for each.
class Odometer {
 public:
  explicit Odometer(const std::vector<std::vector<int64_t>>& choices)
      : choices_(choices), at_(choices.size(), 0) {}
  int64_t Value(size_t d) const { return choices_[d][at_[d]]; }
  // False after the last.
  bool Next() {
    for (size_t d = at_.size(); d-- > 0;) {
      if (++at_[d] < choices_[d].size()) return true;
      at_[d] = 0;
    }
    return false;
  }

 private:
  const std::vector<std::vector<int64_t>>& choices_;
  std::vector<size_t> at_;
};

// What a box holds: its elements in row-major order, each with its slice.
struct BoxElements {
  std::vector<std::pair<int32_t, int32_t>> elements;  // element, slice
  std::vector<int32_t> sizes;                         // of the slices
};

// Enumerates one box.
class Visitor {
 public:
  // `owner`: one entry per element of the logical tensor, all kNobody, also afterwards.
  Visitor(const sdfg::Shape& logical, const CoverBox& box, std::vector<int32_t>* owner)
      : logical_(logical), box_(box), owner_(*owner) {}

  // At most `most` elements.
  absl::StatusOr<BoxElements> Run(int64_t most) {
    std::vector<std::vector<int64_t>> coordinates, local;
    __int128 elements = 1;
    for (size_t d = 0; d < box_.extents.size(); ++d) {
      const bool axis = static_cast<int>(d) < box_.axes;
      if (Mentions(static_cast<int32_t>(d))) elements *= box_.extents[d];
      if (elements > most) return TooManyElements();
      (axis ? coordinates : local).push_back(Representatives(box_, static_cast<int32_t>(d)));
    }
    Odometer rank(coordinates);
    do {
      std::vector<int32_t> slice;
      Odometer index(local);
      do {
        slice.push_back(Element(rank, index));
      } while (index.Next());
      PLAN_RETURN_IF_ERROR(Take(std::move(slice)));
    } while (rank.Next());
    std::sort(found_.elements.begin(), found_.elements.end());
    for (const auto& [element, slice] : found_.elements) owner_[element] = kNobody;
    return std::move(found_);
  }

 private:
  bool Mentions(int32_t dim) const {
    return std::any_of(box_.map.begin(), box_.map.end(), [&](const IndexMap& map) {
      return std::any_of(map.terms.begin(), map.terms.end(), [&](const IndexTerm& term) {
        return term.scale != 0 && (term.dim == dim || (term.gated() && term.gate.dim == dim));
      });
    });
  }

  int32_t Element(const Odometer& rank, const Odometer& index) const {
    std::vector<int64_t> source;
    for (size_t d = 0; d < box_.extents.size(); ++d) {
      const auto dim = static_cast<int32_t>(d);
      source.push_back(dim < box_.axes ? rank.Value(d) : index.Value(d - box_.axes));
    }
    int64_t flat = 0;
    for (size_t d = 0; d < logical_.size(); ++d) {
      flat = flat * logical_[d] + box_.map[d].ValueAt(source);
    }
    return static_cast<int32_t>(flat);
  }

  // The slice is one that was taken before, or its elements are in no other.
  absl::Status Take(std::vector<int32_t> slice) {
    std::sort(slice.begin(), slice.end());
    const auto twice = std::adjacent_find(slice.begin(), slice.end());
    if (twice != slice.end() && !box_.overlap) {
      return absl::InvalidArgumentError(
          absl::StrCat("overlap: a slice of ", box_.holder, " holds element ", *twice,
                       " (row-major) twice; if that is meant, say \"overlap\": true"));
    }
    const auto fresh = static_cast<int32_t>(found_.sizes.size());
    const int32_t expected = owner_[slice[0]] == kNobody ? fresh : owner_[slice[0]];
    for (int32_t element : slice) {
      if (owner_[element] == kNobody) {
        owner_[element] = fresh;
        found_.elements.emplace_back(element, fresh);
      }
      if (owner_[element] != expected && !box_.overlap) return OverlapError(box_, box_);
    }
    if (expected == fresh) {
      found_.sizes.push_back(static_cast<int32_t>(slice.size()));
    } else if (found_.sizes[expected] != static_cast<int32_t>(slice.size()) && !box_.overlap) {
      return OverlapError(box_, box_);
    }
    return absl::OkStatus();
  }

  const sdfg::Shape& logical_;
  const CoverBox& box_;
  std::vector<int32_t>& owner_;  // element -> slice
  BoxElements found_;
};

// Neither the same part nor slices that are equal or disjoint.
bool Overlap(const BoxElements& a, const BoxElements& b) {
  const auto element = [](const std::pair<int32_t, int32_t>& entry) { return entry.first; };
  const bool same_part =
      std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                 [&](const auto& x, const auto& y) { return element(x) == element(y); });
  if (same_part) return false;
  std::map<std::pair<int32_t, int32_t>, int32_t> common;  // slices of both -> elements
  for (size_t i = 0, j = 0; i < a.elements.size() && j < b.elements.size();) {
    const int32_t x = element(a.elements[i]);
    const int32_t y = element(b.elements[j]);
    if (x == y) ++common[{a.elements[i].second, b.elements[j].second}];
    if (x <= y) ++i;
    if (y <= x) ++j;
  }
  return std::any_of(common.begin(), common.end(), [&](const auto& entry) {
    return a.sizes[entry.first.first] != entry.second ||
           b.sizes[entry.first.second] != entry.second;
  });
}

}  // namespace

absl::Status CheckCoverByEnumeration(const sdfg::Shape& logical,
                                     const std::vector<const CoverBox*>& boxes) {
  __int128 volume = 1;
  for (int64_t extent : logical) {
    if ((volume *= extent) > kMax) return TooManyElements();
  }
  std::vector<bool> anywhere(static_cast<size_t>(volume), false);
  std::vector<int32_t> owner(static_cast<size_t>(volume), kNobody);
  std::vector<std::pair<const CoverBox*, BoxElements>> undeclared;
  int64_t room = 2 * kMax;  // elements that are kept for comparison
  for (const CoverBox* box : boxes) {
    PLAN_ASSIGN_OR_RETURN(BoxElements held,
                          Visitor(logical, *box, &owner).Run(std::min(kMax, room)));
    for (const auto& [element, slice] : held.elements) anywhere[element] = true;
    if (box->overlap) continue;
    for (const auto& [other, others] : undeclared) {
      if (Overlap(others, held)) return OverlapError(*other, *box);
    }
    room -= static_cast<int64_t>(held.elements.size());
    undeclared.emplace_back(box, std::move(held));
  }
  const auto hole = std::find(anywhere.begin(), anywhere.end(), false);
  if (hole == anywhere.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("hole: nobody holds element ", hole - anywhere.begin(), " (row-major)"));
}

absl::Status OverlapError(const CoverBox& a, const CoverBox& b) {
  return absl::InvalidArgumentError(absl::StrCat(
      "overlap: ", a.holder,
      a.holder == b.holder ? " holds" : absl::StrCat(" and ", b.holder, " hold"),
      " overlapping slices that are not equal; if that is meant, say \"overlap\": true"));
}

}  // namespace planproof::lineage
