#include "lineage/map_range.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planproof::lineage {
namespace {

constexpr int64_t kMaxEnumeratedIndices = int64_t{1} << 24;

// Whether every digit of one dimension takes all its values beside each value of the others.
bool Independent(std::vector<const IndexTerm*> terms, int64_t extent) {
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

// Terms of different dimensions reach their ends together; those of one dimension are added up for
// each of its indices, unless they are digits that do not depend on each other.
bool RangeWithoutGates(const IndexMap& map, const sdfg::Shape& shape, __int128* low,
                       __int128* high) {
  *low = *high = map.constant;
  std::map<int32_t, std::vector<const IndexTerm*>> by_dim;
  for (const IndexTerm& term : map.terms) {
    by_dim[term.dim].push_back(&term);
  }
  for (const auto& [dim, terms] : by_dim) {
    if (Independent(terms, shape[dim])) {
      for (const IndexTerm* term : terms) {
        (term->scale > 0 ? *high : *low) +=
            static_cast<__int128>(term->Most(shape[dim])) * term->scale;
      }
      continue;
    }
    if (shape[dim] > kMaxEnumeratedIndices) return false;
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

// What the terms of a well-formed map reach, each by itself.
std::pair<__int128, __int128> Bounds(const IndexMap& map, const sdfg::Shape& extents) {
  __int128 low = map.constant;
  __int128 high = low;
  for (const IndexTerm& term : map.terms) {
    const __int128 reach = static_cast<__int128>(term.scale) * term.Most(extents[term.dim]);
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

}  // namespace

bool RangeOfMap(const IndexMap& map, const sdfg::Shape& shape, __int128* low, __int128* high) {
  bool gated = false;
  for (const IndexTerm& term : map.terms) {
    if (!WellFormed(term, shape)) return false;
    gated = gated || term.gated();
  }
  if (!gated) return RangeWithoutGates(map, shape, low, high);
  const auto pieces = sdfg::PiecesOf({map}, shape);
  if (!pieces.has_value()) return false;
  for (size_t p = 0; p < pieces->size(); ++p) {
    __int128 least, most;
    if (!RangeWithoutGates((*pieces)[p].map[0], (*pieces)[p].extents, &least, &most)) return false;
    *low = p == 0 ? least : std::min(*low, least);
    *high = p == 0 ? most : std::max(*high, most);
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
      if (!(empty ? WellFormed(term.digit(), from) : WellFormed(term, from))) {
        return absl::InvalidArgumentError(
            absl::StrCat("index ", d, " of its relation is not well formed"));
      }
    }
    if (empty) continue;
    auto [low, high] = Bounds(maps[d], from);
    if (low >= 0 && high < to[d]) continue;
    // Not what the terms reach each by itself, but together.
    if (RangeOfMap(maps[d], from, &low, &high) && low >= 0 && high < to[d]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("its relation reaches index ", static_cast<int64_t>(low < 0 ? low : high),
                     " of dimension ", d, ", which has extent ", to[d]));
  }
  return absl::OkStatus();
}

}  // namespace planproof::lineage
