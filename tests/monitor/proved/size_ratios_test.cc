#include "monitor/proved/size_ratios.h"

#include <gtest/gtest.h>

#include <cmath>

namespace planproof::monitor {
namespace {

TEST(SizeRatios, WithoutOtherSizesNumbersAreTheSame) {
  const SizeRatios ratios;
  EXPECT_TRUE(ratios.Explain(0.1, 0.1));
  EXPECT_FALSE(ratios.Explain(8, 9));
  EXPECT_FALSE(ratios.Explain(2.0, 4.0));
}

TEST(SizeRatios, SizesTheirProductsInversesAndRootsScale) {
  SizeRatios ratios;
  ratios.Add(16, 4096);  // width
  ratios.Add(2, 3);      // ranks
  EXPECT_TRUE(ratios.Explain(48, 48 * 256));
  EXPECT_TRUE(ratios.Explain(0.5, 1.0 / 3));
  EXPECT_TRUE(ratios.Explain(0.25, 1.0 / 64));              // 1 / root of the width
  EXPECT_TRUE(ratios.Explain(1.0 / 32, 1.0 / (3 * 4096)));  // mean over ranks and width
  EXPECT_FALSE(ratios.Explain(16, 4096 * 7));
}

TEST(SizeRatios, ZeroAndSignsAreTheSameAtAllSizes) {
  SizeRatios ratios;
  ratios.Add(4, 8);
  EXPECT_FALSE(ratios.Explain(0, 4));
  EXPECT_FALSE(ratios.Explain(4, 0));
  EXPECT_FALSE(ratios.Explain(-4, 8));
  EXPECT_TRUE(ratios.Explain(-4, -8));
}

TEST(SizeRatios, NumbersBesideASizeAreExplainedUpToTwo) {
  SizeRatios ratios;
  ratios.Add(8, 1000);
  EXPECT_TRUE(ratios.Explain(7, 999));
  EXPECT_TRUE(ratios.Explain(6, 998));
  EXPECT_FALSE(ratios.Explain(5, 997));
}

TEST(SizeRatios, AFloatIsNearEnoughToAQuotient) {
  SizeRatios ratios;
  ratios.Add(2, 3);
  EXPECT_TRUE(ratios.Explain(0.5, static_cast<double>(1.0F / 3)));
  EXPECT_FALSE(ratios.Explain(0.5, 1.0 / 3 * (1 + 3e-6)));
}

}  // namespace
}  // namespace planproof::monitor
