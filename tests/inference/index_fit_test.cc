// Maps that are fitted to pieces agree with all of them and stay inside the target.
#include "inference/index_fit.h"

#include <gtest/gtest.h>

namespace planproof::inference {
namespace {

using sdfg::IndexMap;
using sdfg::IndexTerm;
using sdfg::Shape;
using solver::Affine;
using solver::Symbol;

class IndexFitTest : public testing::Test {
 protected:
  // A symbol that runs through [low, high) in a cell.
  Symbol Run(int64_t low, int64_t high, stages::Cell* cell) {
    const Symbol s = arena_.NewFree(low, high - 1);
    cell->symbols.push_back({s, {low, high}});
    return s;
  }

  solver::Arena arena_;
};

TEST_F(IndexFitTest, ReadsDigitsOffOnePiece) {
  // i of 24 is 6 a + b; the target has a in its first dimension and b, turned around, in its
  // second.
  IndexPiece piece;
  const Symbol a = Run(0, 4, &piece.cell), b = Run(0, 6, &piece.cell);
  piece.cell.index = {Affine::Of(a, 6) + Affine::Of(b)};
  piece.forms = {Affine::Of(a), Affine(5) - Affine::Of(b)};
  const auto map = FitPieces({piece}, {24}, {4, 6});
  ASSERT_TRUE(map.has_value());
  for (int64_t i = 0; i < 24; ++i) {
    EXPECT_EQ((*map)[0].ValueAt({i}), i / 6);
    EXPECT_EQ((*map)[1].ValueAt({i}), 5 - i % 6);
  }
}

TEST_F(IndexFitTest, NeighbouringDigitsBecomeOne) {
  IndexPiece piece;
  const Symbol a = Run(0, 4, &piece.cell), b = Run(0, 6, &piece.cell);
  piece.cell.index = {Affine::Of(a, 6) + Affine::Of(b)};
  piece.forms = {Affine::Of(a, 6) + Affine::Of(b)};
  const auto map = FitPieces({piece}, {24}, {24});
  ASSERT_TRUE(map.has_value());
  const IndexMap identity = {.terms = {IndexTerm{}}};
  EXPECT_EQ((*map)[0], identity);
}

// After one round of a ring of four, rank r holds the block of rank r - 1.
std::vector<IndexPiece> Ring(solver::Arena* arena, int64_t ranks, int64_t round, int64_t block) {
  std::vector<IndexPiece> pieces(2);
  for (int p = 0; p < 2; ++p) {
    IndexPiece& piece = pieces[p];
    const int64_t low = p == 0 ? 0 : round, high = p == 0 ? round : ranks;
    const Symbol r = arena->NewFree(low, high - 1), i = arena->NewFree(0, block - 1);
    piece.cell.symbols = {{r, {low, high}}, {i, {0, block}}};
    piece.cell.index = {Affine::Of(r), Affine::Of(i)};
    const int64_t shift = p == 0 ? ranks - round : -round;
    piece.forms = {Affine::Of(r, block) + Affine(shift * block) + Affine::Of(i)};
  }
  return pieces;
}

TEST_F(IndexFitTest, ShiftsAroundARing) {
  for (const int64_t round : {1, 2, 3}) {
    const auto map = FitPieces(Ring(&arena_, 4, round, 5), {4, 5}, {20});
    ASSERT_TRUE(map.has_value()) << round;
    for (int64_t r = 0; r < 4; ++r) {
      for (int64_t i = 0; i < 5; ++i) {
        EXPECT_EQ((*map)[0].ValueAt({r, i}), (r + 4 - round) % 4 * 5 + i) << round;
      }
    }
  }
}

TEST_F(IndexFitTest, GatesBlocksInZigzagOrder) {
  // Rank r of four holds blocks r and 7 - r of eight, each of two.
  std::vector<IndexPiece> pieces(2);
  for (int64_t b = 0; b < 2; ++b) {
    IndexPiece& piece = pieces[b];
    const Symbol r = Run(0, 4, &piece.cell), i = Run(0, 2, &piece.cell);
    piece.cell.index = {Affine::Of(r), Affine(2 * b) + Affine::Of(i)};
    const Affine of_rank = b == 0 ? Affine::Of(r, 2) : Affine(14) - Affine::Of(r, 2);
    piece.forms = {of_rank + Affine::Of(i)};
  }
  const auto map = FitPieces(pieces, {4, 4}, {16});
  ASSERT_TRUE(map.has_value());
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ((*map)[0].ValueAt({r, i}), (i < 2 ? r : 7 - r) * 2 + i % 2);
    }
  }
}

// Elements 52 to 119 of a matrix of rows of 16, as ranks have that cut parameters anywhere.
TEST_F(IndexFitTest, RowsMayBeginWithin) {
  std::vector<IndexPiece> pieces(3);
  const Symbol rest = Run(4, 16, &pieces[0].cell), row = Run(0, 4, &pieces[0].cell);
  pieces[0].cell.index = {Affine::Of(row, 16) + Affine::Of(rest) + Affine(8)};
  pieces[0].forms = {Affine::Of(row) + Affine(4), Affine::Of(rest) - Affine(4)};
  const Symbol first = Run(0, 12, &pieces[1].cell);
  pieces[1].cell.index = {Affine::Of(first)};
  pieces[1].forms = {Affine(3), Affine::Of(first) + Affine(4)};
  const Symbol end = Run(8, 12, &pieces[2].cell), above = Run(0, 4, &pieces[2].cell);
  pieces[2].cell.index = {Affine::Of(above, 16) + Affine::Of(end)};
  pieces[2].forms = {Affine::Of(above) + Affine(3), Affine::Of(end) + Affine(4)};
  const auto map = FitPieces(pieces, {68}, {24, 16});
  ASSERT_TRUE(map.has_value());
  for (int64_t i = 0; i < 68; ++i) {
    EXPECT_EQ((*map)[0].ValueAt({i}), (i + 52) / 16) << i;
    EXPECT_EQ((*map)[1].ValueAt({i}), (i + 52) % 16) << i;
  }
}

TEST_F(IndexFitTest, WhatNoMapSaysIsRefused) {
  // Blocks of three ranks in an order that no digit has, of numbers that differ by no step.
  std::vector<IndexPiece> pieces(5);
  const int64_t start[] = {0, 7, 1, 30, 12};
  for (int64_t r = 0; r < 5; ++r) {
    pieces[r].cell.index = {Affine(r)};
    pieces[r].forms = {Affine(start[r])};
  }
  const auto map = FitPieces(pieces, {5}, {31});
  if (map.has_value()) {  // then it is right
    for (int64_t r = 0; r < 5; ++r) EXPECT_EQ((*map)[0].ValueAt({r}), start[r]);
  }
}

TEST_F(IndexFitTest, NothingOutsideTheTarget) {
  IndexPiece piece;
  const Symbol i = Run(0, 8, &piece.cell);
  piece.cell.index = {Affine::Of(i)};
  piece.forms = {Affine::Of(i) + Affine(1)};
  EXPECT_FALSE(FitPieces({piece}, {8}, {8}).has_value());
  EXPECT_TRUE(FitPieces({piece}, {8}, {9}).has_value());
}

}  // namespace
}  // namespace planproof::inference
