#include "lineage/cover.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sdfg/status_macros.h"

namespace planproof::lineage {
namespace {

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
      if (term.scale == 0) continue;
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

struct Digit {
  int64_t scale = 0;  // positive
  int64_t range = 0;
};

// All sums of digits, from `low` on. False if they are too many to enumerate. `injective`: no sum
// occurs twice.
bool Sums(int64_t low, std::vector<Digit> digits, Image* image, bool* injective) {
  std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) {
    return std::pair(a.scale, a.range) < std::pair(b.scale, b.range);
  });
  __int128 combinations = 1;
  for (const Digit& digit : digits) {
    combinations *= digit.range;
    if (combinations > (static_cast<__int128>(1) << 62)) return false;
  }
  // The first digits fill [0, filled), and the others move that by multiples of `filled`.
  int64_t filled = 1;
  size_t first = 0;
  int64_t end = 1;
  for (size_t i = 0; i < digits.size() && digits[i].scale == end; ++i) {
    end *= digits[i].range;
    if (std::all_of(digits.begin() + i + 1, digits.end(),
                    [end](const Digit& digit) { return digit.scale % end == 0; })) {
      filled = end;
      first = i + 1;
    }
  }
  if (combinations / filled > kMaxEnumerated) return false;
  std::vector<int64_t> values{low};
  for (size_t d = first; d < digits.size(); ++d) {
    std::vector<int64_t> next;
    next.reserve(values.size() * digits[d].range);
    for (int64_t i = 0; i < digits[d].range; ++i) {
      for (int64_t value : values) next.push_back(value + i * digits[d].scale);
    }
    values = std::move(next);
  }
  std::sort(values.begin(), values.end());
  *injective = std::adjacent_find(values.begin(), values.end()) == values.end();
  image->clear();
  for (int64_t value : values) {
    if (!image->empty() && value < image->back().second) continue;
    if (!image->empty() && value == image->back().second) {
      image->back().second += filled;
    } else {
      image->push_back({value, value + filled});
    }
  }
  return true;
}

int64_t SizeOf(const Image& image) {
  int64_t size = 0;
  for (const Interval& interval : image) size += interval.second - interval.first;
  return size;
}

int64_t CommonSize(const Image& a, const Image& b) {
  int64_t size = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    size +=
        std::max<int64_t>(0, std::min(a[i].second, b[j].second) - std::max(a[i].first, b[j].first));
    a[i].second < b[j].second ? ++i : ++j;
  }
  return size;
}

// How the slices of a box lie in one dimension: translates of one block, disjoint if the map is
// injective.
struct Blocks {
  Image image;  // of all of them
  Image block;  // of the one that starts at 0
  int64_t start = 0;
  std::vector<Digit> starts;  // the coordinates' digits, which move the block from `start` on
  // The dimension's map has gates: the slices are no translates. Of which box, and where.
  const CoverBox* gated = nullptr;
  size_t dim = 0;
};

absl::Status TooIrregular() {
  return absl::UnimplementedError("the cover of so irregular a map is not decided");
}

absl::StatusOr<Blocks> BlocksOf(const CoverBox& box, size_t dim) {
  Blocks blocks;
  std::vector<Digit> all, local;
  blocks.start = box.map[dim].constant;
  for (const IndexTerm& term : box.map[dim].terms) {
    const int64_t range = RangeOf(term, box.extents);
    if (range <= 1 || term.scale == 0) continue;
    if (term.scale < 0) blocks.start += term.scale * (range - 1);
    const Digit digit{term.scale < 0 ? -term.scale : term.scale, range};
    all.push_back(digit);
    (term.dim < box.axes ? blocks.starts : local).push_back(digit);
  }
  bool injective = true;
  bool any = true;
  if (!Sums(0, std::move(local), &blocks.block, &any) ||
      !Sums(blocks.start, std::move(all), &blocks.image, &injective)) {
    return TooIrregular();
  }
  if (!injective && !box.overlap) {
    return absl::InvalidArgumentError(absl::StrCat("overlap: the slices of ", box.holder,
                                                   " overlap along dimension ", dim,
                                                   "; if that is meant, say \"overlap\": true"));
  }
  return blocks;
}

