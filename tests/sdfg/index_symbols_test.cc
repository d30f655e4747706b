// Index variables by name: the same one wherever place and range occur again, and never one for two
// variables that are in use at once.
#include "sdfg/index_symbols.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace planproof::sdfg {
namespace {

using solver::Affine;
using solver::Interval;
using solver::Symbol;

class IndexSymbolsTest : public testing::Test {
 protected:
  solver::Arena arena_;
  IndexSymbols symbols_{&arena_};
};

TEST_F(IndexSymbolsTest, PlaceAndRangeMakeTheVariable) {
  const Symbol d = symbols_.OfDimension(1, {0, 4});
  EXPECT_EQ(d, symbols_.OfDimension(1, {0, 4}));
  EXPECT_EQ(arena_.RangeOf(d).high, 3);
  EXPECT_NE(d, symbols_.OfDimension(1, {0, 5}));
  EXPECT_NE(d, symbols_.OfDimension(2, {0, 4}));
  EXPECT_NE(d, symbols_.OfBinder(1, {0, 4}));
  EXPECT_NE(symbols_.OfBinder(0, {0, 4}), symbols_.OfBinder(1, {0, 4}));
  EXPECT_EQ(symbols_.OfBinder(1, {0, 4}), symbols_.OfBinder(1, {0, 4}));
}

// Two digits of equal range stand in one expression; so do digits of two dimensions.
TEST_F(IndexSymbolsTest, DigitsAreVariablesOfTheirOwn) {
  std::set<Symbol> seen;
  for (size_t d : {0, 1}) {
    const Symbol whole = symbols_.OfDimension(d, {0, 16});
    seen.insert(whole);
    const auto parts = symbols_.Split({SplitRequest::Kind::kDigit, whole, 4}, {0, 16});
    ASSERT_EQ(parts.size(), 1u);
    ASSERT_EQ(parts[0].variables.size(), 2u);
    for (const auto& v : parts[0].variables) seen.insert(v.symbol);
    // A digit of a digit.
    const auto& high = parts[0].variables[0];
    const auto again = symbols_.Split({SplitRequest::Kind::kDigit, high.symbol, 2}, high.domain);
    for (const auto& v : again.at(0).variables) seen.insert(v.symbol);
  }
  EXPECT_EQ(seen.size(), 10u);
}

// The values of the parts are those of the variable, each once.
TEST_F(IndexSymbolsTest, PartsAreDisjointAndCover) {
  for (int64_t lo = -3; lo < 3; ++lo) {
    for (int64_t hi = lo + 2; hi < lo + 14; ++hi) {
      const Symbol whole = symbols_.OfDimension(0, {lo, hi});
      std::vector<SplitRequest> requests;
      for (int64_t at = lo + 1; at < hi; ++at)
        requests.push_back({SplitRequest::Kind::kCut, whole, at});
      for (int64_t stride = 2; stride < hi - lo; ++stride)
        requests.push_back({SplitRequest::Kind::kDigit, whole, stride});
      for (const SplitRequest& request : requests) {
        std::map<int64_t, int> count;
        for (const SplitPart& part : symbols_.Split(request, {lo, hi})) {
          std::vector<Affine> values = {part.replacement};
          for (const auto& v : part.variables) {
            const solver::IntRange range = arena_.RangeOf(v.symbol);
            EXPECT_EQ(range.low, v.domain.lo);
            EXPECT_EQ(range.high, v.domain.hi - 1);
            std::vector<Affine> next;
            for (const Affine& e : values) {
              const int64_t c = e.Coefficient(v.symbol);
              for (int64_t at = v.domain.lo; at < v.domain.hi; ++at)
                next.push_back(e - Affine::Of(v.symbol, c) + Affine(c * at));
            }
            values.swap(next);
          }
          for (const Affine& e : values) {
            ASSERT_TRUE(e.IsConstant());
            ++count[e.constant];
          }
        }
        for (int64_t at = lo; at < hi; ++at) EXPECT_EQ(count[at], 1) << lo << " " << hi;
        EXPECT_EQ(static_cast<int64_t>(count.size()), hi - lo);
      }
    }
  }
}

// Each claim that needs a variable beyond the limits is told so, not only the first.
TEST_F(IndexSymbolsTest, ARangeBeyondTheLimitsIsRefusedEachTime) {
  for (int time = 0; time < 2; ++time) {
    arena_.ResetExhausted(1000);
    symbols_.OfDimension(0, {0, solver::kAffineLimit + 2});
    EXPECT_TRUE(arena_.overflown());
  }
}

}  // namespace
}  // namespace planproof::sdfg
