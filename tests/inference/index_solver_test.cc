// Indices at which a definition has a value.
#include "inference/index_solver.h"

#include <gtest/gtest.h>

namespace planproof::inference {
namespace {

using solver::Affine;
using solver::PolyId;
using solver::Symbol;

constexpr uint32_t kX = 1, kW = 2;

class IndexSolverTest : public testing::Test {
 protected:
  PolyId Product(const Affine& row, const Affine& column) {
    const Symbol k = arena_.NewFree(0, 15);
    return arena_.Sum({k, {0, 16}}, arena_.Mul(arena_.Element(kX, {row, Affine::Of(k)}),
                                               arena_.Element(kW, {column, Affine::Of(k)})));
  }

  solver::Arena arena_;
};

TEST_F(IndexSolverTest, ReadsIndicesOffElements) {
  const Symbol i = arena_.NewFree(0, 63), j = arena_.NewFree(0, 31);
  const Symbol rank = arena_.NewFree(0, 3), row = arena_.NewFree(0, 63), p = arena_.NewFree(0, 7);
  const PolyId definition = Product(Affine::Of(i), Affine::Of(j));
  const PolyId value = Product(Affine::Of(row), Affine::Of(rank, 8) + Affine::Of(p));
  IndexSolver solver(arena_, {{i, {0, 64}}, {j, {0, 32}}});
  const auto solutions =
      solver.Solve(OccurrencesIn(arena_, definition), OccurrencesIn(arena_, value));
  ASSERT_EQ(solutions.size(), 1u);
  EXPECT_EQ(solutions[0].at(i), Affine::Of(row));
  EXPECT_EQ(solutions[0].at(j), Affine::Of(rank, 8) + Affine::Of(p));
}

TEST_F(IndexSolverTest, DividesAnIndexAmongDigits) {
  const Symbol high = arena_.NewFree(0, 7), low = arena_.NewFree(0, 7), p = arena_.NewFree(0, 7),
               q = arena_.NewFree(0, 7);
  const PolyId definition = arena_.Element(kX, {Affine::Of(high, 8) + Affine::Of(low), Affine(3)});
  const PolyId value = arena_.Element(kX, {Affine::Of(p, 8) + Affine::Of(q), Affine(3)});
  IndexSolver solver(arena_, {{high, {0, 8}}, {low, {0, 8}}});
  const auto solutions =
      solver.Solve(OccurrencesIn(arena_, definition), OccurrencesIn(arena_, value));
  ASSERT_EQ(solutions.size(), 1u);
  EXPECT_EQ(solutions[0].at(high), Affine::Of(p));
  EXPECT_EQ(solutions[0].at(low), Affine::Of(q));
}

TEST_F(IndexSolverTest, AsksForTheDigitThatIsMissing) {
  const Symbol high = arena_.NewFree(0, 7), low = arena_.NewFree(0, 7), p = arena_.NewFree(0, 63);
  const PolyId definition = arena_.Element(kX, {Affine::Of(high, 8) + Affine::Of(low), Affine(3)});
  const PolyId value = arena_.Element(kX, {Affine::Of(p), Affine(3)});
  IndexSolver solver(arena_, {{high, {0, 8}}, {low, {0, 8}}});
  for (const auto& solution :
       solver.Solve(OccurrencesIn(arena_, definition), OccurrencesIn(arena_, value))) {
    EXPECT_TRUE(solution.empty());
  }
  ASSERT_TRUE(solver.split().has_value());
  EXPECT_EQ(solver.split()->kind, sdfg::SplitRequest::Kind::kDigit);
  EXPECT_EQ(solver.split()->symbol, p);
  EXPECT_EQ(solver.split()->at, 8);
}

TEST_F(IndexSolverTest, OtherConstantsHaveNoSolution) {
  const Symbol i = arena_.NewFree(0, 7), p = arena_.NewFree(0, 7);
  const PolyId definition = arena_.Element(kX, {Affine::Of(i), Affine(3)});
  const PolyId value = arena_.Element(kX, {Affine::Of(p), Affine(2)});
  IndexSolver solver(arena_, {{i, {0, 8}}});
  const auto solutions =
      solver.Solve(OccurrencesIn(arena_, definition), OccurrencesIn(arena_, value));
  for (const auto& solution : solutions) EXPECT_TRUE(solution.empty());
}

// The value adds one row of a window; written from its start, row p + 7 of the whole is meant.
TEST_F(IndexSolverTest, ReadsAnIndexOffAPartOfASum) {
  const Symbol i = arena_.NewFree(0, 63), p = arena_.NewFree(0, 7);
  const auto window = [&](const Affine& at, int64_t from, int64_t to) {
    const Symbol k = arena_.NewFree(from, to - 1), c = arena_.NewFree(0, 3);
    const PolyId inner =
        arena_.Sum({c, {0, 4}}, arena_.Mul(arena_.Element(kX, {at + Affine::Of(k), Affine::Of(c)}),
                                           arena_.Element(kW, {Affine::Of(k), Affine::Of(c)})));
    return arena_.Sum({k, {from, to}}, arena_.Mul(arena_.Indicator(at + Affine::Of(k)), inner));
  };
  const PolyId definition = window(Affine::Of(i) - Affine(1), 0, 3);
  const PolyId value = window(Affine::Of(p) + Affine(6), 0, 3);
  IndexSolver solver(arena_, {{i, {0, 64}}});
  const auto solutions =
      solver.Solve(OccurrencesFromStart(arena_, definition), OccurrencesFromStart(arena_, value));
  ASSERT_FALSE(solutions.empty());
  EXPECT_FALSE(solver.complete()) << "variables of sums were needed";
  EXPECT_EQ(solutions[0].size(), 1u) << "there is a form for every unknown";
  EXPECT_EQ(solutions[0].at(i), Affine::Of(p) + Affine(7));
}

// A head of four columns: the definition adds x[4 h + k] over k of 0:4, the fourth head alone x[k]
// over k of 12:16. With the variables as they stand, h would be 0.
TEST_F(IndexSolverTest, AHeadThatStandsInTheBoundsOfASumIsReadFromItsStart) {
  const Symbol h = arena_.NewFree(0, 3), i = arena_.NewFree(0, 7), p = arena_.NewFree(0, 7);
  const auto columns = [&](const Affine& row, const Affine& first, int64_t from, int64_t to) {
    const Symbol k = arena_.NewFree(from, to - 1);
    return arena_.Sum({k, {from, to}},
                      arena_.Mul(arena_.Element(kX, {row, first + Affine::Of(k)}),
                                 arena_.Element(kW, {row, first + Affine::Of(k)})));
  };
  const PolyId definition = columns(Affine::Of(i), Affine::Of(h, 4), 0, 4);
  const PolyId value = columns(Affine::Of(p), Affine(0), 12, 16);
  IndexSolver solver(arena_, {{h, {0, 4}}, {i, {0, 8}}});
  solver.Solve(OccurrencesIn(arena_, definition), OccurrencesIn(arena_, value));
  EXPECT_FALSE(solver.complete()) << "the start of the sum may be the index";
  const auto solutions =
      solver.Solve(OccurrencesFromStart(arena_, definition), OccurrencesFromStart(arena_, value));
  ASSERT_FALSE(solutions.empty());
  EXPECT_EQ(solutions[0].at(h), Affine(3));
  EXPECT_EQ(solutions[0].at(i), Affine::Of(p));
}

// Batch b and head h are one dimension, x[4 b + h]. Two ranks take every second batch each: the
// value has two sums over k, of x[8 k + h] and x[8 k + 4 + h].
TEST_F(IndexSolverTest, AVariableOfASumTakesWhatIsAMultipleOfItsCoefficient) {
  const Symbol h = arena_.NewFree(0, 3), p = arena_.NewFree(44, 45);
  const auto batches = [&](const Affine& head, int64_t step, int64_t first, int64_t count) {
    const Symbol k = arena_.NewFree(0, count - 1);
    return arena_.Sum(
        {k, {0, count}},
        arena_.Mul(arena_.Element(kX, {head + Affine::Of(k, 4 * step) + Affine(4 * first)}),
                   arena_.Element(kW, {Affine::Of(k, step) + Affine(first)})));
  };
  const PolyId definition = batches(Affine::Of(h), 1, 0, 4);
  const Affine head = Affine::Of(p) - Affine(42);  // 2 or 3
  const PolyId value = arena_.Add(batches(head, 2, 0, 2), batches(head, 2, 1, 2));
  IndexSolver solver(arena_, {{h, {0, 4}}});
  const auto solutions =
      solver.Solve(OccurrencesIn(arena_, definition), OccurrencesIn(arena_, value));
  EXPECT_FALSE(solver.complete()) << "variables of sums were needed";
  ASSERT_FALSE(solutions.empty());
  EXPECT_EQ(solutions[0].at(h), head);
}

// Nothing but free symbols is needed here.
TEST_F(IndexSolverTest, WhatElementsOutsideOfSumsDetermineIsComplete) {
  const Symbol i = arena_.NewFree(0, 7), p = arena_.NewFree(0, 7);
  IndexSolver solver(arena_, {{i, {0, 8}}});
  solver.Solve(OccurrencesIn(arena_, arena_.Element(kX, {Affine::Of(i)})),
               OccurrencesIn(arena_, arena_.Element(kX, {Affine::Of(p)})));
  EXPECT_TRUE(solver.complete());
}

}  // namespace
}  // namespace planproof::inference