// How the blocks of two boxes meet in one dimension.
enum class BlockOverlap : uint8_t { kNone, kEqual, kPartial, kUndecided };

absl::StatusOr<BlockOverlap> OverlapOf(const Blocks& a, const Blocks& b) {
  const int64_t common = CommonSize(a.image, b.image);
  if (common == 0) return BlockOverlap::kNone;
  if (a.gated != nullptr || b.gated != nullptr) {
    const bool alike = a.gated != nullptr && b.gated != nullptr && a.gated->axes == b.gated->axes &&
                       a.gated->extents == b.gated->extents &&
                       a.gated->map[a.dim] == b.gated->map[b.dim];
    return alike ? BlockOverlap::kEqual : BlockOverlap::kUndecided;
  }
  if (a.block != b.block) return BlockOverlap::kPartial;
  // A set is cut into translates of one block in one way only: its least element starts one.
  if (a.image == b.image) return BlockOverlap::kEqual;
  Image starts_a, starts_b;
  bool any = true;
  if (!Sums(a.start, a.starts, &starts_a, &any) || !Sums(b.start, b.starts, &starts_b, &any)) {
    return TooIrregular();
  }
  return CommonSize(starts_a, starts_b) * SizeOf(a.block) == common ? BlockOverlap::kEqual
                                                                    : BlockOverlap::kPartial;
}

// The digits that a box's map tells apart.
std::set<std::vector<int64_t>> DigitsOf(const CoverBox& box) {
  std::set<std::vector<int64_t>> digits;
  for (const IndexMap& map : box.map) {
    for (const IndexTerm& term : map.terms) {
      if (term.scale == 0 || RangeOf(term, box.extents) <= 1) continue;
      digits.insert({term.dim, term.div, term.mod, term.offset});
    }
  }
  return digits;
}

Image UnionOf(Image a, const Image& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  Image joined;
  for (const Interval& interval : a) {
    if (!joined.empty() && interval.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, interval.second);
    } else {
      joined.push_back(interval);
    }
  }
  return joined;
}

bool HasGates(const IndexMap& map) {
  return std::any_of(map.terms.begin(), map.terms.end(),
                     [](const IndexTerm& term) { return term.gated(); });
}

// The number of a slice's indices, without the dimensions that the map does not read.
__int128 MentionedIndices(const std::vector<IndexMap>& maps, const sdfg::Shape& extents, int axes) {
  std::set<int32_t> dims;
  for (const IndexMap& map : maps) {
    for (const IndexTerm& term : map.terms) {
      dims.insert(term.dim);
      if (term.gated()) dims.insert(term.gate.dim);
    }
  }
  __int128 count = 1;
  for (const int32_t dim : dims) count *= dim < axes ? 1 : extents[dim];
  return count;
}

