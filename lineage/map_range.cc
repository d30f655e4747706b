#include "lineage/map_range.h"

#include <algorithm>
#include <map>
#include <vector>

namespace planproof::lineage {
namespace {

constexpr int64_t kMostEnumerated = int64_t{1} << 20;

}  // namespace

// Terms of different dimensions reach their ends together; those of one dimension are added up for
// each of its indices.
bool RangeOfMap(const IndexMap& map, const sdfg::Shape& shape, __int128* low, __int128* high) {
  *low = *high = map.constant;
  std::map<int32_t, std::vector<const IndexTerm*>> by_dim;
  for (const IndexTerm& term : map.terms) {
    if (term.dim < 0 || static_cast<size_t>(term.dim) >= shape.size() || term.div < 1 ||
        term.mod < 0 || term.offset < 0) {
      return false;
    }
    by_dim[term.dim].push_back(&term);
  }
  for (const auto& [dim, terms] : by_dim) {
    if (terms.size() == 1 && terms[0]->offset == 0) {
      const __int128 most = terms[0]->Most(shape[dim]);
      (terms[0]->scale > 0 ? *high : *low) += most * terms[0]->scale;
      continue;
    }
    if (shape[dim] > kMostEnumerated) return false;
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

}  // namespace planproof::lineage
