#include <gtest/gtest.h>

#include "sdfg/collectives.h"
#include "sdfg/operator_library.h"
#include "shape_reduction/domain_interval.h"
#include "tests/shape_reduction/reduced_testing.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::DType;
using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using sdfg::Shape;
using sdfg::VarId;

IndexFunction Finish(IndexFunctionBuilder* builder) {
  IndexFunction function;
  const absl::Status status = builder->Finish(&function);
  EXPECT_TRUE(status.ok()) << status;
  return function;
}

IndexFunction Linear(int64_t b, int64_t n, int64_t k) {
  IndexFunctionBuilder f("linear");
  f.AddInput("x", {b, k}, DType::kFloat32);
  f.AddInput("w", {n, k}, DType::kFloat32);
  const int y = f.AddOutput("y", Shape{b, n}, DType::kFloat32);
  const VarId v = f.AddVar("k", k);
  f.SetBody(y, f.Reduce(Op::kSum, v,
                        f.Binary(Op::kMul, f.Element(0, {f.Index(f.OutputDims(y)[0]), f.Index(v)}),
                                 f.Element(1, {f.Index(f.OutputDims(y)[1]), f.Index(v)}))));
  return Finish(&f);
}

TEST(ReducedFunctionTest, LinearWithUnevenBlocks) {
  ExpectReducedEqualsDense(Linear(6, 7, 12), 50);
}

TEST(ReducedFunctionTest, CostDoesNotDependOnExtents) {
  Random random(3);
  auto x = std::make_shared<BlockTensor<double>>();
  auto w = std::make_shared<BlockTensor<double>>();
  const int64_t large = int64_t{1} << 30;
  for (auto* t : {x.get(), w.get()}) {
    t->dims.push_back(std::make_shared<DimPartition>(DimPartition::WithCuts(large, {5})));
    t->dims.push_back(std::make_shared<DimPartition>(DimPartition::WithCuts(large, {1000})));
    t->values = {1, 2, 3, 4};
  }
  ProgramCache cache;
  ReducedEvaluator<DoubleDomain> evaluator(&cache);
  BlockTensorPtr<double> y;
  PremiseCheck premises;
  const IndexFunction function = Linear(large, large, large);
  ASSERT_TRUE(evaluator.Apply(BuildProgram(function, 0, {}, {}), {x, w}, 100, &y, &premises).ok());
  EXPECT_EQ(y->Blocks(), 4);
  EXPECT_EQ(y->values[0], 1000.0 * 1 + static_cast<double>(large - 1000) * 4);
}

// R1: a sum over an expanded element is n times it.
TEST(ReducedFunctionTest, SumOfAnExpandedElementIsWeighted) {
  IndexFunctionBuilder f("sum_expand");
  f.AddInput("c", {1}, DType::kFloat32);
  const int y = f.AddOutput("y", Shape{1}, DType::kFloat32);
  f.SetBody(y, f.Reduce(Op::kSum, f.AddVar("i", 1024), f.Element(0, {f.Int(0)})));
  ExpectReducedEqualsDense(Finish(&f), 5);
}

TEST(ReducedFunctionTest, MergeAndSplitViews) {
  for (const auto& [rows, columns] : {std::pair{4, 6}, {6, 4}, {3, 7}, {1, 5}}) {
    IndexFunctionBuilder merge("merge");
    merge.AddInput("x", {rows, columns}, DType::kFloat32);
    int y = merge.AddOutput("y", Shape{rows * columns}, DType::kFloat32);
    ExprId i = merge.Index(merge.OutputDims(y)[0]);
    merge.SetBody(y, merge.Element(0, {merge.IntDiv(i, columns), merge.IntMod(i, columns)}));
    ExpectReducedEqualsDense(Finish(&merge), 40);

    IndexFunctionBuilder split("split");
    split.AddInput("x", {rows * columns}, DType::kFloat32);
    y = split.AddOutput("y", Shape{columns, rows}, DType::kFloat32);  // and transposed
    const ExprId a = split.Index(split.OutputDims(y)[1]), b = split.Index(split.OutputDims(y)[0]);
    split.SetBody(y, split.Element(0, {split.IntAdd(split.IntScale(columns, a), b)}));
    ExpectReducedEqualsDense(Finish(&split), 40);
  }
}

