// Each piece of work is done once, and all of it before the call returns.
#include "runtime_check/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace planproof::runtime_check {
namespace {

TEST(ParallelFor, DoesEachPieceOnce) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{1000}}) {
    std::vector<std::atomic<int>> done(count);
    ParallelFor(count, [&](size_t i) { ++done[i]; });
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(done[i], 1) << i << " of " << count;
  }
}

TEST(ParallelFor, CanBeCalledWithinItself) {
  std::atomic<int> done = 0;
  ParallelFor(8, [&](size_t) { ParallelFor(8, [&](size_t) { ++done; }); });
  EXPECT_EQ(done, 64);
}

}  // namespace
}  // namespace planproof::runtime_check
