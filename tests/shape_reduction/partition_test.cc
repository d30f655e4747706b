#include "shape_reduction/partition.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/shape_reduction/reduced_testing.h"

namespace planproof::shape_reduction {
namespace {

TEST(PartitionTest, BlocksAreNumberedByIntervalsOfDigits) {
  const DimPartition p = DimPartition::WithDigitCuts(24, 1, 4, {1});  // index mod 4 = 0, or not
  EXPECT_EQ(p.blocks(), 2);
  EXPECT_EQ(p.BlockOf(8), 0);
  EXPECT_EQ(p.BlockOf(11), 1);
  EXPECT_EQ(p.Weights(), (std::vector<int64_t>{6, 18}));
  EXPECT_EQ(p.Representatives(), (std::vector<int64_t>{0, 1}));
}

TEST(PartitionTest, RefinementSplitsIntervalsAtDigitBounds) {
  const DimPartition halves = DimPartition::WithCuts(24, {12});
  const DimPartition odd = DimPartition::WithDigitCuts(24, 1, 2, {1});
  const DimPartition both = halves.Refine(odd);
  EXPECT_EQ(both.blocks(), 4);
  EXPECT_NE(both.BlockOf(4), both.BlockOf(5));
  EXPECT_EQ(both.BlockOf(4), both.BlockOf(6));
  EXPECT_NE(both.BlockOf(10), both.BlockOf(12));
}

TEST(PartitionTest, RefinementSeparatesWhateverEitherPartitionSeparates) {
  Random random(7);
  for (int trial = 0; trial < 3000; ++trial) {
    const int64_t extent = Pick(&random, 1, 60);
    const DimPartition a =
        RandomPartition(extent, &random).Refine(RandomPartition(extent, &random));
    const DimPartition b = RandomPartition(extent, &random);
    const DimPartition both = a.Refine(b);
    ASSERT_EQ(both.extent(), extent);
    for (int64_t i = 0; i < extent; ++i) {
      for (int64_t j = 0; j < i; ++j) {
        if (a.BlockOf(i) != a.BlockOf(j) || b.BlockOf(i) != b.BlockOf(j)) {
          ASSERT_NE(both.BlockOf(i), both.BlockOf(j))
              << a.ToString() << " | " << b.ToString() << " -> " << both.ToString();
        }
      }
    }
  }
}

TEST(PartitionTest, WeightsAddUpAndRepresentativesLieInTheirBlock) {
  Random random(8);
  for (int trial = 0; trial < 500; ++trial) {
    const int64_t extent = Pick(&random, 1, 60);
    const DimPartition p =
        RandomPartition(extent, &random).Refine(RandomPartition(extent, &random));
    const std::vector<int64_t> weights = p.Weights(), representatives = p.Representatives();
    ASSERT_EQ(std::accumulate(weights.begin(), weights.end(), int64_t{0}), extent);
    std::vector<int64_t> counted(p.blocks(), 0);
    for (int64_t i = 0; i < extent; ++i) ++counted[p.BlockOf(i)];
    ASSERT_EQ(counted, weights);
    for (int64_t b = 0; b < p.blocks(); ++b) ASSERT_EQ(p.BlockOf(representatives[b]), b);
  }
}

TEST(PartitionTest, AnEmptyDimensionHasNoBlocks) {
  EXPECT_EQ(DimPartition(0).blocks(), 0);
  EXPECT_EQ(DimPartition::WithCuts(0, {1}).blocks(), 0);
}

TEST(PartitionTest, TooManyBlocksAreReportedNotStored) {
  EXPECT_TRUE(DimPartition::Full(int64_t{1} << 40).too_fine());
  EXPECT_TRUE(
      DimPartition(int64_t{1} << 40).Refine(DimPartition::Full(int64_t{1} << 40)).too_fine());
}

// A long digit of which only a part is cut is refused before its values are listed.
TEST(PartitionTest, LongDigitsThatDoNotFitTogetherAreTooFine) {
  const int64_t extent = int64_t{3} << 40;
  const DimPartition a = DimPartition::WithDigitCuts(extent, 3, int64_t{1} << 30, {5});
  const DimPartition b = DimPartition::WithDigitCuts(extent, 2, int64_t{3} << 30, {7});
  EXPECT_TRUE(a.Refine(b).too_fine());
  EXPECT_TRUE(b.Refine(a).too_fine());
}

}  // namespace
}  // namespace planproof::shape_reduction
