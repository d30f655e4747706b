#include "frontend/plan/cover.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::plan {
namespace {

using lineage::IndexMap;
using lineage::IndexTerm;
using Interval = std::pair<int64_t, int64_t>;  // [first, second)
using Image = std::vector<Interval>;           // disjoint, ascending

constexpr int64_t kMaxEnumerated = int64_t{1} << 24;
constexpr int64_t kMaxCells = 1'000'000;

// Number of values of the digit, at the tensor's extents. With an offset: of a whole period.
int64_t RangeOf(const IndexTerm& term, const sdfg::Shape& extents) {
  return term.offset > 0 ? term.mod : term.Most(extents[term.dim]) + 1;
}

// A digit with an offset takes each of its values as often as any other.
bool WholePeriods(const CoverBox& box) {
  for (const IndexMap& map : box.map) {
    for (const IndexTerm& term : map.terms) {
      int64_t period = 0;
      if (term.offset > 0 && (__builtin_mul_overflow(term.div, term.mod, &period) ||
                              box.extents[term.dim] % period != 0)) {
        return false;
      }
    }
  }
  return true;
}

// Digits of one box vary independently: no digit occurs twice, and below every digit of a dimension
// the dimension is a whole number of periods.
bool Independent(const CoverBox& box) {
  if (!WholePeriods(box)) return false;
  std::map<int32_t, std::vector<std::pair<int64_t, int64_t>>> digits;  // dim -> [div, div * mod)
  for (const IndexMap& map : box.map) {
    for (const IndexTerm& term : map.terms) {
      int64_t end = 0;  // 0: the rest
      if (term.mod > 0 && __builtin_mul_overflow(term.div, term.mod, &end)) return false;
      digits[term.dim].emplace_back(term.div, end);
    }
  }
  for (auto& [dim, list] : digits) {
    std::sort(list.begin(), list.end());
    for (size_t i = 0; i < list.size(); ++i) {
      if (i + 1 < list.size() && (list[i].second == 0 || list[i].second > list[i + 1].first)) {
        return false;
      }
      if (i + 1 < list.size() && box.extents[dim] % list[i].second != 0) return false;
      if (list[i].first > 1 && box.extents[dim] % list[i].first != 0) return false;
    }
  }
  return true;
}

// The set of values of one dimension's map. False if it is too large to enumerate.
bool ImageOf(const IndexMap& map, const sdfg::Shape& extents, Image* image, bool* injective) {
  std::vector<std::pair<int64_t, int64_t>> steps;  // scale, range
  int64_t low = map.constant;
  __int128 combinations = 1;
  for (const IndexTerm& term : map.terms) {
    const int64_t range = RangeOf(term, extents);
    if (range <= 1) continue;
    combinations *= range;
    if (combinations > (static_cast<__int128>(1) << 62)) return false;
    if (term.scale < 0) low += term.scale * (range - 1);
    steps.emplace_back(term.scale < 0 ? -term.scale : term.scale, range);
  }
  std::sort(steps.begin(), steps.end());
  int64_t filled = 1;
  bool exact = true;
  for (const auto& [scale, range] : steps) {
    exact = exact && scale == filled;
    if (exact) filled *= range;
  }
  *injective = true;
  if (exact) {
    *image = {{low, low + filled}};
    return true;
  }
  if (combinations > kMaxEnumerated) return false;
  std::vector<int64_t> values{low};
  for (const auto& [scale, range] : steps) {
    std::vector<int64_t> next;
    next.reserve(values.size() * range);
    for (int64_t i = 0; i < range; ++i) {
      for (int64_t value : values) next.push_back(value + i * scale);
    }
    values = std::move(next);
  }
  std::sort(values.begin(), values.end());
  *injective = std::adjacent_find(values.begin(), values.end()) == values.end();
  image->clear();
  for (int64_t value : values) {
    if (!image->empty() && value < image->back().second) continue;
    if (!image->empty() && value == image->back().second) {
      ++image->back().second;
    } else {
      image->push_back({value, value + 1});
    }
  }
  return true;
}

bool Contains(const Image& image, int64_t value) {
  auto after = std::upper_bound(image.begin(), image.end(), value,
                                [](int64_t v, const Interval& i) { return v < i.first; });
  return after != image.begin() && value < std::prev(after)->second;
}

std::string RangeText(size_t dim, int64_t from, int64_t to) {
  return absl::StrCat("[", from, ", ", to, ") of dimension ", dim);
}

// Marks every element that some box holds; for maps whose digits are not independent.
absl::Status CoverByEnumeration(const sdfg::Shape& logical, const std::vector<CoverBox>& boxes) {
  __int128 volume = 1;
  for (int64_t extent : logical) volume *= extent;
  for (const CoverBox& box : boxes) {
    __int128 elements = 1;
    for (int64_t extent : box.extents) elements *= extent;
    if (elements > kMaxEnumerated) volume = static_cast<__int128>(kMaxEnumerated) + 1;
  }
  if (volume > kMaxEnumerated) {
    return absl::UnimplementedError("the cover of so irregular a map is not decided");
  }
  std::vector<bool> held(static_cast<size_t>(volume), false);
  for (const CoverBox& box : boxes) {
    sdfg::Shape at(box.extents.size(), 0);
    if (std::find(box.extents.begin(), box.extents.end(), 0) != box.extents.end()) continue;
    while (true) {
      int64_t flat = 0;
      for (size_t d = 0; d < logical.size(); ++d) {
        int64_t index = box.map[d].constant;
        for (const IndexTerm& term : box.map[d].terms) {
          index += term.scale * term.At(at[term.dim]);
        }
        flat = flat * logical[d] + index;
      }
      held[flat] = true;
      size_t d = at.size();
      while (d > 0 && ++at[d - 1] == box.extents[d - 1]) at[--d] = 0;
      if (d == 0) break;
    }
  }
  const auto hole = std::find(held.begin(), held.end(), false);
  if (hole == held.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("hole: nobody holds element ", hole - held.begin(), " (row-major)"));
}

}  // namespace

