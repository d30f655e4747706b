// Row by row the positions are those of the elements one by one.
#include "runtime_check/positions.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace planproof::runtime_check {
namespace {

using sdfg::IndexDigit;
using sdfg::IndexMap;
using sdfg::IndexTerm;

std::vector<int64_t> AllPositions(const std::vector<IndexMap>& map, const sdfg::Shape& logical,
                                  const sdfg::Shape& parallel) {
  std::vector<int64_t> positions;
  ForEachPosition(map, logical, parallel, [&](int64_t i, int64_t at) {
    EXPECT_EQ(i, static_cast<int64_t>(positions.size()));
    positions.push_back(at);
  });
  return positions;
}

TEST(Positions, OfATensorWithoutDimensions) {
  EXPECT_EQ(AllPositions({}, {}, {}), std::vector<int64_t>{0});
  EXPECT_EQ(AllPositions({{2, {}}}, {3}, {}), std::vector<int64_t>{2});
  EXPECT_EQ(AllPositions({{3, {}}}, {3}, {}), std::vector<int64_t>{-1});
}

TEST(Positions, ATensorWithoutElementsHasNone) {
  EXPECT_TRUE(AllPositions({{0, {{.dim = 1}}}}, {4}, {3, 0}).empty());
  EXPECT_TRUE(AllPositions({{0, {{.dim = 1}}}}, {4}, {0, 3}).empty());
}

// Slices, digits of dimensions, zigzag order, and maps that lead outside.
TEST(Positions, AreThoseOfEveryIndex) {
  std::mt19937_64 random(1);
  const auto choose = [&](int64_t first, int64_t last) {
    return std::uniform_int_distribution<int64_t>(first, last)(random);
  };
  int outside = 0, gated = 0;
  for (int round = 0; round < 400; ++round) {
    sdfg::Shape parallel, logical;
    for (int64_t d = choose(1, 3); d > 0; --d) parallel.push_back(choose(1, 6));
    std::vector<IndexMap> map;
    for (int64_t d = choose(1, 3); d > 0; --d) {
      logical.push_back(choose(1, 9));
      IndexMap one{choose(-1, 2), {}};
      for (int64_t t = choose(0, 3); t > 0; --t) {
        IndexTerm term;
        term.dim = static_cast<int32_t>(choose(0, static_cast<int64_t>(parallel.size()) - 1));
        term.scale = choose(-1, 3);
        term.div = choose(1, 2);
        term.mod = choose(0, 3);
        if (round % 4 == 0 && choose(0, 2) == 0) {
          term.gate = IndexDigit{
              .dim = static_cast<int32_t>(choose(0, static_cast<int64_t>(parallel.size()) - 1)),
              .div = 1,
              .mod = 2};
          ++gated;
        }
        one.terms.push_back(term);
      }
      map.push_back(one);
    }
    const std::vector<int64_t> found = AllPositions(map, logical, parallel);
    ASSERT_EQ(static_cast<int64_t>(found.size()), CountOf(parallel));
    for (int64_t i = 0; i < static_cast<int64_t>(found.size()); ++i) {
      const int64_t at = PositionOf(map, logical, IndexAt(parallel, i));
      ASSERT_EQ(found[i], at) << "round " << round << ", element " << i;
      outside += at < 0;
    }
  }
  EXPECT_GT(outside, 100);
  EXPECT_GT(gated, 20);
}

}  // namespace
}  // namespace planproof::runtime_check
