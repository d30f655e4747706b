#include "lineage/map_range.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planproof::lineage {
namespace {

// Of one dimension: where the sum of its terms is looked at.
constexpr __int128 kMostPlaces = 1 << 22;

bool WellFormed(const IndexTerm& term, const sdfg::Shape& shape) {
  return term.dim >= 0 && static_cast<size_t>(term.dim) < shape.size() && term.div >= 1 &&
         term.mod >= 0 && term.offset >= 0;
}

// The least and the largest sum.
struct Reach {
  __int128 low = 0;
  __int128 high = 0;
};

Reach operator+(const Reach& a, const Reach& b) { return {a.low + b.low, a.high + b.high}; }

using Terms = std::vector<const IndexTerm*>;

// Within a stretch on which the term is affine: its length, unless it is affine everywhere.
__int128 Stretch(const IndexTerm& term) {
  return term.div > 1 ? term.div : static_cast<__int128>(term.mod);
}

// Between two neighbouring places where a digit begins anew each term grows, or falls, evenly or
// not at all, and so does their sum: it is least and largest at such places, or just before them.
// Nothing if there are too many of them.
std::optional<Reach> ReachOf(const Terms& terms, int64_t extent) {
  __int128 count = 2;
  for (const IndexTerm* term : terms) {
    if (const __int128 stretch = Stretch(*term); stretch > 0) count += 2 * (extent / stretch + 1);
  }
  if (count > kMostPlaces) return std::nullopt;
  std::optional<Reach> reach;
  const auto look = [&](__int128 place) {
    if (place < 0 || place >= extent) return;
    __int128 sum = 0;
    for (const IndexTerm* term : terms) {
      sum += static_cast<__int128>(term->scale) * term->At(static_cast<int64_t>(place));
    }
    reach = reach.has_value() ? Reach{std::min(reach->low, sum), std::max(reach->high, sum)}
                              : Reach{sum, sum};
  };
  look(0);
  look(extent - 1);
  for (const IndexTerm* term : terms) {
    const __int128 stretch = Stretch(*term);
    if (stretch == 0) continue;
    for (__int128 place = stretch - term->offset % stretch; place < extent; place += stretch) {
      look(place - 1);
      look(place);
    }
  }
  return reach;
}

// A bound that does not see that terms of one dimension belong together.
Reach BoundOf(const Terms& terms, int64_t extent) {
  Reach bound;
  for (const IndexTerm* term : terms) {
    const __int128 most = static_cast<__int128>(term->scale) * term->Most(extent);
    (most < 0 ? bound.low : bound.high) += most;
  }
  return bound;
}

std::map<int32_t, Terms> TermsByDimension(const IndexMap& map) {
  std::map<int32_t, Terms> terms;
  for (const IndexTerm& term : map.terms) terms[term.dim].push_back(&term);
  return terms;
}

// Terms of different dimensions reach their ends together. `exact`: what is reached, or nothing; a
// bound otherwise.
std::optional<Reach> ReachOf(const IndexMap& map, const sdfg::Shape& extents, bool exact) {
  Reach reach{map.constant, map.constant};
  for (const auto& [dim, terms] : TermsByDimension(map)) {
    const bool alone = terms.size() == 1 && terms[0]->offset == 0;
    const std::optional<Reach> own =
        alone || !exact ? BoundOf(terms, extents[dim]) : ReachOf(terms, extents[dim]);
    if (!own.has_value()) return std::nullopt;
    reach = reach + *own;
  }
  return reach;
}

absl::Status TooManyDigits() {
  return absl::ResourceExhaustedError(absl::StrCat(
      "index map: its digits begin anew at more than ", static_cast<int64_t>(kMostPlaces),
      " places of one dimension, so that its range ", "is not known (a limit of this program)"));
}

}  // namespace

absl::Status RangeOfMap(const IndexMap& map, const sdfg::Shape& shape, __int128* low,
                        __int128* high) {
  for (const IndexTerm& term : map.terms) {
    if (!WellFormed(term, shape)) return absl::InvalidArgumentError("malformed index map");
  }
  const std::optional<Reach> reach = ReachOf(map, shape, /*exact=*/true);
  if (!reach.has_value()) return TooManyDigits();
  *low = reach->low;
  *high = reach->high;
  return absl::OkStatus();
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
    const auto inside = [&](const Reach& reach) { return reach.low >= 0 && reach.high < to[d]; };
    if (inside(*ReachOf(maps[d], from, /*exact=*/false))) continue;
    const std::optional<Reach> reach = ReachOf(maps[d], from, /*exact=*/true);
    if (!reach.has_value()) return TooManyDigits();
    if (inside(*reach)) continue;
    const auto [low, high] = *reach;
    return absl::InvalidArgumentError(
        absl::StrCat("its relation reaches index ", static_cast<int64_t>(low < 0 ? low : high),
                     " of dimension ", d, ", which has extent ", to[d]));
  }
  return absl::OkStatus();
}

}  // namespace planproof::lineage