absl::Status CheckCoverOf(const sdfg::Shape& logical, const std::vector<CoverBox>& boxes) {
  for (int64_t extent : logical) {
    if (extent == 0) return absl::OkStatus();
  }
  std::vector<std::vector<Image>> images;
  std::vector<const CoverBox*> holders;
  for (const CoverBox& box : boxes) {
    if (std::find(box.extents.begin(), box.extents.end(), 0) != box.extents.end()) continue;
    if (!Independent(box)) return CoverByEnumeration(logical, boxes);
    std::vector<Image> image(logical.size());
    for (size_t d = 0; d < logical.size(); ++d) {
      bool injective = true;
      if (!ImageOf(box.map[d], box.extents, &image[d], &injective)) {
        return absl::UnimplementedError("the cover of so irregular a map is not decided");
      }
      if (!injective && !box.overlap) {
        return absl::InvalidArgumentError(
            absl::StrCat("overlap: the slices of ", box.holder, " overlap along dimension ", d,
                         "; if that is meant, say \"overlap\": true"));
      }
    }
    images.push_back(std::move(image));
    holders.push_back(&box);
  }
  // Cells between all bounds of all images.
  std::vector<std::vector<int64_t>> cuts(logical.size());
  int64_t cells = 1;
  for (size_t d = 0; d < logical.size(); ++d) {
    cuts[d] = {0, logical[d]};
    for (const std::vector<Image>& image : images) {
      for (const Interval& interval : image[d]) {
        cuts[d].push_back(interval.first);
        cuts[d].push_back(interval.second);
      }
    }
    std::sort(cuts[d].begin(), cuts[d].end());
    cuts[d].erase(std::unique(cuts[d].begin(), cuts[d].end()), cuts[d].end());
    cells *= static_cast<int64_t>(cuts[d].size()) - 1;
    if (cells > kMaxCells) return CoverByEnumeration(logical, boxes);
  }
  std::vector<size_t> at(logical.size(), 0);
  for (int64_t cell = 0; cell < cells; ++cell) {
    int first = -1;
    for (size_t b = 0; b < images.size(); ++b) {
      bool inside = true;
      for (size_t d = 0; inside && d < logical.size(); ++d) {
        inside = Contains(images[b][d], cuts[d][at[d]]);
      }
      if (!inside) continue;
      if (first < 0) {
        first = static_cast<int>(b);
      } else if (images[b] != images[first] && !holders[b]->overlap && !holders[first]->overlap) {
        return absl::InvalidArgumentError(
            absl::StrCat("overlap: ", holders[first]->holder, " and ", holders[b]->holder,
                         " hold overlapping slices that are not equal; if that is meant, say "
                         "\"overlap\": true"));
      }
    }
    if (first < 0) {
      std::string where;
      for (size_t d = 0; d < logical.size(); ++d) {
        if (cuts[d].size() == 2) continue;  // the whole dimension
        absl::StrAppend(&where, where.empty() ? "" : ", ",
                        RangeText(d, cuts[d][at[d]], cuts[d][at[d] + 1]));
      }
      return absl::InvalidArgumentError(
          absl::StrCat("hole: nobody holds ", where.empty() ? "it" : where));
    }
    for (size_t d = logical.size(); d-- > 0;) {
      if (++at[d] + 1 < cuts[d].size()) break;
      at[d] = 0;
    }
  }
  return absl::OkStatus();
}

}  // namespace planproof::plan