// R9: [24] as [4, 6], transposed, flattened.
TEST(ReducedFunctionTest, ViewTransposeFlatten) {
  for (int64_t rows : {4, 6}) {
    const int64_t columns = 24 / rows;
    IndexFunctionBuilder f("shuffle");
    f.AddInput("x", {24}, DType::kFloat32);
    const int y = f.AddOutput("y", Shape{24}, DType::kFloat32);
    const ExprId i = f.Index(f.OutputDims(y)[0]);
    f.SetBody(y,
              f.Element(0, {f.IntAdd(f.IntScale(columns, f.IntMod(i, rows)), f.IntDiv(i, rows))}));
    ExpectReducedEqualsDense(Finish(&f), 60);
  }
}

TEST(ReducedFunctionTest, RandomAffineReadsWithDivAndMod) {
  Random random(11);
  for (int trial = 0; trial < 400; ++trial) {
    const int64_t n = Pick(&random, 2, 36), p = Pick(&random, 2, 12), q = Pick(&random, 2, 12);
    IndexFunctionBuilder f("read");
    f.AddInput("x", {n}, DType::kFloat32);
    const int y = f.AddOutput("y", Shape{p, q}, DType::kFloat32);
    ExprId e = f.Int(Pick(&random, -3, 3));
    for (int d : {0, 1}) {
      ExprId term = f.Index(f.OutputDims(y)[d]);
      if (Pick(&random, 0, 2) == 0) term = f.IntDiv(term, Pick(&random, 2, 4));
      if (Pick(&random, 0, 2) == 0) term = f.IntMod(term, Pick(&random, 2, 6));
      e = f.IntAdd(e, f.IntScale(Pick(&random, -2, 12), term));
    }
    if (Pick(&random, 0, 3) == 0) e = f.IntDiv(e, Pick(&random, 1, 5));
    const ExprId in = f.Binary(Op::kAnd, f.Binary(Op::kIntLessEq, f.Int(0), e),
                               f.Binary(Op::kIntLess, e, f.Int(n)));
    const bool wrap = Pick(&random, 0, 1) == 0;
    f.SetBody(y, wrap ? f.Element(0, {f.IntMod(e, n)})
                      : f.Select(in, f.Element(0, {e}), f.Real(solver::Rational(5))));
    if (ExpectReducedEqualsDense(Finish(&f), 4, 4, 100 + trial) < 0) return;
  }
}

TEST(ReducedFunctionTest, ConcatAndSlice) {
  IndexFunctionBuilder f("concat_slice");
  f.AddInput("a", {3, 4}, DType::kFloat32);
  f.AddInput("b", {5, 4}, DType::kFloat32);
  const int y = f.AddOutput("y", Shape{6, 3}, DType::kFloat32);  // rows 1.. of the concatenation
  const ExprId i = f.IntAdd(f.Index(f.OutputDims(y)[0]), f.Int(1));
  const ExprId j = f.IntAdd(f.Index(f.OutputDims(y)[1]), f.Int(1));
  f.SetBody(y, f.Select(f.Binary(Op::kIntLess, i, f.Int(3)), f.Element(0, {i, j}),
                        f.Element(1, {f.IntSub(i, f.Int(3)), j})));
  ExpectReducedEqualsDense(Finish(&f), 50);
}

TEST(ReducedFunctionTest, CausalSoftmaxOverUnevenBlocks) {
  IndexFunctionBuilder f("attention");
  f.AddInput("x", {2, 7, 7}, DType::kFloat32);
  const int y = f.AddOutput("y", Shape{2, 7, 7}, DType::kFloat32);
  const ExprId h = f.Index(f.OutputDims(y)[0]), q = f.Index(f.OutputDims(y)[1]);
  const VarId k2 = f.AddVar("k2", 7);
  auto masked = [&](ExprId k) {
    return f.Unary(Op::kExp,
                   f.Select(f.Binary(Op::kIntLessEq, k, q), f.Element(0, {h, q, k}), f.NegInf()));
  };
  f.SetBody(y, f.Binary(Op::kDiv, masked(f.Index(f.OutputDims(y)[2])),
                        f.Reduce(Op::kSum, k2, masked(f.Index(k2)))));
  ExpectReducedEqualsDense(Finish(&f), 30);
}

TEST(ReducedFunctionTest, MaximumIgnoresWeightsAndMinimumToo) {
  IndexFunctionBuilder f("range");
  f.AddInput("x", {3, 10}, DType::kFloat32);
  const int y = f.AddOutput("y", Shape{3}, DType::kFloat32);
  const VarId i = f.AddVar("i", 10), j = f.AddVar("j", 10);
  const ExprId row = f.Index(f.OutputDims(y)[0]);
  f.SetBody(
      y, f.Binary(Op::kAdd, f.Reduce(Op::kReduceMax, i, f.Element(0, {row, f.Index(i)})),
                  f.Unary(Op::kNeg, f.Reduce(Op::kReduceMin, j, f.Element(0, {row, f.Index(j)})))));
  ExpectReducedEqualsDense(Finish(&f), 40);
}

