// Derivatives of what moves values: each is a movement again wherever its index map can be solved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sdfg/collectives.h"
#include "sdfg/differentiate.h"
#include "tests/sdfg/differentiate_testing.h"

namespace planproof::sdfg {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using B = IndexFunctionBuilder;

TEST(DifferentiateMovementsTest, MovementsInvertToMovements) {
  struct Case {
    const char* name;
    IndexFunction function;
    const char* derivative;
  };
  using I = std::vector<ExprId>;
  const std::vector<Case> cases = {
      {"transpose",
       Movement({2, 3}, {3, 2},
                [](B&, const I& i) {
                  return I{i[1], i[0]};
                }),
       "d_x[j0, j1] = d_y[j1, j0]"},
      {"slice", Movement({9}, {4}, [](B& b, const I& i) { return I{b.IntAdd(i[0], b.Int(3))}; }),
       "d_x[j0] = where(j0 + -3 < 4, where(0 <= j0 + -3, d_y[j0 + -3], 0), 0)"},
      {"strided slice",
       Movement({9}, {4},
                [](B& b, const I& i) { return I{b.IntAdd(b.IntScale(2, i[0]), b.Int(1))}; }),
       nullptr},
      {"flip", Movement({4}, {4}, [](B& b, const I& i) { return I{b.IntSub(b.Int(3), i[0])}; }),
       "d_x[j0] = d_y[-1 * j0 + 3]"},
      {"split",
       Movement({12}, {3, 4},
                [](B& b, const I& i) { return I{b.IntAdd(b.IntScale(4, i[0]), i[1])}; }),
       "d_x[j0] = d_y[j0 div 4, j0 mod 4]"},
      {"merge",
       Movement({3, 4}, {12},
                [](B& b, const I& i) {
                  return I{b.IntDiv(i[0], 4), b.IntMod(i[0], 4)};
                }),
       "d_x[j0, j1] = d_y[4 * j0 + j1]"},
      {"merge three",
       Movement({2, 3, 4}, {24},
                [](B& b, const I& i) {
                  return I{b.IntDiv(i[0], 12), b.IntMod(b.IntDiv(i[0], 4), 3), b.IntMod(i[0], 4)};
                }),
       "d_x[j0, j1, j2] = d_y[12 * j0 + 4 * j1 + j2]"},
      {"regroup",
       Movement({2, 12}, {6, 4},
                [](B& b, const I& i) {
                  const ExprId flat = b.IntAdd(b.IntScale(4, i[0]), i[1]);
                  return I{b.IntDiv(flat, 12), b.IntMod(flat, 12)};
                }),
       "d_x[j0, j1] = d_y[3 * j0 + j1 div 4, j1 mod 4]"},
      {"regroup without a common radix",
       Movement({4, 6}, {3, 8},
                [](B& b, const I& i) {
                  const ExprId flat = b.IntAdd(b.IntScale(8, i[0]), i[1]);
                  return I{b.IntDiv(flat, 6), b.IntMod(flat, 6)};
                }),
       nullptr},
      {"repeat each", Movement({3}, {12}, [](B& b, const I& i) { return I{b.IntDiv(i[0], 4)}; }),
       "d_x[j0] = sum(w: d_y[4 * j0 + w])"},
      {"repeat each, uneven",
       Movement({3}, {10}, [](B& b, const I& i) { return I{b.IntDiv(i[0], 4)}; }), nullptr},
      {"tile", Movement({3}, {12}, [](B& b, const I& i) { return I{b.IntMod(i[0], 3)}; }),
       "d_x[j0] = sum(w: d_y[j0 + 3 * w])"},
      {"tile, uneven", Movement({3}, {11}, [](B& b, const I& i) { return I{b.IntMod(i[0], 3)}; }),
       nullptr},
      {"middle digit",
       Movement({3}, {24}, [](B& b, const I& i) { return I{b.IntMod(b.IntDiv(i[0], 4), 3)}; }),
       nullptr},
      {"roll",
       Movement({5}, {5},
                [](B& b, const I& i) { return I{b.IntMod(b.IntAdd(i[0], b.Int(2)), 5)}; }),
       "d_x[j0] = d_y[(j0 + 3) mod 5]"},
      {"roll back",
       Movement({5}, {5},
                [](B& b, const I& i) { return I{b.IntMod(b.IntAdd(i[0], b.Int(-7)), 5)}; }),
       nullptr},
      {"roll part",
       Movement({5}, {3},
                [](B& b, const I& i) { return I{b.IntMod(b.IntAdd(i[0], b.Int(4)), 5)}; }),
       nullptr},
      {"diagonal",
       Movement({4, 4}, {4},
                [](B&, const I& i) {
                  return I{i[0], i[0]};
                }),
       nullptr},
      {"constant index",
       Movement({4, 4}, {4},
                [](B& b, const I& i) {
                  return I{b.Int(2), i[0]};
                }),
       nullptr},
      {"window", Movement({7}, {5, 3}, [](B& b, const I& i) { return I{b.IntAdd(i[0], i[1])}; }),
       nullptr},
      {"strided window",
       Movement({9}, {4, 3},
                [](B& b, const I& i) { return I{b.IntAdd(b.IntScale(2, i[0]), i[1])}; }),
       nullptr},
      {"no unit coefficient",
       Movement(
           {20}, {4, 3},
           [](B& b, const I& i) { return I{b.IntAdd(b.IntScale(3, i[0]), b.IntScale(2, i[1]))}; }),
       nullptr},
      {"product of digits",
       Movement({16}, {16},
                [](B& b, const I& i) {
                  return I{b.IntAdd(b.IntScale(8, b.IntMod(i[0], 2)), b.IntDiv(i[0], 2))};
                }),
       "d_x[j0] = d_y[2 * (j0 mod 8) + j0 div 8]"},
      {"sum of digits",
       Movement({10}, {16},
                [](B& b, const I& i) { return I{b.IntAdd(b.IntMod(i[0], 4), b.IntDiv(i[0], 4))}; }),
       nullptr},
      {"extent one",
       Movement({1, 3}, {3, 1},
                [](B& b, const I& i) {
                  return I{b.Int(0), i[0]};
                }),
       "d_x[j0, j1] = d_y[j1, 0]"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ExpectGradients(c.function);
    if (c.derivative != nullptr) {
      EXPECT_EQ(Derivative(c.function), c.derivative);
    }
  }
}

TEST(DifferentiateMovementsTest, SelectedIndexFallsBackToIndicators) {
  ExpectGradients(Movement({4}, {4}, [](B& b, const std::vector<ExprId>& i) {
    return std::vector<ExprId>{b.Select(b.Binary(Op::kIntLess, i[0], b.Int(2)),
                                        b.IntAdd(i[0], b.Int(2)), b.IntAdd(i[0], b.Int(-2)))};
  }));
}

TEST(DifferentiateMovementsTest, ConcatenationGivesSlices) {
  const auto f = AllGather({{2, 3}, {2, 1}, {2, 4}}, kReal, 1);
  ASSERT_TRUE(f.ok());
  ExpectGradients(*f);
  EXPECT_EQ(Derivative(*f),
            "d_x0[j0, j1] = d_y[j0, j1]\n"
            "d_x1[j0_2, j1_2] = d_y[j0_2, 3]\n"
            "d_x2[j0_3, j1_3] = d_y[j0_3, j1_3 + 4]");
}

TEST(DifferentiateMovementsTest, CollectivesAlongAnAxis) {
  const Shape shape = {3, 6, 2};
  for (const auto& f :
       {AxisAllReduce(shape, kReal, 0, ReduceKind::kSum), AxisAllGather(shape, kReal, 0, 2),
        AxisReduceScatter(shape, kReal, 0, 1, ReduceKind::kAvg),
        AxisAllToAll(shape, kReal, 0, 1, 2), AxisChunk(shape, kReal, 0, 1),
        AxisBroadcast(shape, kReal, 0, 1), AxisPermute(shape, kReal, 0, {1, -1, 0})}) {
    ASSERT_TRUE(f.ok());
    ExpectGradients(*f);
  }
}

TEST(DifferentiateMovementsTest, RotaryPairsDigits) {
  // y[s, 2 c + p] = x[s, 2 c + p] cos[s, c] + (2 p - 1) x[s, 2 c + 1 - p] sin[s, c].
  B b("rotary");
  b.AddInput("x", {2, 6}, kReal);
  b.AddInput("cos", {2, 3}, kReal);
  b.AddInput("sin", {2, 3}, kReal);
  const int y = b.AddOutput("y", Shape{2, 6}, kReal);
  const ExprId s = b.Index(b.OutputDims(y)[0]);
  const ExprId d = b.Index(b.OutputDims(y)[1]);
  const ExprId pair = b.IntDiv(d, 2);
  const ExprId part = b.IntMod(d, 2);
  const ExprId other = b.IntAdd(b.IntScale(2, pair), b.IntSub(b.Int(1), part));
  const ExprId sign =
      b.Binary(Op::kAdd, b.Binary(Op::kMul, b.Real(2), b.Unary(Op::kPosition, part)), b.Real(-1));
  b.SetBody(
      y, b.Binary(Op::kAdd, b.Binary(Op::kMul, b.Element(0, {s, d}), b.Element(1, {s, pair})),
                  b.Binary(Op::kMul, sign,
                           b.Binary(Op::kMul, b.Element(0, {s, other}), b.Element(2, {s, pair})))));
  const IndexFunction f = FinishedFunction(&b);
  ExpectGradients(f);
  EXPECT_THAT(Derivative(f), Not(HasSubstr("==")));  // solved, no indicators
}

TEST(DifferentiateMovementsTest, HalvesOfRotaryBySelect) {
  B b("rotary_half");
  b.AddInput("x", {2, 6}, kReal);
  b.AddInput("sin", {2, 6}, kReal);
  const int y = b.AddOutput("y", Shape{2, 6}, kReal);
  const ExprId s = b.Index(b.OutputDims(y)[0]);
  const ExprId d = b.Index(b.OutputDims(y)[1]);
  const ExprId rotated = b.Select(b.Binary(Op::kIntLess, d, b.Int(3)),
                                  b.Unary(Op::kNeg, b.Element(0, {s, b.IntAdd(d, b.Int(3))})),
                                  b.Element(0, {s, b.IntAdd(d, b.Int(-3))}));
  b.SetBody(y, b.Binary(Op::kMul, rotated, b.Element(1, {s, d})));
  ExpectGradients(FinishedFunction(&b));
}

}  // namespace
}  // namespace planproof::sdfg