// A box whose map has gates, from its pieces: nullopt if it must be enumerated. Slices are equal or
// disjoint, and hold each element once, if the pieces are disjoint, this is so of each piece, and
// all pieces tell the same digits apart: ranks that hold the same of one hold the same of all.
absl::StatusOr<std::optional<std::vector<Blocks>>> BlocksOfPieces(const CoverBox& box) {
  const auto pieces = sdfg::PiecesOf(box.map, box.extents);
  if (!pieces.has_value() || pieces->size() == 1) return std::nullopt;  // 1: none ever opens
  std::vector<std::vector<Blocks>> blocks;
  std::optional<std::set<std::vector<int64_t>>> digits;
  for (const sdfg::IndexMapPiece& piece : *pieces) {
    const CoverBox part{box.holder, piece.map, piece.extents, box.axes, box.overlap};
    if (!Independent(part)) return std::nullopt;
    if (!digits.has_value()) digits = DigitsOf(part);
    if (*digits != DigitsOf(part)) return std::nullopt;
    blocks.emplace_back();
    __int128 held = 1;
    for (size_t d = 0; d < box.map.size(); ++d) {
      PLAN_ASSIGN_OR_RETURN(Blocks of_dim, BlocksOf(part, d));
      held *= SizeOf(of_dim.block);
      blocks.back().push_back(std::move(of_dim));
    }
    // Where a gate is closed, indices that it keeps apart elsewhere may lead to one element.
    if (held != MentionedIndices(box.map, piece.extents, box.axes)) return std::nullopt;
  }
  std::vector<Blocks> all = blocks[0];
  std::set<size_t> differing;
  for (size_t p = 1; p < blocks.size(); ++p) {
    for (size_t d = 0; d < all.size(); ++d) {
      if (blocks[p][d].image != blocks[0][d].image || blocks[p][d].block != blocks[0][d].block) {
        differing.insert(d);
      }
      all[d].image = UnionOf(all[d].image, blocks[p][d].image);
    }
    for (size_t q = 0; q < p && !box.overlap; ++q) {
      bool apart = false;
      for (size_t d = 0; d < all.size(); ++d) {
        apart = apart || CommonSize(blocks[p][d].image, blocks[q][d].image) == 0;
      }
      if (!apart) return std::nullopt;  // copies, or an overlap
    }
  }
  // The union of boxes that differ in one dimension is a box.
  if (differing.size() > 1) return std::nullopt;
  for (size_t d = 0; d < all.size(); ++d) {
    if (!HasGates(box.map[d]) && differing.count(d) == 0) continue;
    all[d].gated = &box;
    all[d].dim = d;
  }
  return all;
}

// Slices are products of blocks: two of them meet if their blocks do in every dimension, and are
// equal if these are. Boxes that hold the same part of the tensor may cut it as they like. nullopt:
// not decided.
absl::StatusOr<std::optional<bool>> Overlap(const std::vector<Blocks>& a,
                                            const std::vector<Blocks>& b) {
  bool same_part = true, partial = false, undecided = false;
  for (size_t d = 0; d < a.size(); ++d) {
    PLAN_ASSIGN_OR_RETURN(const BlockOverlap overlap, OverlapOf(a[d], b[d]));
    if (overlap == BlockOverlap::kNone) return false;
    partial |= overlap == BlockOverlap::kPartial;
    undecided |= overlap == BlockOverlap::kUndecided;
    same_part &= a[d].image == b[d].image;
  }
  if (same_part) return false;
  if (partial || !undecided) return partial;
  return std::nullopt;
}

bool Contains(const Image& image, int64_t value) {
  auto after = std::upper_bound(image.begin(), image.end(), value,
                                [](int64_t v, const Interval& i) { return v < i.first; });
  return after != image.begin() && value < std::prev(after)->second;
}

std::string RangeText(size_t dim, int64_t from, int64_t to) {
  return absl::StrCat("[", from, ", ", to, ") of dimension ", dim);
}

// The bounds of all images in each dimension; none if there are too many cells between them.
std::vector<std::vector<int64_t>> Cuts(const sdfg::Shape& logical,
                                       const std::vector<std::vector<Blocks>>& boxes) {
  std::vector<std::vector<int64_t>> cuts(logical.size());
  int64_t cells = 1;
  for (size_t d = 0; d < logical.size(); ++d) {
    cuts[d] = {0, logical[d]};
    for (const std::vector<Blocks>& box : boxes) {
      for (const Interval& interval : box[d].image) {
        cuts[d].push_back(interval.first);
        cuts[d].push_back(interval.second);
      }
    }
    std::sort(cuts[d].begin(), cuts[d].end());
    cuts[d].erase(std::unique(cuts[d].begin(), cuts[d].end()), cuts[d].end());
    cells *= static_cast<int64_t>(cuts[d].size()) - 1;
    if (cells > kMaxCells) return {};
  }
  return cuts;
}

