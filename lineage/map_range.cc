#include "lineage/map_range.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planproof::lineage {
namespace {

constexpr int64_t kMaxEnumerated = int64_t{1} << 20;
constexpr int64_t kMaxVisited = int64_t{1} << 24;

bool WellFormed(const IndexTerm& term, const sdfg::Shape& shape) {
  return term.dim >= 0 && static_cast<size_t>(term.dim) < shape.size() && term.div >= 1 &&
         term.mod >= 0 && term.offset >= 0;
}

// The least and the largest index of a well-formed map: bounds, or with `exact` what is reached,
// unless a dimension is too long to go through.
std::pair<__int128, __int128> Reach(const IndexMap& map, const sdfg::Shape& extents, bool exact) {
  __int128 low = map.constant;
  __int128 high = low;
  std::map<int32_t, std::vector<const IndexTerm*>> digits;  // by dimension
  for (const IndexTerm& term : map.terms) digits[term.dim].push_back(&term);
  for (const auto& [dim, terms] : digits) {
    __int128 least = 0;
    __int128 most = 0;
    if (exact && extents[dim] <= kMaxVisited) {
      for (int64_t i = 0; i < extents[dim]; ++i) {
        __int128 sum = 0;
        for (const IndexTerm* term : terms) {
          sum += static_cast<__int128>(term->scale) * term->At(i);
        }
        least = i == 0 ? sum : std::min(least, sum);
        most = i == 0 ? sum : std::max(most, sum);
      }
    } else {
      for (const IndexTerm* term : terms) {
        const __int128 reach = static_cast<__int128>(term->scale) * term->Most(extents[dim]);
        (reach < 0 ? least : most) += reach;
      }
    }
    low += least;
    high += most;
  }
  return {low, high};
}

}  // namespace

// Terms of different dimensions reach their ends together; those of one dimension are added up for
// each of its indices.
bool RangeOfMap(const IndexMap& map, const sdfg::Shape& shape, __int128* low, __int128* high) {
  *low = *high = map.constant;
  std::map<int32_t, std::vector<const IndexTerm*>> by_dim;
  for (const IndexTerm& term : map.terms) {
    if (!WellFormed(term, shape)) return false;
    by_dim[term.dim].push_back(&term);
  }
  for (const auto& [dim, terms] : by_dim) {
    if (terms.size() == 1 && terms[0]->offset == 0) {
      const __int128 most = terms[0]->Most(shape[dim]);
      (terms[0]->scale > 0 ? *high : *low) += most * terms[0]->scale;
      continue;
    }
    if (shape[dim] > kMaxEnumerated) return false;
    __int128 least = 0, most = 0;
    for (int64_t index = 0; index < shape[dim]; ++index) {
      __int128 value = 0;
      for (const IndexTerm* term : terms) {
        value += static_cast<__int128>(term->At(index)) * term->scale;
      }
      least = index == 0 ? value : std::min(least, value);
      most = index == 0 ? value : std::max(most, value);
    }
    *low += least;
    *high += most;
  }
  return true;
}

absl::Status CheckInside(const std::vector<IndexMap>& maps, const sdfg::Shape& from,
                         const sdfg::Shape& to) {
  if (maps.size() != to.size()) {
    return absl::InvalidArgumentError(absl::StrCat("its relation has ", maps.size(),
                                                   " indices, the logical tensor ", to.size(),
                                                   " dimensions"));
  }
  const bool empty = std::find(from.begin(), from.end(), 0) != from.end();  // no index at all
  for (size_t d = 0; d < to.size(); ++d) {
    for (const IndexTerm& term : maps[d].terms) {
      if (!WellFormed(term, from)) {
        return absl::InvalidArgumentError(
            absl::StrCat("index ", d, " of its relation is not well formed"));
      }
    }
    if (empty) continue;
    auto [low, high] = Reach(maps[d], from, /*exact=*/false);
    if (low >= 0 && high < to[d]) continue;
    std::tie(low, high) = Reach(maps[d], from, /*exact=*/true);
    if (low >= 0 && high < to[d]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("its relation reaches index ", static_cast<int64_t>(low < 0 ? low : high),
                     " of dimension ", d, ", which has extent ", to[d]));
  }
  return absl::OkStatus();
}

}  // namespace planproof::lineage
