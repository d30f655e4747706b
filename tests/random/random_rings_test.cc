// A sample of the random rings (docs/random-suites.md has the counts).
#include "tests/random/random_rings.h"

#include <gtest/gtest.h>

#include <iostream>

namespace planproof::random_tests {
namespace {

TEST(RandomRingsTest, NoProofIsFalse) {
  RingSummary summary;
  int folded = 0, proved = 0, different = 0;
  for (int k = 0; k < 60; ++k) {
    const RandomRing ring = MakeRandomRing(6000 + k, k % 2 == 1);
    const RingTrial trial = TryRandomRing(ring, 4, /*verify=*/true);
    EXPECT_FALSE(trial.FalseProof())
        << "seed " << ring.seed << ": " << ring.steps << "; " << ring.fault << trial.example;
    EXPECT_EQ(trial.difference, "") << "seed " << ring.seed << ": " << ring.steps;
    folded += trial.folded ? 1 : 0;
    proved += trial.verdict == stages::Verdict::kProved ? 1 : 0;
    different += trial.equal ? 0 : 1;
    summary.Add(trial);
  }
  std::cout << summary.Table();
  // Rings must be folded and proved, and faults must show: otherwise nothing is tested.
  EXPECT_GE(folded, 10) << summary.Table();
  EXPECT_GE(proved, 10) << summary.Table();
  EXPECT_GE(different, 10) << summary.Table();
}

TEST(RandomRingsTest, FoldedFormsHaveTheValuesOfTheRing) {
  RingSummary summary;
  for (int k = 0; k < 400; ++k) {
    const RandomRing ring = MakeRandomRing(7000 + k, k % 4 != 0);
    const RingTrial trial = TryRandomRing(ring, 1, /*verify=*/false);
    EXPECT_EQ(trial.difference, "")
        << "seed " << ring.seed << ": " << ring.steps << "; " << ring.fault;
    summary.Add(trial);
  }
  int folded_wrong = 0;  // alike in all rounds
  for (const auto& [name, number] : summary.counts)
    folded_wrong += name.rfind("folded, different", 0) == 0 ? number : 0;
  EXPECT_GE(folded_wrong, 5) << summary.Table();
}

TEST(RandomRingsTest, TheSameSeedMakesTheSameRing) {
  const RandomRing a = MakeRandomRing(77, true), b = MakeRandomRing(77, true);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.fault, b.fault);
  EXPECT_NE(a.text, MakeRandomRing(77, false).text);
}

}  // namespace
}  // namespace planproof::random_tests
