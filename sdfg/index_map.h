// Represents an integer map between index spaces: for each dimension of the target one expression
// over the dimensions of the source, affine up to division and remainder by constants (boxes in
// digits), and to digits that are 0 or 1 and say whether a term counts.
#ifndef PLANPROOF_SDFG_INDEX_MAP_H_
#define PLANPROOF_SDFG_INDEX_MAP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sdfg/types.h"

namespace planproof::sdfg {

// floor((i_dim + offset) / div) mod mod; mod = 0 means no reduction, and there is then no offset.
// 0 <= offset < div * mod: what rank r of a ring holds is part (r + offset) mod mod.
struct IndexDigit {
  int32_t dim = 0;  // dimension of the source, coordinates included
  int64_t div = 1;
  int64_t mod = 0;
  int64_t offset = 0;

  bool operator==(const IndexDigit&) const = default;

  int64_t At(int64_t index) const {
    const int64_t part = (index + offset) / div;
    return mod > 0 ? part % mod : part;
  }
  // An upper bound of the digits of a dimension of this extent, which is positive; without an
  // offset the largest of them.
  int64_t Most(int64_t extent) const {
    const int64_t part = (extent - 1 + offset) / div;
    return mod > 0 && part > mod - 1 ? mod - 1 : part;
  }
};

// scale * digit, or, if it is gated, that where the gate is 1 and 0 where the gate is 0.
struct IndexTerm {
  int32_t dim = 0;
  int64_t scale = 1;
  int64_t div = 1;
  int64_t mod = 0;
  int64_t offset = 0;
  // A digit that has no other values than 0 and 1. In zigzag order rank r of n holds blocks r and
  // 2 n - 1 - r: r + (2 n - 1) b - 2 r b, where b says which of the two.
  IndexDigit gate = {.dim = -1};

  bool operator==(const IndexTerm&) const = default;

  bool gated() const { return gate.dim >= 0; }
  IndexDigit digit() const { return {dim, div, mod, offset}; }
  // The digit, before it is scaled.
  int64_t At(int64_t index) const { return digit().At(index); }
  int64_t Most(int64_t extent) const { return digit().Most(extent); }
  // The term's value at an index of the source.
  int64_t ValueAt(const std::vector<int64_t>& index) const {
    if (gated() && gate.At(index[gate.dim]) == 0) return 0;
    return scale * At(index[dim]);
  }
};

// constant + sum of terms
struct IndexMap {
  int64_t constant = 0;
  std::vector<IndexTerm> terms;

  bool operator==(const IndexMap&) const = default;

  int64_t ValueAt(const std::vector<int64_t>& index) const {
    int64_t value = constant;
    for (const IndexTerm& term : terms) value += term.ValueAt(index);
    return value;
  }
};

// A map on the indices at which its gates have certain values; the terms have no gates.
struct IndexMapPiece {
  std::vector<IndexMap> map;
  // Of the source: a dimension that has gates keeps the indices at which they have these values, in
  // order.
  Shape extents;
};

// The map (one expression per dimension of the target) piece by piece; every index of the source
// belongs to one piece. nullopt if a gate and another digit of its dimension are not nested (one's
// period is no multiple of the other's), or if there are more than a few gates.
std::optional<std::vector<IndexMapPiece>> PiecesOf(const std::vector<IndexMap>& map,
                                                   const Shape& extents);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_INDEX_MAP_H_