TEST(ReducedFunctionTest, PositionsAreExactAtEveryIndex) {
  IndexFunctionBuilder f("positions");
  f.AddInput("x", {12}, DType::kFloat32);
  const int y = f.AddOutput("y", Shape{12}, DType::kFloat32);
  const ExprId i = f.Index(f.OutputDims(y)[0]);
  f.SetBody(y, f.Binary(Op::kMul, f.Unary(Op::kPosition, f.IntDiv(i, 3)), f.Element(0, {i})));
  ExpectReducedEqualsDense(Finish(&f), 20);
}

TEST(ReducedFunctionTest, ChoicesBetweenIntegers) {
  IndexFunctionBuilder f("choice");
  f.AddInput("ids", {12}, DType::kInt64);
  f.AddInput("x", {12}, DType::kFloat32);
  const int y = f.AddOutput("y", Shape{12}, DType::kFloat32);
  const int z = f.AddOutput("z", Shape{12}, DType::kInt64);
  const ExprId i = f.Index(f.OutputDims(y)[0]), j = f.Index(f.OutputDims(z)[0]);
  // The next element, or that with the number of the id, where the id is small; else the first.
  const auto choice = [&](ExprId at) {
    const ExprId id = f.IntElement(0, {at});
    return f.Select(f.Binary(Op::kIntLess, id, f.Int(2)),
                    f.Select(f.Unary(Op::kNonzero, f.Element(1, {at})),
                             f.IntMod(f.IntAdd(at, f.Int(1)), 12), id),
                    f.Int(0));
  };
  f.SetBody(y, f.Binary(Op::kAdd, f.Element(1, {choice(i)}), f.Unary(Op::kPosition, choice(i))));
  f.SetBody(z, choice(j));
  ExpectReducedEqualsDense(Finish(&f), 40);
}

// sum over j of [a j + b < c] * x, whatever the number of indices: exact, or refused.
TEST(ReducedFunctionTest, RangesOfAnyLengthAreSummedOrRefused) {
  int summed = 0;
  for (const int bits : {10, 40, 52, 53, 59, 60}) {
    const int64_t extent = int64_t{1} << bits;
    for (const int64_t scale : {1, 2, 8, 1 << 20}) {
      for (const int64_t bound :
           {int64_t{5}, extent / 2, extent - 1, extent, 3 * (extent / 4) + 1}) {
        IndexFunctionBuilder f("count");
        f.AddInput("x", {1}, DType::kFloat32);
        const int y = f.AddOutput("y", Shape{1}, DType::kFloat32);
        const VarId j = f.AddVar("j", extent);
        f.SetBody(
            y,
            f.Reduce(Op::kSum, j,
                     f.Select(f.Binary(Op::kIntLess, f.IntScale(scale, f.Index(j)), f.Int(bound)),
                              f.Element(0, {f.Int(0)}), f.Real(solver::Rational(0)))));
        IndexFunction function;
        if (!f.Finish(&function).ok()) continue;  // its indices leave 64 bits
        auto x = std::make_shared<BlockTensor<Interval>>();
        x->dims.push_back(std::make_shared<DimPartition>(1));
        x->values = {IntervalDomain::FromInt(1)};
        ProgramCache cache;
        ReducedEvaluator<IntervalDomain> evaluator(&cache);
        BlockTensorPtr<Interval> result;
        PremiseCheck premises;
        const absl::Status status =
            evaluator.Apply(BuildProgram(function, 0, {}, {}), {x}, 100, &result, &premises);
        if (absl::IsResourceExhausted(status)) continue;
        ASSERT_TRUE(status.ok()) << status;
        ++summed;
        const int64_t exact = std::min(extent, (bound + scale - 1) / scale);
        const Interval expected = IntervalDomain::FromInt(exact);
        EXPECT_LE(result->values[0].lo, expected.hi) << bits << " " << scale << " " << bound;
        EXPECT_GE(result->values[0].hi, expected.lo) << bits << " " << scale << " " << bound;
      }
    }
  }
  EXPECT_GT(summed, 60);
}

IndexFunction Embedding(int64_t start, int64_t rows) {
  IndexFunctionBuilder f("embedding");
  f.AddInput("ids", {5}, DType::kInt64);
  f.AddInput("w", {rows, 6}, DType::kFloat32);
  const int y = f.AddOutput("y", Shape{5, 6}, DType::kFloat32);
  const ExprId id = f.IntElement(0, {f.Index(f.OutputDims(y)[0])});
  const ExprId held = f.Binary(Op::kAnd, f.Binary(Op::kIntLessEq, f.Int(start), id),
                               f.Binary(Op::kIntLess, id, f.Int(start + rows)));
  f.SetBody(y,
            f.Select(held, f.Element(1, {f.IntSub(id, f.Int(start)), f.Index(f.OutputDims(y)[1])}),
                     f.Real(solver::Rational(0))));
  return Finish(&f);
}

