// Masked sums in blocks: a block in which the mask always holds has lost its condition, and the
// denominator over all blocks is the masked sum over the whole row. By numbers, and what must not
// be joined.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "solver/term.h"
#include "tests/solver/term_numeric.h"

namespace planproof::solver {
namespace {

constexpr uint32_t kScore = 0, kGradient = 1;

class ClippedSumsTest : public testing::Test {
 protected:
  // sum over k in [from, to) of [query + start - k >= 0] exp(score[query, k]).
  PolyId Block(Symbol query, int64_t start, int64_t from, int64_t to, bool masked = true) {
    const Symbol k = arena_.NewFree(from, to - 1);
    PolyId body = arena_.Exp(arena_.Element(kScore, {Affine::Of(query), Affine::Of(k)}));
    if (masked) {
      body = arena_.Mul(arena_.Indicator(Affine::Of(query) + Affine(start) - Affine::Of(k)), body);
    }
    return arena_.Sum({k, {from, to}}, body);
  }
  PolyId Inverse(PolyId p) { return arena_.Power(p, Exponent{-1, 1}); }
  bool Equal(PolyId a, PolyId b) { return arena_.IsZero(arena_.Sub(a, b)); }

  Arena arena_;
  std::mt19937_64 random_{20261121};
};

TEST_F(ClippedSumsTest, ARowInBlocksHasTheDenominatorOfTheWholeRow) {
  const Symbol query = arena_.NewFree(0, 7);
  const PolyId whole = Block(query, 8, 0, 16);
  const PolyId blocks = arena_.Add(Block(query, 8, 0, 8), Block(query, 8, 8, 16));
  EXPECT_TRUE(Equal(Inverse(whole), Inverse(blocks)));
  const PolyId three =
      arena_.Add(arena_.Add(Block(query, 8, 4, 8), Block(query, 8, 8, 16)), Block(query, 8, 0, 4));
  EXPECT_TRUE(Equal(Inverse(whole), Inverse(three)));
  EXPECT_TRUE(Equal(Inverse(arena_.Mul(whole, whole)), Inverse(arena_.Mul(blocks, blocks))));
}

// Blocks that are not the row: each of these differs for some query.
TEST_F(ClippedSumsTest, WhatIsNotTheRowIsNotJoined) {
  const Symbol query = arena_.NewFree(0, 7);
  const PolyId whole = Inverse(Block(query, 8, 0, 16));
  const PolyId last = Block(query, 8, 8, 16);
  const PolyId first = Block(query, 8, 0, 8);
  // Without the mask, a key too many or too few, another mask, a gap, a block twice.
  EXPECT_FALSE(Equal(whole, Inverse(arena_.Add(first, Block(query, 8, 8, 16, false)))));
  EXPECT_FALSE(Equal(whole, Inverse(arena_.Add(Block(query, 8, 0, 9, false), last))));
  EXPECT_FALSE(Equal(whole, Inverse(arena_.Add(Block(query, 8, 0, 7), last))));
  EXPECT_FALSE(Equal(whole, Inverse(arena_.Add(Block(query, 8, 1, 8), last))));
  EXPECT_FALSE(Equal(whole, Inverse(arena_.Add(first, Block(query, 7, 8, 16)))));
  EXPECT_FALSE(Equal(whole, Inverse(arena_.Add(arena_.Scale(first, Rational(2)), last))));
  // The first block's mask does not hold for every query: its condition stays.
  const Symbol early = arena_.NewFree(-4, 3);
  EXPECT_FALSE(Equal(Inverse(Block(early, 8, 0, 16)),
                     Inverse(arena_.Add(Block(early, 8, 0, 8, false), Block(early, 8, 8, 16)))));
  EXPECT_TRUE(Equal(Inverse(Block(early, 8, 0, 16)),
                    Inverse(arena_.Add(Block(early, 8, 0, 8), Block(early, 8, 8, 16)))));
}

TEST_F(ClippedSumsTest, DenominatorsKeepTheirValue) {
  for (int round = 0; round < 2000; ++round) {
    Arena fresh;
    std::swap(arena_, fresh);
    const auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
    };
    const int64_t low = pick(-2, 2), high = low + pick(0, 3);
    const Symbol query = arena_.NewFree(low, high);
    const int64_t start = pick(0, 5);
    PolyId sum = arena_.One();
    std::vector<PolyId> parts = {sum};
    int64_t from = pick(-1, 1);
    for (int64_t blocks = pick(1, 3); blocks > 0; --blocks) {
      const int64_t to = from + pick(1, 3);
      parts.push_back(Block(query, start + pick(0, 1), from, to, pick(0, 1) == 1));
      sum = arena_.Add(sum, parts.back());
      from = to + (pick(0, 3) == 0 ? 1 : 0);
    }
    const PolyId inverse = Inverse(sum);
    for (int64_t q = low; q <= high; ++q) {
      FreeValues values;
      values[query] = q;
      long double expected = 0;
      for (PolyId part : parts) expected += Evaluate(arena_, part, values).value;
      EXPECT_NEAR(static_cast<double>(Evaluate(arena_, inverse, values).value * expected), 1, 1e-9);
    }
  }
}

// The gradient of the values: queries of the later block see all keys of the first.
TEST_F(ClippedSumsTest, SumsOverQueriesAreCutWhereMasksBecomeTrivial) {
  const Symbol key = arena_.NewFree(0, 7);
  const auto gradient = [&](int64_t from, int64_t to, int64_t keys) {
    const Symbol q = arena_.NewFree(from, to - 1);
    PolyId body = arena_.Mul(arena_.Element(kGradient, {Affine::Of(q)}),
                             arena_.Indicator(Affine::Of(q) - Affine::Of(key)));
    body = arena_.Mul(body, arena_.Exp(arena_.Element(kScore, {Affine::Of(q), Affine::Of(key)})));
    body = arena_.Mul(body, Inverse(Block(q, 0, 0, keys)));
    return arena_.Sum({q, {from, to}}, body);
  };
  const PolyId whole = gradient(0, 16, 16);
  EXPECT_TRUE(Equal(whole, arena_.Add(gradient(0, 8, 8), gradient(8, 16, 16))));
  EXPECT_TRUE(Equal(whole, arena_.Add(gradient(0, 8, 16), gradient(8, 16, 16))));
  EXPECT_FALSE(Equal(whole, arena_.Add(gradient(0, 8, 7), gradient(8, 16, 16))));
  EXPECT_FALSE(Equal(whole, arena_.Add(gradient(0, 8, 8), gradient(8, 16, 15))));
  EXPECT_FALSE(Equal(whole, arena_.Add(gradient(0, 8, 8), gradient(9, 16, 16))));
}

// A product over heads, the last of which lies on a rank of its own, whose sum has no index for
// heads.
TEST_F(ClippedSumsTest, ASumIsComparedWithOneThatLacksADimension) {
  constexpr int64_t kHeads = 30, kSize = 50;
  constexpr uint32_t kMixed = 2, kWeight = 3;
  const Symbol row = arena_.NewFree(0, 9);
  const auto element = [&](const Affine& head, const Affine& d, const Affine& column) {
    return arena_.Mul(arena_.Element(kMixed, {head, d}),
                      arena_.Element(kWeight, {Affine::Of(row), column}));
  };
  const auto heads = [&](int64_t from, int64_t to) {
    const Symbol h = arena_.NewFree(from, to - 1), d = arena_.NewFree(0, kSize - 1);
    const Affine head = Affine::Of(h), within = Affine::Of(d);
    return arena_.SumOver({{h, {from, to}}, {d, {0, kSize}}},
                          element(head, within, head.Scaled(kSize) + within));
  };
  const auto one_head = [&](int64_t head, int64_t column, int64_t size) {
    const Symbol d = arena_.NewFree(0, size - 1);
    return arena_.Sum({d, {0, size}},
                      element(Affine(head), Affine::Of(d), Affine::Of(d) + Affine(column)));
  };
  const PolyId whole = heads(0, kHeads);
  const PolyId others = heads(0, kHeads - 1);
  const int64_t last = kHeads - 1;
  EXPECT_TRUE(Equal(whole, arena_.Add(others, one_head(last, last * kSize, kSize))));
  EXPECT_TRUE(Equal(whole, arena_.Add(heads(1, kHeads), one_head(0, 0, kSize))));
  // Another head, other columns, one index too few.
  EXPECT_FALSE(Equal(whole, arena_.Add(others, one_head(last - 1, last * kSize, kSize))));
  EXPECT_FALSE(Equal(whole, arena_.Add(others, one_head(last, (last - 1) * kSize, kSize))));
  EXPECT_FALSE(Equal(whole, arena_.Add(others, one_head(last, last * kSize + 1, kSize))));
  EXPECT_FALSE(Equal(whole, arena_.Add(others, one_head(last, last * kSize, kSize - 1))));
  EXPECT_FALSE(Equal(whole, arena_.Add(heads(0, kHeads - 2), one_head(last, last * kSize, kSize))));
}

// Cuts in many dimensions multiply: the pieces of ten dimensions would fill any memory.
TEST_F(ClippedSumsTest, PiecesInManyDimensionsAreNotMade) {
  std::vector<BoundVariable> box;
  std::vector<Affine> indices;
  PolyId guarded = arena_.One();
  for (int d = 0; d < 10; ++d) {
    const Symbol s = arena_.NewFree(0, 99);
    if (d > 0) {  // or the sum would fall apart
      guarded = arena_.Mul(guarded, arena_.Indicator(indices[0] - Affine::Of(s) + Affine(d)));
    }
    box.push_back({s, {0, 100}});
    indices.push_back(Affine::Of(s));
  }
  PolyId sum = arena_.SumOver(box, arena_.Mul(guarded, arena_.Element(kScore, indices)));
  for (uint32_t tag = 2; tag < 18; ++tag) {
    const Symbol s = arena_.NewFree(5 * tag, 99);
    sum = arena_.Add(sum, arena_.Sum({s, {5 * tag, 100}}, arena_.Element(tag, {Affine::Of(s)})));
  }
  EXPECT_FALSE(arena_.IsZero(sum));
}

// Blocks 0 and 3 of a row on one rank, 1 and 2 on the other: as one sum over two blocks, far apart,
// and one over a range.
TEST_F(ClippedSumsTest, BlocksFarApartJoinTheirNeighbours) {
  constexpr int64_t kBlock = 40;
  const Symbol row = arena_.NewFree(0, 9);
  const auto element = [&](const Affine& at) {
    return arena_.Mul(arena_.Element(kScore, {Affine::Of(row), at}),
                      arena_.Element(kGradient, {at, Affine::Of(row)}));
  };
  const auto range = [&](int64_t from, int64_t to) {
    const Symbol k = arena_.NewFree(from, to - 1);
    return arena_.Sum({k, {from, to}}, element(Affine::Of(k)));
  };
  // Blocks `first` and `second`, of this length.
  const auto pair = [&](int64_t first, int64_t second, int64_t length) {
    const Symbol j = arena_.NewFree(0, 1), k = arena_.NewFree(0, length - 1);
    return arena_.SumOver({{j, {0, 2}}, {k, {0, length}}},
                          element(Affine::Of(j).Scaled((second - first) * kBlock) + Affine::Of(k) +
                                  Affine(first * kBlock)));
  };
  const PolyId whole = range(0, 4 * kBlock);
  EXPECT_TRUE(Equal(whole, arena_.Add(pair(0, 3, kBlock), range(kBlock, 3 * kBlock))));
  EXPECT_TRUE(
      Equal(range(0, 6 * kBlock),
            arena_.Add(pair(0, 5, kBlock), arena_.Add(pair(1, 4, kBlock), pair(2, 3, kBlock)))));
  EXPECT_FALSE(Equal(whole, arena_.Add(pair(0, 2, kBlock), range(kBlock, 3 * kBlock))));
  EXPECT_FALSE(Equal(whole, arena_.Add(pair(0, 3, kBlock - 1), range(kBlock, 3 * kBlock))));
  EXPECT_FALSE(Equal(whole, arena_.Add(pair(0, 3, kBlock + 1), range(kBlock, 3 * kBlock))));
  EXPECT_FALSE(Equal(whole, arena_.Add(pair(0, 3, kBlock), range(kBlock, 3 * kBlock - 1))));
}

// Blocks of a row one after the other, as a rank holds them: which block an index lies in decides
// where it comes from.
TEST_F(ClippedSumsTest, ConditionsOnABlockAreDecidedBlockByBlock) {
  const Symbol block = arena_.NewFree(0, 1), within = arena_.NewFree(0, 39);
  const Affine i = Affine::Of(block), j = Affine::Of(within);
  const Affine local = i.Scaled(40) + j;
  const auto row = [&](const Affine& at) { return arena_.Element(kScore, {at}); };
  const auto joined = [&](int64_t gap, int64_t from) {
    return arena_.Add(arena_.Mul(arena_.Indicator(local - Affine(from)), row(local + Affine(gap))),
                      arena_.Mul(arena_.Indicator(Affine(from - 1) - local), row(local)));
  };
  EXPECT_TRUE(Equal(joined(80, 40), row(i.Scaled(120) + j)));
  EXPECT_FALSE(Equal(joined(79, 40), row(i.Scaled(120) + j)));
  EXPECT_FALSE(Equal(joined(80, 41), row(i.Scaled(120) + j)));
  EXPECT_FALSE(Equal(joined(80, 40), row(i.Scaled(121) + j)));
  // The other block only.
  EXPECT_FALSE(Equal(arena_.Mul(arena_.Indicator(local - Affine(40)), row(local + Affine(80))),
                     row(i.Scaled(120) + j)));
  // What holds for the values from 0 to 1 need not for 2.
  const Symbol more = arena_.NewFree(0, 2);
  const Affine k = Affine::Of(more);
  EXPECT_FALSE(Equal(arena_.Add(arena_.Mul(arena_.Indicator(k - Affine(1)), row(Affine(7))),
                                arena_.Mul(arena_.Indicator(-k), row(Affine(0)))),
                     row(k.Scaled(7))));
}

TEST_F(ClippedSumsTest, TheInverseOfASquareIsTheSquareOfTheInverse) {
  const PolyId a = arena_.Element(2, {Affine(0)}), b = arena_.Element(3, {Affine(0)});
  const PolyId sum = arena_.Add(a, b);
  EXPECT_EQ(arena_.Power(arena_.Mul(sum, sum), Exponent{-1, 1}),
            arena_.Power(sum, Exponent{-2, 1}));
  const PolyId other = arena_.Add(arena_.Mul(a, a), arena_.Mul(b, b));
  EXPECT_NE(Inverse(other), arena_.Power(sum, Exponent{-2, 1}));
}

// A denominator inside a sum is nonzero for every index of the sum, and shown to be so: no premise
// is left over whose index nobody can name.
TEST_F(ClippedSumsTest, PremisesInsideSumsKnowTheRange) {
  const Symbol q = arena_.NewFree(0, 7);
  const PolyId body = arena_.Mul(arena_.Element(kGradient, {Affine::Of(q)}),
                                 Inverse(arena_.Add(Block(q, 8, 8, 16), Block(q, 8, 0, 8))));
  arena_.Sum({q, {0, 8}}, body);
  EXPECT_TRUE(arena_.premises().empty());
  // Queries before the first key have no key: that premise stays.
  const Symbol early = arena_.NewFree(-9, 7);
  arena_.Sum({early, {-9, 8}}, arena_.Mul(arena_.Element(kGradient, {Affine::Of(early)}),
                                          Inverse(Block(early, 0, 0, 8))));
  EXPECT_FALSE(arena_.premises().empty());
}

// What pieces of sums meet is met by every claim, however often they have been summed.
TEST_F(ClippedSumsTest, PiecesMeetTheirPremisesEachTime) {
  const Symbol query = arena_.NewFree(0, 7);
  const auto part = [&](int64_t from, int64_t to) {
    const Symbol k = arena_.NewFree(from, to - 1);
    const PolyId base = arena_.Add(arena_.Element(kScore, {Affine::Of(query), Affine::Of(k)}),
                                   arena_.Element(kGradient, {Affine::Of(k)}));
    return arena_.Sum({k, {from, to}}, Inverse(base));
  };
  const PolyId difference = arena_.Sub(arena_.Sub(part(0, 8), part(0, 4)), part(2, 8));
  std::vector<size_t> met;
  for (int round = 0; round < 3; ++round) {
    arena_.ClearPremises();
    EXPECT_FALSE(arena_.IsZero(difference));
    met.push_back(arena_.premises().size());
  }
  EXPECT_GT(met[0], 0u);
  EXPECT_EQ(met, std::vector<size_t>(3, met[0]));
}

}  // namespace
}  // namespace planproof::solver
