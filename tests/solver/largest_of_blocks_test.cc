#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "tests/solver/rules.h"

namespace planproof::solver {
namespace {

using Body = std::function<PolyId(const Affine&)>;

class RowInBlocks : public Rule {
 protected:
  // Where the largest of `length` elements is; `name`: of another function.
  Affine Place(int64_t length, const Body& body, int64_t rank = 0,
               const char* name = "topk_index(k=1)#") {
    const BoundVariable v = Variable(0, length);
    const AtomId atom =
        arena_.OpaqueRowAtom(arena_.OpaqueTag(name), v, body(At(v)), {Affine(rank)}, {});
    return Affine::Of(arena_.IntAtom(atom, {0, length - 1}));
  }
  Body From(int64_t begin) {
    return [this, begin](const Affine& v) { return X(v + Affine(begin)); };
  }
  // A row of these values.
  Body Row(const std::vector<PolyId>& values) {
    return [this, values](const Affine& v) {
      PolyId sum = kZeroPoly;
      for (size_t i = 0; i < values.size(); ++i) {
        const PolyId here = arena_.Delta(v - Affine(static_cast<int64_t>(i)));
        sum = Plus(sum, Times(here, values[i]));
      }
      return sum;
    };
  }
  // The place that is `places[b]` where the b-th value is the largest of `maxima`.
  PolyId Chosen(const Affine& among, const std::vector<Affine>& places) {
    PolyId sum = kZeroPoly;
    for (size_t b = 0; b < places.size(); ++b) {
      const PolyId here = arena_.Delta(among - Affine(static_cast<int64_t>(b)));
      sum = Plus(sum, Times(here, arena_.Position(places[b])));
    }
    return sum;
  }
  PolyId LargestOf(int64_t lo, int64_t hi) {
    return Largest(lo, hi, [this](const Affine& v) { return X(v); });
  }
};

TEST_F(Rule, LargestOfBlocks) {
  const auto place = [&](int64_t length, const Body& body) {
    const BoundVariable v = Variable(0, length);
    const uint32_t tag = arena_.OpaqueTag("topk_index(k=1)#");
    return Affine::Of(arena_.IntAtom(arena_.OpaqueRowAtom(tag, v, body(At(v)), {Affine(0)}, {}),
                                     {0, length - 1}));
  };
  const auto of_block = [&](const Affine& begin, const Affine& extra) {
    return place(4, [&](const Affine& v) { return X(v + begin + extra); });
  };
  const PolyId whole = arena_.Position(place(8, [&](const Affine& v) { return X(v); }));
  const auto chosen = [&](const Affine& first, const Affine& second) {
    const auto largest = [&](const Affine& v) {
      return Largest(0, 4, [&](const Affine& w) { return X(v.Scaled(4) + w); });
    };
    const Affine among = place(2, largest);
    return Plus(Times(arena_.Delta(among), arena_.Position(first)),
                Times(arena_.Delta(among - Affine(1)), arena_.Position(second + Affine(4))));
  };
  EXPECT_TRUE(Zero(Minus(chosen(of_block(0, 0), of_block(4, 0)), whole)));
  EXPECT_FALSE(Zero(Minus(chosen(of_block(4, 0), of_block(0, 0)), whole)));
  EXPECT_FALSE(Zero(Minus(chosen(of_block(0, 0), of_block(4, 1)), whole)));
}

TEST_F(RowInBlocks, IsTheLargestOfTheRow) {
  const PolyId whole = arena_.Position(Place(8, From(0)));
  const Affine first = Place(3, From(0)), second = Place(5, From(3)) + Affine(3);
  const Affine among = Place(2, Row({LargestOf(0, 3), LargestOf(3, 8)}));
  EXPECT_TRUE(Zero(Minus(Chosen(among, {first, second}), whole)));
  // A function of the place, too.
  const PolyId wide = Y(Place(8, From(0)));
  const PolyId narrow =
      Plus(Times(arena_.Delta(among), Y(first)), Times(arena_.Delta(among - Affine(1)), Y(second)));
  EXPECT_TRUE(Zero(Minus(narrow, wide)));
}

TEST_F(RowInBlocks, OfThreeBlocks) {
  const PolyId whole = arena_.Position(Place(6, From(0)));
  const Affine among = Place(3, Row({LargestOf(0, 2), LargestOf(2, 4), LargestOf(4, 6)}));
  const Affine a = Place(2, From(0)), b = Place(2, From(2)), c = Place(2, From(4));
  EXPECT_TRUE(Zero(Minus(Chosen(among, {a, b + Affine(2), c + Affine(4)}), whole)));
  EXPECT_FALSE(Zero(Minus(Chosen(among, {a, c + Affine(2), b + Affine(4)}), whole)));
}

TEST_F(RowInBlocks, IsSomethingElseIfAnythingDiffers) {
  const PolyId whole = arena_.Position(Place(8, From(0)));
  const Affine first = Place(3, From(0)), second = Place(5, From(3)) + Affine(3);
  const Affine among = Place(2, Row({LargestOf(0, 3), LargestOf(3, 8)}));
  const auto is_whole = [&](const Affine& by, const std::vector<Affine>& places) {
    return Zero(Minus(Chosen(by, places), whole));
  };
  ASSERT_TRUE(is_whole(among, {first, second}));
  // The start of the block is left out, or another.
  EXPECT_FALSE(is_whole(among, {first, second - Affine(3)}));
  EXPECT_FALSE(is_whole(among, {first, second + Affine(2)}));
  // Blocks in another order: of equal elements another is the first.
  EXPECT_FALSE(is_whole(Place(2, Row({LargestOf(3, 8), LargestOf(0, 3)})), {second, first}));
  // Maxima of other blocks, or not of all of the row.
  EXPECT_FALSE(is_whole(Place(2, Row({LargestOf(0, 4), LargestOf(4, 8)})), {first, second}));
  EXPECT_FALSE(is_whole(Place(2, Row({LargestOf(0, 3), LargestOf(3, 7)})),
                        {first, Place(4, From(3)) + Affine(3)}));
  // Places in rows that overlap, in another row, of another rank, and by another order.
  EXPECT_FALSE(is_whole(among, {first, Place(5, From(2)) + Affine(3)}));
  EXPECT_FALSE(is_whole(
      among, {first, Place(5, [&](const Affine& v) { return Y(v + Affine(3)); }) + Affine(3)}));
  EXPECT_FALSE(is_whole(among, {first, Place(5, From(3), 1) + Affine(3)}));
  const char* any_order = "topk_index(k=1,sorted=false)#";
  EXPECT_FALSE(
      is_whole(Place(2, Row({LargestOf(0, 3), LargestOf(3, 8)}), 0, any_order), {first, second}));
  EXPECT_FALSE(is_whole(among, {first, Place(5, From(3), 0, any_order) + Affine(3)}));
  // The smallest of the blocks' largest.
  EXPECT_FALSE(is_whole(
      Place(2, Row({Minus(kZeroPoly, LargestOf(0, 3)), Minus(kZeroPoly, LargestOf(3, 8))})),
      {first, second}));
}

// The statement itself, on rows with many equal elements.
TEST(LargestOfBlocksStatement, HoldsForRandomRows) {
  std::mt19937_64 random(3);
  const auto place = [](const std::vector<int>& row) {
    size_t best = 0;
    for (size_t i = 1; i < row.size(); ++i) best = row[i] > row[best] ? i : best;
    return best;
  };
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<int> row, maxima;
    std::vector<size_t> places;
    const size_t blocks = 1 + random() % 4;
    for (size_t b = 0; b < blocks; ++b) {
      std::vector<int> block(1 + random() % 4);
      for (int& x : block) x = static_cast<int>(random() % 3);
      places.push_back(row.size() + place(block));
      maxima.push_back(block[place(block)]);
      row.insert(row.end(), block.begin(), block.end());
    }
    EXPECT_EQ(places[place(maxima)], place(row));
  }
}

}  // namespace
}  // namespace planproof::solver
