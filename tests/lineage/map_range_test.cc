#include "lineage/map_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace planproof::lineage {
namespace {

struct Range {
  bool ok;
  int64_t low, high;
};

Range RangeOf(const IndexMap& map, const sdfg::Shape& shape) {
  __int128 low = 0, high = 0;
  const bool ok = RangeOfMap(map, shape, &low, &high).ok();
  return {ok, static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

TEST(MapRangeTest, EqualsTheExtremesOfAllIndices) {
  std::mt19937_64 random(7);
  auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  int decided = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const sdfg::Shape shape = {pick(1, 6), pick(1, 12)};
    IndexMap map;
    map.constant = pick(-5, 5);
    for (int64_t k = pick(0, 4); k > 0; --k) {
      map.terms.push_back({.dim = static_cast<int32_t>(pick(0, 1)),
                           .scale = pick(-3, 3),
                           .div = pick(1, 4),
                           .mod = pick(0, 4)});
      IndexTerm& term = map.terms.back();
      if (term.mod > 0 && pick(0, 1) == 1) term.offset = pick(0, term.mod * term.div - 1);
      const auto gate_dim = static_cast<int32_t>(pick(0, 1));
      if (pick(0, 3) == 0) term.gate = {.dim = gate_dim, .div = (shape[gate_dim] + 1) / 2};
    }
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (int64_t i = 0; i < shape[0]; ++i) {
      for (int64_t j = 0; j < shape[1]; ++j) {
        int64_t value = map.constant;
        for (const IndexTerm& term : map.terms) {
          int64_t part = ((term.dim == 0 ? i : j) + term.offset) / term.div;
          if (term.mod > 0) part %= term.mod;
          if (term.gated() && (term.gate.dim == 0 ? i : j) / term.gate.div == 0) part = 0;
          value += term.scale * part;
        }
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
    const Range range = RangeOf(map, shape);
    // A gate in the middle of another digit's period is not understood.
    const bool gated = std::any_of(map.terms.begin(), map.terms.end(),
                                   [](const IndexTerm& term) { return term.gated(); });
    ASSERT_TRUE(range.ok || gated);
    if (!range.ok) continue;
    ++decided;
    EXPECT_EQ(range.low, low);
    EXPECT_EQ(range.high, high);
  }
  EXPECT_GT(decided, 2000);
}

TEST(MapRangeTest, DigitsThatDoNotDependOnEachOtherMayBeLong) {
  const int64_t block = int64_t{1} << 30, ranks = 64;  // zigzag order
  const IndexMap map{0,
                     {{0, block},
                      {1, 1, 1, block},
                      {1, (2 * ranks - 1) * block, block},
                      {0, -2 * block, 1, 0, 0, {.dim = 1, .div = block}}}};
  const Range range = RangeOf(map, {ranks, 2 * block});
  ASSERT_TRUE(range.ok);
  EXPECT_EQ(range.low, 0);
  EXPECT_EQ(range.high, 2 * ranks * block - 1);
}

TEST(MapRangeTest, RefusesWhatIsNotWellFormedOrTooLarge) {
  EXPECT_FALSE(RangeOf({.terms = {{.dim = 1}}}, {4}).ok);
  EXPECT_FALSE(RangeOf({.terms = {{.dim = 0, .div = 0}}}, {4}).ok);
  EXPECT_FALSE(RangeOf({.terms = {{.dim = 0, .mod = -1}}}, {4}).ok);
  const sdfg::Shape huge = {int64_t{1} << 40};
  EXPECT_TRUE(RangeOf({.terms = {{.dim = 0}}}, huge).ok);
  EXPECT_FALSE(RangeOf({.terms = {{.dim = 0}, {.dim = 0, .div = 2}}}, huge).ok);
  EXPECT_FALSE(RangeOf({.terms = {{.dim = 0, .gate = {.dim = 1}}}}, {4}).ok);
  EXPECT_FALSE(RangeOf({.terms = {{.dim = 0, .gate = {.dim = 0}}}}, {4}).ok) << "0 to 3";
}

// Digits of blocks as long as a sequence of 16 million in zigzag order: block r of 2 cp, and the
// one that mirrors it.
TEST(MapRangeTest, OfLongDimensionsIsExactWhereDigitsBeginAnewRarely) {
  const int64_t block = int64_t{1} << 39;
  const IndexMap zigzag{.constant = 3 * block,
                        .terms = {{.dim = 0, .scale = 25 * block, .div = block},
                                  {.dim = 0, .scale = 1, .mod = block}}};
  const Range range = RangeOf(zigzag, {2 * block});
  ASSERT_TRUE(range.ok);
  EXPECT_EQ(range.low, 3 * block);
  EXPECT_EQ(range.high, 28 * block + block - 1);
  __int128 low, high;
  EXPECT_TRUE(absl::IsResourceExhausted(
      RangeOfMap({.terms = {{.dim = 0}, {.dim = 0, .div = 2}}}, {block}, &low, &high)));
  EXPECT_TRUE(absl::IsInvalidArgument(RangeOfMap({.terms = {{.dim = 1}}}, {block}, &low, &high)));
  EXPECT_TRUE(absl::IsResourceExhausted(
      CheckInside({{.terms = {{.dim = 0}, {.dim = 0, .scale = -2, .div = 2}}}}, {block}, {2})));
}

}  // namespace
}  // namespace planproof::lineage
