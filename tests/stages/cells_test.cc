#include "stages/cells.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "solver/term.h"

namespace planproof::stages {
namespace {

using sdfg::SplitRequest;

// All of [0, extent), from cells that are asked for the cut that `at` gives, until it gives none.
template <typename At>
std::map<int64_t, int> Covered(int64_t extent, const At& at, int* asked) {
  solver::Arena arena;
  sdfg::IndexSymbols symbols(&arena);
  std::vector<Cell> work = {WholeCell(&symbols, {extent})};
  std::map<int64_t, int> times;
  while (!work.empty()) {
    const Cell cell = work.back();
    work.pop_back();
    const solver::IntRange range = arena.RangeOf(cell.index[0]);
    const int64_t cut = at(range.low, range.high);
    if (cut == 0) {
      for (int64_t i = range.low; i <= range.high; ++i) ++times[i];
      continue;
    }
    ++*asked;
    EXPECT_TRUE(
        Split(&symbols, cell, {SplitRequest::Kind::kCut, cell.symbols.at(0).symbol, cut}, &work));
  }
  return times;
}

TEST(Cells, OfARingAreAllItsRanksAfterAFewCuts) {
  for (const bool from_above : {false, true}) {
    int asked = 0;
    const auto times = Covered(
        64,
        [&](int64_t low, int64_t high) {
          if (low == high) return int64_t{0};
          return from_above ? high : low + 1;
        },
        &asked);
    EXPECT_EQ(times.size(), 64u);
    for (const auto& [index, count] : times) EXPECT_EQ(count, 1) << index;
    EXPECT_EQ(asked, 4);
  }
}

TEST(Cells, AreHalvedWhereCutsLieApart) {
  int asked = 0;
  const auto times = Covered(
      64, [](int64_t low, int64_t high) { return high - low >= 16 ? (low + high + 1) / 2 : 0; },
      &asked);
  EXPECT_EQ(times.size(), 64u);
  for (const auto& [index, count] : times) EXPECT_EQ(count, 1) << index;
  EXPECT_EQ(asked, 3);  // four cells of 16
}

// Cuts at both ends of long ranges: nothing is enumerated beyond a limit.
TEST(Cells, OfLongDimensionsStayRanges) {
  int asked = 0;
  const auto times = Covered(
      5000, [](int64_t low, int64_t high) { return high > 4980 && low == 0 ? high : 0; }, &asked);
  EXPECT_EQ(times.size(), 5000u);
  for (const auto& [index, count] : times) EXPECT_EQ(count, 1) << index;
  EXPECT_EQ(asked, 19);
}

}  // namespace
}  // namespace planproof::stages