TEST(ReducedFunctionTest, VocabularyShardOfAnEmbedding) {
  ExpectReducedEqualsDense(Embedding(0, 8), 40, 8);
  ExpectReducedEqualsDense(Embedding(3, 4), 40, 8);
}

TEST(ReducedFunctionTest, EmbeddingGradientScattersToTheRowsOfTheIds) {
  IndexFunctionBuilder f("embedding.backward");
  f.AddInput("ids", {5}, DType::kInt64);
  f.AddInput("dy", {5, 6}, DType::kFloat32);
  const int dw = f.AddOutput("dw", Shape{20, 6}, DType::kFloat32);
  const VarId t = f.AddVar("t", 5);
  const ExprId hit =
      f.Unary(Op::kIndicator, f.Binary(Op::kIntEq, f.IntElement(0, {f.Index(t)}),
                                       f.IntAdd(f.Index(f.OutputDims(dw)[0]), f.Int(2))));
  f.SetBody(dw, f.Reduce(Op::kSum, t,
                         f.Binary(Op::kMul, hit,
                                  f.Element(1, {f.Index(t), f.Index(f.OutputDims(dw)[1])}))));
  ExpectReducedEqualsDense(Finish(&f), 40, 22);
}

TEST(ReducedFunctionTest, SumAgainstAnIdIndicatorReadsTheRow) {
  IndexFunctionBuilder f("one_hot_product");
  f.AddInput("ids", {5}, DType::kInt64);
  f.AddInput("w", {1000, 6}, DType::kFloat32);
  const int y = f.AddOutput("y", Shape{5, 6}, DType::kFloat32);
  const VarId v = f.AddVar("v", 1000);
  const ExprId hit =
      f.Unary(Op::kIndicator,
              f.Binary(Op::kIntEq, f.Index(v), f.IntElement(0, {f.Index(f.OutputDims(y)[0])})));
  f.SetBody(y, f.Reduce(Op::kSum, v,
                        f.Binary(Op::kMul, hit,
                                 f.Element(1, {f.Index(v), f.Index(f.OutputDims(y)[1])}))));
  EXPECT_LE(ExpectReducedEqualsDense(Finish(&f), 20, 1100), 30);
}

// Adjoints of views, slices and strided reads in Kronecker form; the sums must be solved, or the
// number of blocks would be the number of elements.
TEST(ReducedFunctionTest, KroneckerAdjointOfASplitStaysCoarse) {
  for (bool swap : {false, true}) {
    IndexFunctionBuilder f("view.backward");
    f.AddInput("dy", {8, 25}, DType::kFloat32);
    const int dx = f.AddOutput("dx", Shape{200}, DType::kFloat32);
    const VarId a = f.AddVar("a", 8), b = f.AddVar("b", 25);
    const ExprId hit = f.Unary(
        Op::kIndicator, f.Binary(Op::kIntEq, f.IntAdd(f.IntScale(25, f.Index(a)), f.Index(b)),
                                 f.Index(f.OutputDims(dx)[0])));
    const ExprId term = f.Binary(Op::kMul, hit, f.Element(0, {f.Index(a), f.Index(b)}));
    f.SetBody(dx, swap ? f.Reduce(Op::kSum, b, f.Reduce(Op::kSum, a, term))
                       : f.Reduce(Op::kSum, a, f.Reduce(Op::kSum, b, term)));
    const IndexFunction function = Finish(&f);
    ExpectReducedEqualsDense(function, 20);
    EXPECT_LE(ExpectReducedEqualsDense(function, 20, 4, 1, true), 4);
  }
}

TEST(ReducedFunctionTest, KroneckerAdjointOfAMergeStaysCoarse) {
  IndexFunctionBuilder f("view.backward");
  f.AddInput("dy", {200}, DType::kFloat32);
  const int dx = f.AddOutput("dx", Shape{8, 25}, DType::kFloat32);
  const VarId j = f.AddVar("j", 200);
  const ExprId row = f.Unary(
      Op::kIndicator, f.Binary(Op::kIntEq, f.IntDiv(f.Index(j), 25), f.Index(f.OutputDims(dx)[0])));
  const ExprId column = f.Unary(
      Op::kIndicator, f.Binary(Op::kIntEq, f.IntMod(f.Index(j), 25), f.Index(f.OutputDims(dx)[1])));
  f.SetBody(dx, f.Reduce(Op::kSum, j,
                         f.Binary(Op::kMul, f.Binary(Op::kMul, row, column),
                                  f.Element(0, {f.Index(j)}))));
  const IndexFunction function = Finish(&f);
  ExpectReducedEqualsDense(function, 20);
  EXPECT_LE(ExpectReducedEqualsDense(function, 20, 4, 1, true), 6);
}

