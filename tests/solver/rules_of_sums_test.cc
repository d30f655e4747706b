// One test per rule about sums and maxima over boxes, and of the zero test.
#include "tests/solver/rules.h"

namespace planproof::solver {
namespace {

TEST_F(Rule, MergeAdjacent) {
  const auto x = [&](const Affine& v) { return X(v); };
  EXPECT_EQ(Plus(Times(Y(), Sum(0, 3, x)), Times(Y(), Sum(3, 8, x))), Times(Y(), Sum(0, 8, x)));
  EXPECT_NE(Plus(Sum(0, 3, x), Sum(4, 8, x)), Sum(0, 8, x));
  EXPECT_NE(Plus(Sum(0, 4, x), Sum(3, 8, x)), Sum(0, 8, x));
  EXPECT_NE(Plus(Sum(0, 3, x), arena_.Scale(Sum(3, 8, x), Rational(2))), Sum(0, 8, x));
}

TEST_F(Rule, Distribute) {
  EXPECT_EQ(Sum(0, 8, [&](const Affine& v) { return Plus(Times(Y(), X(v)), P(v)); }),
            Plus(Times(Y(), Sum(0, 8, [&](const Affine& v) { return X(v); })),
                 Sum(0, 8, [&](const Affine& v) { return P(v); })));
  EXPECT_NE(Sum(0, 8, [&](const Affine& v) { return Times(Y(v), X(v)); }),
            Times(Sum(0, 8, [&](const Affine& v) { return X(v); }),
                  Sum(0, 8, [&](const Affine& v) { return Y(v); })));
}

TEST_F(Rule, Flatten) {
  const BoundVariable i = Variable(0, 3), j = Variable(0, 5);
  const PolyId pair = arena_.Element(kY, {At(i), At(j)});
  EXPECT_EQ(arena_.Sum(i, Times(X(At(i)), arena_.Sum(j, pair))),
            arena_.SumOver({i, j}, Times(X(At(i)), pair)));
  // A square is a sum over two variables, not one of squares.
  const PolyId row = arena_.Sum(j, pair);
  EXPECT_NE(arena_.Sum(i, Power(row, 2)), arena_.SumOver({i, j}, Power(pair, 2)));
}

TEST_F(Rule, DeltaInSum) {
  const Affine e = Free(0, 8), far = Free(0, 9);
  const auto picked = [&](const Affine& at) {
    return Sum(0, 8, [&](const Affine& v) { return Times(arena_.Delta(v - at), X(v)); });
  };
  EXPECT_EQ(picked(e), X(e));
  EXPECT_EQ(picked(far), Times(arena_.Indicator(Affine(7) - far), X(far)));
  EXPECT_EQ(picked(Affine(8)), kZeroPoly);
}

TEST_F(Rule, CountOne) {
  const auto count = [&](const Affine& id) {
    return Sum(0, 8, [&](const Affine& v) { return arena_.Delta(v - id); });
  };
  EXPECT_EQ(count(Id(0, 0, 7)), Number(1));
  EXPECT_NE(count(Id(1, 0, 8)), Number(1));
  EXPECT_NE(Sum(0, 8, [&](const Affine& v) { return arena_.Delta(v - Id(v, 0, 7)); }), Number(1));
}

TEST_F(Rule, DataDelta) {
  const Affine id = Id(0, 0, 7);
  const auto sum = [&](bool at_id) {
    return Sum(0, 8, [&](const Affine& v) {
      return Times(arena_.Delta(v - id), arena_.Element(kX, {at_id ? id : v, v}));
    });
  };
  EXPECT_EQ(sum(true), sum(false));
  EXPECT_NE(Sum(0, 8,
                [&](const Affine& v) {
                  return arena_.Element(kX, {id, v});
                }),
            Sum(0, 8, [&](const Affine& v) {
              return arena_.Element(kX, {v, v});
            }));
}

TEST_F(Rule, Clip) {
  const auto x = [&](const Affine& v) { return X(v); };
  const auto from = [&](const Affine& least) {
    return Sum(0, 8, [&](const Affine& v) { return Times(arena_.Indicator(v - least), X(v)); });
  };
  EXPECT_EQ(from(Affine(3)), Sum(3, 8, x));
  EXPECT_NE(from(Affine(3)), Sum(4, 8, x));
  EXPECT_EQ(from(Affine(8)), kZeroPoly);
  // With a free bound the condition stays.
  const Affine q = Free(2, 4);
  EXPECT_NE(from(q), Sum(2, 8, x));
}

TEST_F(Rule, Empty) {
  const BoundVariable none{arena_.NewFree(0, 0), {0, 0}};
  EXPECT_EQ(arena_.Sum(none, X(At(none))), kZeroPoly);
}

TEST_F(Rule, Count) {
  EXPECT_EQ(Sum(2, 8, [&](const Affine&) { return X(); }), arena_.Scale(X(), Rational(6)));
  const Affine q = Free(0, 8), beyond = Free(0, 12);
  const auto up_to = [&](const Affine& e) {
    return Sum(0, 8, [&](const Affine& v) { return arena_.Indicator(e - v); });
  };
  EXPECT_EQ(up_to(q), arena_.Position(q + Affine(1)));
  EXPECT_NE(up_to(beyond), arena_.Position(beyond + Affine(1)));
}

TEST_F(Rule, Fuse) {
  const auto digits = [&](int64_t stride, int64_t low) {
    const BoundVariable i = Variable(0, 3), j = Variable(0, low);
    return arena_.SumOver({i, j}, X(At(i).Scaled(stride) + At(j)));
  };
  const auto x = [&](const Affine& v) { return X(v); };
  EXPECT_EQ(digits(4, 4), Sum(0, 12, x));
  EXPECT_EQ(digits(-4, 4), Sum(-8, 4, x));
  EXPECT_NE(digits(4, 3), Sum(0, 12, x));  // 3, 7 and 11 are not met
  EXPECT_NE(digits(3, 4), Sum(0, 12, x));  // 3 is met twice
}

TEST_F(Rule, Separate) {
  const BoundVariable i = Variable(0, 3), j = Variable(0, 5);
  EXPECT_EQ(arena_.SumOver({i, j}, Times(X(At(i)), Y(At(j)))),
            Times(arena_.Sum(i, X(At(i))), arena_.Sum(j, Y(At(j)))));
  EXPECT_NE(arena_.SumOver({i, j}, Times(X(At(i)), Y(At(j) + At(i)))),
            Times(arena_.Sum(i, X(At(i))), arena_.Sum(j, Y(At(j)))));
}

TEST_F(Rule, ShiftReflectLabel) {
  EXPECT_EQ(Sum(0, 8, [&](const Affine& v) { return X(Affine(9) - v); }),
            Sum(2, 10, [&](const Affine& v) { return X(v); }));
  const BoundVariable i = Variable(0, 3), j = Variable(0, 5);
  EXPECT_EQ(arena_.SumOver({i, j}, arena_.Element(kX, {At(i), At(j)})),
            arena_.SumOver({j, i}, arena_.Element(kX, {At(i), At(j)})));
  EXPECT_NE(arena_.SumOver({i, j}, arena_.Element(kX, {At(i), At(j)})),
            arena_.SumOver({i, j}, arena_.Element(kX, {At(j), At(i)})));
  EXPECT_NE(Sum(0, 8, [&](const Affine& v) { return Times(arena_.Position(v), X(v)); }),
            Sum(1, 9, [&](const Affine& v) { return Times(arena_.Position(v), X(v)); }));
}

TEST_F(Rule, MergeClipped) {
  const Affine q = Free(4, 8);
  const auto row = [&](int64_t lo, int64_t hi) {
    return Sum(lo, hi, [&](const Affine& v) { return Times(arena_.Indicator(q - v), P(v)); });
  };
  // Over [0, 4) the condition always holds and is gone.
  EXPECT_EQ(Power(Plus(row(0, 4), row(4, 8)), -1), Power(row(0, 8), -1));
  EXPECT_NE(Power(Plus(row(0, 3), row(4, 8)), -1), Power(row(0, 8), -1));
}

TEST_F(Rule, MaxShift) {
  EXPECT_EQ(Largest(0, 8, [&](const Affine& v) { return Plus(Y(), X(v)); }),
            Plus(Y(), Largest(0, 8, [&](const Affine& v) { return X(v); })));
  EXPECT_NE(Largest(0, 8, [&](const Affine& v) { return Plus(Y(v), X(v)); }),
            Plus(Y(), Largest(0, 8, [&](const Affine& v) { return X(v); })));
}

TEST_F(Rule, MaxFlatten) {
  const BoundVariable i = Variable(0, 3), j = Variable(0, 5);
  const PolyId pair = arena_.Element(kX, {At(i), At(j)});
  const PolyId below = arena_.Indicator(At(i) - At(j) - Affine(1));  // masked where j < i
  EXPECT_EQ(arena_.ReduceMax(i, arena_.ReduceMax(j, pair, below), kZeroPoly),
            arena_.ReduceMaxOver({i, j}, pair, below));
  EXPECT_NE(arena_.ReduceMax(i, arena_.ReduceMax(j, pair, below), kZeroPoly),
            arena_.ReduceMaxOver({i, j}, pair, kZeroPoly));
}

TEST_F(Rule, ComplementaryConditions) {
  const Affine t = Free(0, 9);
  const PolyId least = arena_.Indicator(t - Affine(4)), below = arena_.Indicator(Affine(3) - t);
  EXPECT_TRUE(Zero(Minus(Plus(least, below), Number(1))));
  EXPECT_FALSE(Zero(Minus(Plus(least, arena_.Indicator(Affine(4) - t)), Number(1))));
  EXPECT_TRUE(
      Zero(Minus(arena_.Delta(t - Affine(4)), Minus(least, arena_.Indicator(t - Affine(5))))));
}

TEST_F(Rule, Refine) {
  const auto x = [&](const Affine& v) { return X(v); };
  EXPECT_TRUE(Zero(Minus(Plus(Sum(0, 5, x), Sum(3, 8, x)), Plus(Sum(0, 8, x), Sum(3, 5, x)))));
  EXPECT_FALSE(Zero(Minus(Plus(Sum(0, 5, x), Sum(3, 8, x)), Plus(Sum(0, 8, x), Sum(3, 6, x)))));
}

TEST_F(Rule, ClearDenominators) {
  const PolyId a = Plus(X(), Number(1)), b = Plus(Y(), Number(1));
  const PolyId left = Plus(Power(a, -1), Power(b, -1));
  EXPECT_TRUE(Zero(Minus(left, Times(Plus(a, b), Power(Times(a, b), -1)))));
  EXPECT_FALSE(Zero(Minus(left, Times(Minus(a, b), Power(Times(a, b), -1)))));
  EXPECT_TRUE(Recorded(PremiseKind::kNonZero, a));
}

// Two blocks of a row's denominator, longer than what is written out: 1 / b - a / (b c) = 1 / c for
// c = a + b, as softmax's blocks are merged.
TEST_F(Rule, ClearSums) {
  const auto block = [&](int64_t lo, int64_t hi) {
    return Sum(lo, hi, [&](const Affine& v) { return P(v); });
  };
  const PolyId a = block(0, 10), b = block(10, 20), c = block(0, 20);
  const auto merged = [&](PolyId of_a, PolyId all) {
    return Minus(Power(b, -1), Times(of_a, Times(Power(b, -1), Power(all, -1))));
  };
  EXPECT_TRUE(Zero(Minus(merged(a, c), Power(c, -1))));
  EXPECT_TRUE(Zero(Minus(Power(merged(a, c), 2), Power(c, -2))));
  EXPECT_FALSE(Zero(Minus(merged(a, c), Power(a, -1))));
  EXPECT_FALSE(Zero(Minus(merged(block(0, 9), c), Power(c, -1))));
  EXPECT_FALSE(Zero(Minus(merged(a, block(0, 19)), Power(c, -1))));
  EXPECT_FALSE(Zero(Minus(Power(merged(a, c), 2), Power(c, -1))));
  // Beside four other denominators, and in 42 such differences at once; no more.
  const auto beside = [&](int64_t others, int64_t differences) {
    PolyId all = kZeroPoly, product = Number(1);
    for (int64_t k = 0; k < others; ++k)
      product = Times(product, Power(block(30 + 20 * k, 45 + 20 * k), -1));
    for (int64_t k = 0; k < differences; ++k)
      all = Plus(all, Times(Y(k), Times(product, Minus(merged(a, c), Power(c, -1)))));
    return Zero(all);
  };
  EXPECT_TRUE(beside(4, 1));
  EXPECT_FALSE(beside(5, 1));
  EXPECT_TRUE(beside(0, 42));
  EXPECT_FALSE(beside(0, 43));
  // What is chosen where a denominator is 0 is no part of what is multiplied away.
  const auto x = [&](const Affine& v) { return X(v); };
  const PolyId row = Sum(0, 20, x), rest = Sum(10, 20, x);
  const PolyId none = arena_.RealZero(row);
  const auto where = [&](PolyId otherwise, int64_t number) {
    return Plus(Times(Not(none), otherwise), Times(none, Number(number)));
  };
  const PolyId joined =
      Minus(Power(rest, -1), Times(Sum(0, 10, x), Times(Power(rest, -1), Power(row, -1))));
  EXPECT_TRUE(Zero(Minus(where(joined, 7), where(Power(row, -1), 7))));
  EXPECT_FALSE(Zero(Minus(where(joined, 7), where(Power(row, -1), 8))));
  // A sum that may be 0 was recorded not to be.
  const PolyId any = Sum(0, 20, [&](const Affine& v) { return X(v); });
  EXPECT_TRUE(Zero(
      Minus(Times(Power(any, -1), Plus(any, Y())), Plus(Number(1), Times(Power(any, -1), Y())))));
  EXPECT_TRUE(Recorded(PremiseKind::kNonZero, any));
}

// The same in each row of a matrix that is added up. Rows are joined where all have the same
// summands, and nowhere else.
TEST_F(Rule, Bodies) {
  const auto block = [&](const Affine& row, int64_t lo, int64_t hi) {
    return Sum(lo, hi, [&](const Affine& v) { return arena_.Element(kPositive, {row, v}); });
  };
  const auto rows = [&](int64_t lo, int64_t hi, const auto& body) { return Sum(lo, hi, body); };
  const auto merged = [&](const Affine& row) {
    const PolyId a = block(row, 0, 10), b = block(row, 10, 20), c = block(row, 0, 20);
    return Times(X(row), Minus(Power(b, -1), Times(a, Times(Power(b, -1), Power(c, -1)))));
  };
  const auto whole = [&](const Affine& row) { return Times(X(row), Power(block(row, 0, 20), -1)); };
  const auto wrong = [&](const Affine& row) { return Times(X(row), Power(block(row, 0, 10), -1)); };
  EXPECT_TRUE(Zero(Minus(rows(0, 30, merged), rows(0, 30, whole))));
  EXPECT_TRUE(Zero(Minus(rows(0, 30, merged), Plus(rows(0, 7, whole), rows(7, 30, whole)))));
  EXPECT_FALSE(Zero(Minus(rows(0, 30, merged), rows(0, 29, whole))));
  EXPECT_FALSE(Zero(Minus(rows(0, 30, merged), Plus(rows(0, 7, whole), rows(8, 30, whole)))));
  EXPECT_FALSE(Zero(Minus(rows(0, 30, merged), Plus(rows(0, 8, whole), rows(7, 30, whole)))));
  EXPECT_FALSE(Zero(Minus(rows(0, 30, merged), rows(0, 30, wrong))));
  EXPECT_FALSE(Zero(Minus(rows(0, 15, merged), rows(15, 30, whole))));
  // Zero in every row but one.
  const auto but_one = [&](const Affine& row) {
    return Times(Minus(Number(1), arena_.Delta(row - Affine(3))), whole(row));
  };
  EXPECT_FALSE(Zero(Minus(rows(0, 30, merged), rows(0, 30, but_one))));
  // In 64 boxes, and no more.
  const auto boxes = [&](int64_t count) {
    PolyId all = kZeroPoly;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t lo = 10 * k, hi = lo + 10;
      all = Plus(all, Times(Y(k), Minus(rows(lo, hi, merged), rows(lo, hi, whole))));
    }
    return Zero(all);
  };
  EXPECT_TRUE(boxes(64));
  EXPECT_FALSE(boxes(65));
  // What stands beside a sum counts.
  EXPECT_TRUE(Zero(Times(Y(), Minus(rows(0, 30, merged), rows(0, 30, whole)))));
  EXPECT_FALSE(Zero(Minus(Times(Y(), rows(0, 30, merged)), rows(0, 30, whole))));
  // Rows and columns that a denominator depends on are told apart by where they stand, and a number
  // of rows that is a number of columns does not exchange them.
  const auto sum = [&](bool whole, bool exchanged) {
    const BoundVariable i = Variable(0, 20), j = Variable(0, 20);
    const auto block = [&](int64_t lo, int64_t hi) {
      return Sum(lo, hi, [&](const Affine& v) {
        return arena_.Element(kPositive, {At(exchanged ? j : i), At(exchanged ? i : j), v});
      });
    };
    const PolyId a = block(0, 10), b = block(10, 20), c = block(0, 20);
    const PolyId share =
        whole ? Power(c, -1) : Minus(Power(b, -1), Times(a, Times(Power(b, -1), Power(c, -1))));
    return arena_.SumOver({i, j}, Times(Times(X(At(i)), Y(At(j))), share));
  };
  EXPECT_TRUE(Zero(Minus(sum(false, false), sum(true, false))));
  EXPECT_FALSE(Zero(Minus(sum(false, false), sum(true, true))));
}

TEST_F(Rule, Cut) {
  const Affine q = Free(4, 6);
  const auto masked = [&](int64_t lo, int64_t hi) {
    return Sum(lo, hi, [&](const Affine& v) { return Times(arena_.Indicator(q - v), X(v)); });
  };
  const PolyId open = Sum(0, 4, [&](const Affine& v) { return X(v); });
  EXPECT_TRUE(Zero(Minus(masked(0, 8), Plus(open, masked(4, 8)))));
  EXPECT_FALSE(Zero(Minus(masked(0, 8), Plus(open, masked(5, 8)))));
}

TEST_F(Rule, BlocksApart) {
  const BoundVariable block = Variable(0, 2), i = Variable(0, 4);
  const PolyId apart = arena_.SumOver({block, i}, X(At(block).Scaled(12) + At(i)));
  const auto x = [&](const Affine& v) { return X(v); };
  EXPECT_TRUE(Zero(Minus(Plus(apart, Sum(4, 12, x)), Sum(0, 16, x))));
  EXPECT_FALSE(Zero(Minus(Plus(apart, Sum(4, 11, x)), Sum(0, 16, x))));
  // Blocks of one position.
  const BoundVariable row = Variable(0, 9);
  const auto rows = [&](const Affine& at) {
    return arena_.Sum(row, Times(arena_.Element(kY, {at, At(row)}), X(at)));
  };
  const PolyId single = arena_.Sum(block, rows(At(block).Scaled(7)));
  EXPECT_TRUE(Zero(Minus(single, Plus(rows(0), rows(7)))));
  EXPECT_FALSE(Zero(Minus(single, Plus(rows(0), rows(6)))));
}

TEST_F(Rule, Cases) {
  const Affine t = Free(0, 2);
  const PolyId chosen = arena_.Element(kX, {t});
  const PolyId written =
      Plus(Times(arena_.Delta(t), X(0)), Times(arena_.Delta(t - Affine(1)), X(1)));
  EXPECT_TRUE(Zero(Minus(chosen, written)));
  EXPECT_FALSE(Zero(Minus(chosen, Times(arena_.Delta(t), X(0)))));
  // A range between the places at which conditions change: the last row is that of the neighbour.
  const Affine row = Free(0, 64);
  const PolyId inside = arena_.Indicator(Affine(62) - row);
  const auto with = [&](const PolyId last) {
    return Plus(Times(inside, X(row + Affine(1))), Times(Minus(Number(1), inside), last));
  };
  EXPECT_TRUE(Zero(Minus(with(X(64)), X(row + Affine(1)))));
  EXPECT_FALSE(Zero(Minus(with(X(63)), X(row + Affine(1)))));
  const PolyId too_early = Plus(Times(inside, X(64)), Times(Minus(Number(1), inside), X(64)));
  EXPECT_FALSE(Zero(Minus(too_early, X(row + Affine(1)))));
  // The same within windows of nine taps: conditions come out of the sums when these are cut.
  const BoundVariable i = Variable(0, 3), j = Variable(0, 3);
  const auto tap = [&](const PolyId value) {
    return arena_.SumOver({i, j}, Times(value, arena_.Element(kPositive, {At(i), At(j)})));
  };
  const Affine at = row + At(i);
  const PolyId own = arena_.Indicator(Affine(63) - at);
  const auto halo = [&](int64_t first) {
    const PolyId there = Times(arena_.Indicator(at - Affine(64)), arena_.Element(kX, {at, At(j)}));
    const PolyId first_row = arena_.Element(kX, {Affine(first), At(j)});
    return Plus(tap(Times(own, arena_.Element(kX, {at, At(j)}))),
                Plus(tap(Times(arena_.Indicator(at - Affine(65)), there)),
                     tap(Times(arena_.Delta(at - Affine(64)), first_row))));
  };
  const PolyId whole = tap(arena_.Element(kX, {at, At(j)}));
  EXPECT_TRUE(Zero(Minus(halo(64), whole)));
  EXPECT_FALSE(Zero(Minus(halo(63), whole)));
}

TEST_F(Rule, ElementsApart) {
  const auto x = [&](const Affine& v) { return X(v); };
  EXPECT_TRUE(Zero(Minus(Sum(0, 8, x), Plus(X(0), Sum(1, 8, x)))));
  EXPECT_FALSE(Zero(Minus(Sum(0, 8, x), Plus(X(1), Sum(1, 8, x)))));
  // Steps that are added up one by one: ids are read at [step, position], values at a flat index.
  const BoundVariable step = Variable(0, 3), i = Variable(0, 8), k = Variable(0, 32);
  const auto chosen = [&](const Affine& m, const Affine& flat) {
    const Affine id = Affine::Of(arena_.IntAtom(arena_.ElementAtom(kIds, {m, At(i)}), {0, 31}));
    return arena_.SumOver({i, k}, Times(arena_.Delta(At(k) - id),
                                        arena_.Element(kX, {flat.Scaled(8) + At(i), At(k)})));
  };
  const PolyId all = arena_.Sum(step, chosen(At(step), At(step)));
  const auto added = [&](int64_t last, int64_t flat) {
    return Plus(chosen(0, 0), Plus(chosen(1, 1), chosen(last, flat)));
  };
  EXPECT_TRUE(Zero(Minus(all, added(2, 2))));
  EXPECT_FALSE(Zero(Minus(all, added(1, 2))));
  EXPECT_FALSE(Zero(Minus(all, added(2, 1))));
  EXPECT_FALSE(Zero(Minus(all, Plus(chosen(0, 0), chosen(1, 1)))));
  // In functions, and where what is divided by is written so.
  EXPECT_TRUE(Zero(Minus(arena_.Exp(all), arena_.Exp(added(2, 2)))));
  EXPECT_FALSE(Zero(Minus(arena_.Exp(all), arena_.Exp(added(1, 2)))));
  const auto share = [&](PolyId of) { return Times(Y(), Power(Plus(Number(1), of), -1)); };
  const PolyId shares = Minus(share(all), share(added(2, 2)));
  const PolyId others = Minus(share(all), share(added(2, 1)));
  const size_t recorded = arena_.premises().size();
  EXPECT_TRUE(Zero(shares));
  EXPECT_FALSE(Zero(others));
  EXPECT_TRUE(Zero(Minus(Power(all, -2), Power(added(2, 2), -2))));
  EXPECT_EQ(arena_.premises().size(), recorded + 2);  // of the two powers
}

TEST_F(Rule, Remainders) {
  // Rank r has the steps 4 r to 4 r + 3, which it adds up one by one.
  const BoundVariable row = Variable(0, 32), rank = Variable(0, 8), i = Variable(0, 5);
  const auto step = [&](const BoundVariable& v, const Affine& at) {
    const Affine flat = at.Scaled(5) + At(i);
    const PolyId pair = Times(arena_.Element(kX, {at, At(i)}), arena_.Element(kY, {flat}));
    return arena_.SumOver({v, i}, pair);
  };
  const auto added = [&](int64_t stride, int64_t last) {
    PolyId sum = kZeroPoly;
    for (const int64_t at : {int64_t{0}, int64_t{1}, int64_t{2}, last}) {
      sum = Plus(sum, step(rank, At(rank).Scaled(stride) + Affine(at)));
    }
    return sum;
  };
  const PolyId all = step(row, At(row));
  EXPECT_TRUE(Zero(Minus(all, added(4, 3))));
  EXPECT_FALSE(Zero(Minus(all, added(4, 2))));
  EXPECT_FALSE(Zero(Minus(all, added(4, 4))));
  EXPECT_FALSE(Zero(Minus(all, added(5, 3))));
  EXPECT_TRUE(Zero(Minus(Power(all, 2), Power(added(4, 3), 2))));
  EXPECT_TRUE(Zero(Minus(Power(all, -1), Power(added(4, 3), -1))));
  EXPECT_FALSE(Zero(Minus(Power(all, 2), Power(added(4, 4), 2))));
}

TEST_F(Rule, Shares) {
  const BoundVariable i = Variable(0, 3), l = Variable(0, 5), k = Variable(0, 5);
  const auto f = [&](const BoundVariable& at) {
    return arena_.Element(kPositive, {At(i), At(at)});
  };
  const PolyId inverse = Power(arena_.Sum(k, f(k)), -1);
  const PolyId shares = arena_.SumOver({i, l}, Times(X(At(i)), Times(f(l), inverse)));
  EXPECT_TRUE(Zero(Minus(shares, arena_.Sum(i, X(At(i))))));
  const PolyId squared = arena_.SumOver({i, l}, Times(X(At(i)), Times(Power(f(l), 2), inverse)));
  EXPECT_FALSE(Zero(Minus(squared, arena_.Sum(i, X(At(i))))));
}

TEST_F(Rule, ExpandShort) {
  const PolyId sum = Sum(0, 3, [&](const Affine& v) { return Times(X(v), Y(v)); });
  const PolyId written = Plus(Times(X(0), Y(0)), Plus(Times(X(1), Y(1)), Times(X(2), Y(2))));
  EXPECT_TRUE(Zero(Minus(sum, written)));
  EXPECT_FALSE(Zero(Minus(sum, Times(X(0), Y(0)))));
  // In denominators: a sum of one point, and one beside others. What is asked asks for nothing.
  const auto p = [&](const Affine& v) { return P(v); };
  const PolyId one = Power(Sum(0, 1, p), -1), two = Power(Plus(Sum(0, 1, p), Sum(5, 6, p)), -1);
  const size_t recorded = arena_.premises().size();
  EXPECT_TRUE(Zero(Minus(Times(one, P(0)), Number(1))));
  EXPECT_FALSE(Zero(Minus(Times(one, P(1)), Number(1))));
  EXPECT_TRUE(Zero(Minus(Plus(Times(two, P(0)), Times(two, P(5))), Number(1))));
  EXPECT_FALSE(Zero(Minus(Plus(Times(two, P(0)), Times(two, P(6))), Number(1))));
  EXPECT_EQ(arena_.premises().size(), recorded);
}

}  // namespace
}  // namespace planproof::solver
