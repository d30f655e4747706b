// Sums from which single elements were taken out, against whole sums: alone, in products and
// powers, read backwards, in two dimensions; and what must not be shown equal.
#include <gtest/gtest.h>

#include "solver/term.h"

namespace planproof::solver {
namespace {

constexpr uint32_t kX = 0, kY = 1;

class ElementCutsTest : public testing::Test {
 protected:
  PolyId At(uint32_t tensor, int64_t index) { return arena_.Element(tensor, {Affine(index)}); }
  // sum over i in [from, to) of x[sign i + offset].
  PolyId Sum(int64_t from, int64_t to, int64_t sign = 1, int64_t offset = 0) {
    const Symbol i = arena_.NewFree(from, to - 1);
    return arena_.Sum({i, {from, to}}, arena_.Element(kX, {Affine::Of(i, sign) + Affine(offset)}));
  }
  // sum over [a, b) x [c, d) of y[i, j].
  PolyId Square(int64_t a, int64_t b, int64_t c, int64_t d) {
    const Symbol i = arena_.NewFree(a, b - 1), j = arena_.NewFree(c, d - 1);
    return arena_.SumOver({{i, {a, b}}, {j, {c, d}}},
                          arena_.Element(kY, {Affine::Of(i), Affine::Of(j)}));
  }
  PolyId Row(int64_t row, int64_t c, int64_t d) {
    const Symbol j = arena_.NewFree(c, d - 1);
    return arena_.Sum({j, {c, d}}, arena_.Element(kY, {Affine(row), Affine::Of(j)}));
  }
  PolyId Power(PolyId p, int32_t n) { return arena_.Power(p, Exponent{n, 1}); }
  bool Equal(PolyId a, PolyId b) { return arena_.IsZero(arena_.Sub(a, b)); }

  Arena arena_;
};

TEST_F(ElementCutsTest, AnElementAndTheRestAreTheWholeSum) {
  for (const int64_t at : {0, 3, 99}) {
    PolyId parts = At(kX, at);
    if (at > 0) parts = arena_.Add(parts, Sum(0, at));
    if (at < 99) parts = arena_.Add(parts, Sum(at + 1, 100));
    EXPECT_TRUE(Equal(parts, Sum(0, 100)));
    for (const int32_t power : {2, 3, 4}) {
      EXPECT_TRUE(Equal(Power(parts, power), Power(Sum(0, 100), power))) << at << " " << power;
    }
    EXPECT_TRUE(Equal(arena_.Mul(parts, At(kX, 5)), arena_.Mul(Sum(0, 100), At(kX, 5))));
    EXPECT_TRUE(Equal(Power(parts, 2), Power(Sum(-99, 1, -1), 2)));
    EXPECT_FALSE(Equal(Power(parts, 2), Power(Sum(0, 99), 2)));
    EXPECT_FALSE(Equal(Power(parts, 2), arena_.Mul(Sum(0, 100), Sum(1, 100))));
    EXPECT_FALSE(Equal(Power(parts, 3), Power(Sum(0, 100), 2)));
  }
}

TEST_F(ElementCutsTest, RowsTakenOutOfASquareAreCutsInOneDimension) {
  const PolyId rows = arena_.Add(arena_.Add(Row(0, 0, 50), Row(1, 0, 50)), Square(2, 40, 0, 50));
  EXPECT_TRUE(Equal(rows, Square(0, 40, 0, 50)));
  EXPECT_TRUE(Equal(Power(rows, 2), Power(Square(0, 40, 0, 50), 2)));
  EXPECT_FALSE(Equal(rows, Square(0, 41, 0, 50)));
  const PolyId twice = arena_.Add(arena_.Add(Row(1, 0, 50), Row(1, 0, 50)), Square(2, 40, 0, 50));
  EXPECT_FALSE(Equal(twice, Square(0, 40, 0, 50)));
  EXPECT_FALSE(Equal(Power(twice, 2), Power(Square(0, 40, 0, 50), 2)));
}

// Blocks of a sum in the order of the ranks, or against it.
TEST_F(ElementCutsTest, BlocksAgainstTheirOrderAreTheWholeSum) {
  const auto blocks = [&](int64_t count, int64_t length, int64_t stride, int64_t offset) {
    const Symbol rank = arena_.NewFree(0, count - 1), i = arena_.NewFree(0, length - 1);
    return arena_.SumOver(
        {{rank, {0, count}}, {i, {0, length}}},
        arena_.Element(kX, {Affine::Of(rank, stride) + Affine::Of(i) + Affine(offset)}));
  };
  EXPECT_TRUE(Equal(blocks(3, 4, 4, 0), Sum(0, 12)));
  EXPECT_TRUE(Equal(blocks(3, 4, -4, 8), Sum(0, 12)));
  EXPECT_TRUE(Equal(Power(blocks(3, 4, -4, 8), 2), Power(Sum(0, 12), 2)));
  EXPECT_FALSE(Equal(blocks(3, 4, -4, 9), Sum(0, 12)));
  EXPECT_FALSE(Equal(blocks(3, 4, -3, 8), Sum(0, 12)));
  EXPECT_FALSE(Equal(blocks(3, 3, -4, 8), Sum(0, 12)));
  EXPECT_FALSE(Equal(blocks(4, 4, -4, 8), Sum(0, 12)));
}

// Elements that are read at ids, or count where an id has a value: cut where the ids are read.
TEST_F(ElementCutsTest, IdsThatAreReadElsewhereCutAsElementsDo) {
  constexpr uint32_t kIds = 7;
  const auto id = [&](const Affine& row, const Affine& at) {
    return Affine::Of(arena_.IntAtom(arena_.ElementAtom(kIds, {row, at}), {0, 9}));
  };
  // sum over rows [from, to) of 8 positions and 10 classes of [class = label] y[8 row + position,
  // class].
  const auto picked = [&](int64_t from, int64_t to, const auto& label) {
    const Symbol row = arena_.NewFree(from, to - 1);
    const Symbol at = arena_.NewFree(0, 7), k = arena_.NewFree(0, 9);
    const Affine r = from + 1 == to ? Affine(from) : Affine::Of(row), a = Affine::Of(at);
    std::vector<BoundVariable> box = {{at, {0, 8}}, {k, {0, 10}}};
    if (from + 1 < to) box.push_back({row, {from, to}});
    return arena_.SumOver(box, arena_.Mul(arena_.Delta(Affine::Of(k) - label(r, a)),
                                          arena_.Element(kY, {r.Scaled(8) + a, Affine::Of(k)})));
  };
  const auto own = [&](const Affine& row, const Affine& at) { return id(row, at); };
  const auto next = [&](const Affine& row, const Affine& at) { return id(row + Affine(1), at); };
  PolyId rows = kZeroPoly, wrong = kZeroPoly;
  for (int64_t row = 0; row < 4; ++row) {
    rows = arena_.Add(rows, picked(row, row + 1, own));
    wrong = arena_.Add(wrong, row == 2 ? picked(row, row + 1, next) : picked(row, row + 1, own));
  }
  EXPECT_TRUE(Equal(rows, picked(0, 4, own)));
  EXPECT_FALSE(Equal(wrong, picked(0, 4, own)));
}

}  // namespace
}  // namespace planproof::solver