TEST(ReducedFunctionTest, KroneckerAdjointsOfSliceConcatAndStride) {
  IndexFunctionBuilder slice("slice.backward");
  slice.AddInput("dy", {5}, DType::kFloat32);
  int dx = slice.AddOutput("dx", Shape{12}, DType::kFloat32);
  VarId j = slice.AddVar("j", 5);
  slice.SetBody(
      dx, slice.Reduce(
              Op::kSum, j,
              slice.Select(slice.Binary(Op::kIntEq, slice.IntAdd(slice.Index(j), slice.Int(4)),
                                        slice.Index(slice.OutputDims(dx)[0])),
                           slice.Element(0, {slice.Index(j)}), slice.Real(solver::Rational(0)))));
  ExpectReducedEqualsDense(Finish(&slice), 30);

  IndexFunctionBuilder concat("concat.backward");
  concat.AddInput("dy", {12}, DType::kFloat32);
  dx = concat.AddOutput("dx1", Shape{7}, DType::kFloat32);
  j = concat.AddVar("j", 12);
  const ExprId hit = concat.Unary(
      Op::kIndicator, concat.Binary(Op::kIntEq, concat.IntSub(concat.Index(j), concat.Int(5)),
                                    concat.Index(concat.OutputDims(dx)[0])));
  concat.SetBody(
      dx, concat.Reduce(
              Op::kSum, j,
              concat.Select(concat.Binary(Op::kIntLess, concat.Index(j), concat.Int(5)),
                            concat.Real(solver::Rational(0)),
                            concat.Binary(Op::kMul, hit, concat.Element(0, {concat.Index(j)})))));
  ExpectReducedEqualsDense(Finish(&concat), 30);

  IndexFunctionBuilder stride("stride.backward");
  stride.AddInput("dy", {4}, DType::kFloat32);
  dx = stride.AddOutput("dx", Shape{13}, DType::kFloat32);
  j = stride.AddVar("j", 4);
  const ExprId at = stride.Unary(
      Op::kIndicator,
      stride.Binary(Op::kIntEq, stride.IntAdd(stride.IntScale(3, stride.Index(j)), stride.Int(1)),
                    stride.Index(stride.OutputDims(dx)[0])));
  stride.SetBody(dx,
                 stride.Reduce(Op::kSum, j,
                               stride.Binary(Op::kMul, at, stride.Element(0, {stride.Index(j)}))));
  ExpectReducedEqualsDense(Finish(&stride), 30);
}

TEST(ReducedFunctionTest, CollectivesAlongACoordinate) {
  const Shape shape = {4, 3, 8, 6};
  const DType dtype = DType::kFloat32;
  for (const auto& function :
       {sdfg::AxisAllReduce(shape, dtype, 0, sdfg::ReduceKind::kSum),
        sdfg::AxisReduce(shape, dtype, 0, sdfg::ReduceKind::kMax),
        sdfg::AxisAllGather(shape, dtype, 0, 3),
        sdfg::AxisReduceScatter(shape, dtype, 0, 2, sdfg::ReduceKind::kSum),
        sdfg::AxisAllToAll(shape, dtype, 0, 2, 3), sdfg::AxisChunk(shape, dtype, 0, 2),
        sdfg::AxisBroadcast(shape, dtype, 0, 2), sdfg::AxisPermute(shape, dtype, 1, {2, -1, 0})}) {
    ASSERT_TRUE(function.ok()) << function.status();
    ExpectReducedEqualsDense(*function, 10);
  }
}

TEST(ReducedFunctionTest, GroupCollectivesWithUnevenParts) {
  const auto gather = sdfg::AllGather({{2, 3}, {2, 5}, {2, 1}}, DType::kFloat32, 1);
  ASSERT_TRUE(gather.ok());
  ExpectReducedEqualsDense(*gather, 20);
  const auto scatter =
      sdfg::ReduceScatter({8, 3}, DType::kFloat32, 4, 2, 0, sdfg::ReduceKind::kAvg);
  ASSERT_TRUE(scatter.ok());
  ExpectReducedEqualsDense(*scatter, 20);
}

}  // namespace
}  // namespace planproof::shape_reduction