absl::Status CheckHoles(const std::vector<std::vector<int64_t>>& cuts,
                        const std::vector<std::vector<Blocks>>& boxes) {
  std::vector<size_t> at(cuts.size(), 0);
  while (true) {
    const bool held = std::any_of(boxes.begin(), boxes.end(), [&](const std::vector<Blocks>& box) {
      for (size_t d = 0; d < cuts.size(); ++d) {
        if (!Contains(box[d].image, cuts[d][at[d]])) return false;
      }
      return true;
    });
    if (!held) {
      std::string where;
      for (size_t d = 0; d < cuts.size(); ++d) {
        if (cuts[d].size() == 2) continue;  // the whole dimension
        absl::StrAppend(&where, where.empty() ? "" : ", ",
                        RangeText(d, cuts[d][at[d]], cuts[d][at[d] + 1]));
      }
      return absl::InvalidArgumentError(
          absl::StrCat("hole: nobody holds ", where.empty() ? "it" : where));
    }
    size_t d = cuts.size();
    while (d > 0 && ++at[d - 1] + 1 >= cuts[d - 1].size()) at[--d] = 0;
    if (d == 0) return absl::OkStatus();
  }
}

}  // namespace

absl::Status CheckCoverOf(const sdfg::Shape& logical, std::vector<CoverBox> boxes) {
  if (std::find(logical.begin(), logical.end(), 0) != logical.end()) return absl::OkStatus();
  for (CoverBox& box : boxes) {
    for (IndexMap& map : box.map) {
      std::erase_if(map.terms, [](const IndexTerm& term) { return term.scale == 0; });
    }
  }
  std::vector<const CoverBox*> distinct;
  for (const CoverBox& box : boxes) {
    if (std::find(box.extents.begin(), box.extents.end(), 0) != box.extents.end()) continue;
    const bool known = std::any_of(distinct.begin(), distinct.end(), [&](const CoverBox* other) {
      return other->map == box.map && other->extents == box.extents && other->axes == box.axes &&
             other->overlap == box.overlap;
    });
    if (!known) distinct.push_back(&box);
  }
  std::vector<std::vector<Blocks>> blocks;
  for (const CoverBox* box : distinct) {
    if (std::any_of(box->map.begin(), box->map.end(), HasGates)) {
      PLAN_ASSIGN_OR_RETURN(auto of_box, BlocksOfPieces(*box));
      if (!of_box.has_value()) return CheckCoverByEnumeration(logical, distinct);
      blocks.push_back(*std::move(of_box));
      continue;
    }
    if (!Independent(*box)) return CheckCoverByEnumeration(logical, distinct);
    blocks.emplace_back();
    for (size_t d = 0; d < logical.size(); ++d) {
      PLAN_ASSIGN_OR_RETURN(Blocks of_dim, BlocksOf(*box, d));
      blocks.back().push_back(std::move(of_dim));
    }
  }
  for (size_t b = 0; b < distinct.size(); ++b) {
    for (size_t a = 0; a < b && !distinct[b]->overlap; ++a) {
      if (distinct[a]->overlap) continue;
      PLAN_ASSIGN_OR_RETURN(const std::optional<bool> overlap, Overlap(blocks[a], blocks[b]));
      if (!overlap.has_value()) return CheckCoverByEnumeration(logical, distinct);
      if (*overlap) return OverlapError(*distinct[a], *distinct[b]);
    }
  }
  const std::vector<std::vector<int64_t>> cuts = Cuts(logical, blocks);
  if (cuts.empty() && !logical.empty()) return CheckCoverByEnumeration(logical, distinct);
  return CheckHoles(cuts, blocks);
}

}  // namespace planproof::lineage
