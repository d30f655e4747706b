// The pieces of an index map with gates: every index belongs to one, and has the map's value there.
#include "sdfg/index_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace planproof::sdfg {
namespace {

// How often each value is taken, by value.
using Counts = std::map<std::vector<int64_t>, int>;

void Count(const std::vector<IndexMap>& map, const Shape& extents, Counts* counts) {
  std::vector<int64_t> index(extents.size(), 0);
  for (int64_t extent : extents) {
    if (extent == 0) return;
  }
  while (true) {
    std::vector<int64_t> value;
    for (const IndexMap& dim : map) value.push_back(dim.ValueAt(index));
    ++(*counts)[value];
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == extents[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

TEST(IndexMapTest, AGateSaysWhetherATermCounts) {
  // Rank r of 4 in zigzag order of blocks of 8.
  const IndexMap zigzag{
      0, {{0, 8}, {1, 1, 1, 8}, {1, 56, 8}, {0, -16, 1, 0, 0, {.dim = 1, .div = 8}}}};
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t i = 0; i < 16; ++i) {
      EXPECT_EQ(zigzag.ValueAt({r, i}), (i < 8 ? r : 7 - r) * 8 + i % 8);
    }
  }
}

TEST(IndexMapTest, PiecesTakeTheMapsValuesAsOftenAsTheMap) {
  std::mt19937 random(20261122);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int understood = 0, in_blocks = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const Shape extents = {pick(1, 8), int64_t{1} << pick(0, 4)};
    const auto digit = [&] {
      IndexDigit d{static_cast<int32_t>(pick(0, 1)),
                   pick(0, 1) ? int64_t{1} << pick(0, 3) : pick(1, 4),
                   pick(0, 2) ? int64_t{1} << pick(0, 3) : pick(0, 3)};
      if (d.mod > 0 && pick(0, 4) == 0) d.offset = pick(0, d.div * d.mod - 1);
      return d;
    };
    std::vector<IndexMap> map(static_cast<size_t>(pick(1, 2)));
    bool block_gate = false;
    for (IndexMap& dim : map) {
      dim.constant = pick(-2, 2);
      for (int64_t t = pick(0, 3); t > 0; --t) {
        const IndexDigit of = digit();
        IndexTerm term{of.dim, pick(-4, 4), of.div, of.mod, of.offset};
        if (const IndexDigit gate = digit(); gate.Most(extents[gate.dim]) <= 1) {
          term.gate = gate;
          block_gate = block_gate || extents[gate.dim] > 2 * gate.div;
        }
        dim.terms.push_back(term);
      }
    }
    const auto pieces = PiecesOf(map, extents);
    if (!pieces.has_value()) continue;
    ++understood;
    in_blocks += block_gate;
    Counts expected, found;
    Count(map, extents, &expected);
    for (const IndexMapPiece& piece : *pieces) {
      for (const IndexMap& dim : piece.map) {
        for (const IndexTerm& term : dim.terms) ASSERT_FALSE(term.gated());
      }
      Count(piece.map, piece.extents, &found);
    }
    ASSERT_EQ(found, expected) << "trial " << trial;
  }
  EXPECT_GT(understood, 5000);
  EXPECT_GT(in_blocks, 500);
}

}  // namespace
}  // namespace planproof::sdfg
