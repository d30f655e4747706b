#include "lineage/map_range.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planproof::lineage {
namespace {

// Of one dimension: where the sum of its terms is looked at.
constexpr __int128 kMaxPlaces = 1 << 22;

bool WellFormed(const sdfg::IndexDigit& digit, const sdfg::Shape& shape) {
  return digit.dim >= 0 && static_cast<size_t>(digit.dim) < shape.size() && digit.div >= 1 &&
         digit.mod >= 0 && digit.offset >= 0;
}

// Of a tensor that has elements.
bool WellFormed(const IndexTerm& term, const sdfg::Shape& shape) {
  if (!WellFormed(term.digit(), shape)) return false;
  return !term.gated() ||
         (WellFormed(term.gate, shape) && term.gate.Most(shape[term.gate.dim]) <= 1);
}

// The least and the largest sum.
struct Reach {
  __int128 low = 0;
  __int128 high = 0;
};

Reach operator+(const Reach& a, const Reach& b) { return {a.low + b.low, a.high + b.high}; }

Reach Union(const Reach& a, const Reach& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

using Terms = std::vector<const IndexTerm*>;

// Whether every digit of one dimension takes all its values beside each value of the others.
bool Independent(Terms terms, int64_t extent) {
  std::sort(terms.begin(), terms.end(),
            [](const IndexTerm* a, const IndexTerm* b) { return a->div < b->div; });
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i]->offset != 0) return false;
    if (i + 1 == terms.size()) return true;
    const int64_t next = terms[i + 1]->div;
    int64_t end = 0;  // of the digit's period
    if (terms[i]->mod == 0 || __builtin_mul_overflow(terms[i]->div, terms[i]->mod, &end) ||
        next % end != 0 || extent % next != 0) {
      return false;
    }
  }
  return true;
}

// Within a stretch on which the term is affine: its length, unless it is affine everywhere.
__int128 Stretch(const IndexTerm& term) {
  return term.div > 1 ? term.div : static_cast<__int128>(term.mod);
}

// Between two neighbouring places where a digit begins anew each term grows, or falls, evenly or
// not at all, and so does their sum: it is least and largest at such places, or just before them.
// Nothing if there are too many of them.
std::optional<Reach> ReachAtPlaces(const Terms& terms, int64_t extent) {
  __int128 count = 2;
  for (const IndexTerm* term : terms) {
    if (const __int128 stretch = Stretch(*term); stretch > 0) count += 2 * (extent / stretch + 1);
  }
  if (count > kMaxPlaces) return std::nullopt;
  std::optional<Reach> reach;
  const auto look = [&](__int128 place) {
    if (place < 0 || place >= extent) return;
    __int128 sum = 0;
    for (const IndexTerm* term : terms) {
      sum += static_cast<__int128>(term->scale) * term->At(static_cast<int64_t>(place));
    }
    reach = reach.has_value() ? Union(*reach, {sum, sum}) : Reach{sum, sum};
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

// What the terms reach, each by itself: a bound that does not see that terms of one dimension
// belong together, nor gates.
Reach BoundOf(const Terms& terms, const sdfg::Shape& extents) {
  Reach bound;
  for (const IndexTerm* term : terms) {
    const __int128 most = static_cast<__int128>(term->scale) * term->Most(extents[term->dim]);
    (most < 0 ? bound.low : bound.high) += most;
  }
  return bound;
}

Reach BoundOf(const IndexMap& map, const sdfg::Shape& extents) {
  Terms terms;
  for (const IndexTerm& term : map.terms) terms.push_back(&term);
  return Reach{map.constant, map.constant} + BoundOf(terms, extents);
}

// Of a map without gates. Terms of different dimensions reach their ends together.
std::optional<Reach> ReachWithoutGates(const IndexMap& map, const sdfg::Shape& extents) {
  std::map<int32_t, Terms> by_dim;
  for (const IndexTerm& term : map.terms) by_dim[term.dim].push_back(&term);
  Reach reach{map.constant, map.constant};
  for (const auto& [dim, terms] : by_dim) {
    const std::optional<Reach> own = Independent(terms, extents[dim])
                                         ? BoundOf(terms, extents)
                                         : ReachAtPlaces(terms, extents[dim]);
    if (!own.has_value()) return std::nullopt;
    reach = reach + *own;
  }
  return reach;
}

// Of a well-formed map.
std::optional<Reach> ReachOf(const IndexMap& map, const sdfg::Shape& extents) {
  if (std::none_of(map.terms.begin(), map.terms.end(),
                   [](const IndexTerm& term) { return term.gated(); })) {
    return ReachWithoutGates(map, extents);
  }
  const auto pieces = sdfg::PiecesOf({map}, extents);
  if (!pieces.has_value()) return std::nullopt;
  std::optional<Reach> reach;
  for (const sdfg::IndexMapPiece& piece : *pieces) {
    const std::optional<Reach> own = ReachWithoutGates(piece.map[0], piece.extents);
    if (!own.has_value()) return std::nullopt;
    reach = reach.has_value() ? Union(*reach, *own) : *own;
  }
  return reach;
}

absl::Status UnknownRange() {
  return absl::ResourceExhaustedError(absl::StrCat(
      "index map: its range is not known; its digits begin anew at more than ",
      static_cast<int64_t>(kMaxPlaces),
      " places of one dimension, or a factor that is 0 or 1 and another digit are not nested (a "
      "limit of this program)"));
}

}  // namespace

absl::Status RangeOfMap(const IndexMap& map, const sdfg::Shape& shape, __int128* low,
                        __int128* high) {
  for (const IndexTerm& term : map.terms) {
    if (!WellFormed(term, shape)) return absl::InvalidArgumentError("malformed index map");
  }
  const std::optional<Reach> reach = ReachOf(map, shape);
  if (!reach.has_value()) return UnknownRange();
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
      if (!(empty ? WellFormed(term.digit(), from) : WellFormed(term, from))) {
        return absl::InvalidArgumentError(
            absl::StrCat("index ", d, " of its relation is not well formed"));
      }
    }
    if (empty) continue;
    const auto inside = [&](const Reach& reach) { return reach.low >= 0 && reach.high < to[d]; };
    if (inside(BoundOf(maps[d], from))) continue;
    const std::optional<Reach> reach = ReachOf(maps[d], from);
    if (!reach.has_value()) return UnknownRange();
    if (inside(*reach)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("its relation reaches index ",
                     static_cast<int64_t>(reach->low < 0 ? reach->low : reach->high),
                     " of dimension ", d, ", which has extent ", to[d]));
  }
  return absl::OkStatus();
}

}  // namespace planproof::lineage
