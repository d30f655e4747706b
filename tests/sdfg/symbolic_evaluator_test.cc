// An element evaluated at a symbolic index has, at every index of its cell, the value that dense
// evaluation of the graph gives there.
#include "sdfg/symbolic_evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sdfg/operator_library.h"
#include "tests/sdfg/evaluated_graph.h"

namespace planproof::sdfg {
namespace {

using solver::Affine;

class SymbolicEvaluatorTest : public testing::Test {
 protected:
  int64_t Pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  std::mt19937_64 random_{7};
};

// Chains of random operators on small tensors.
TEST_F(SymbolicEvaluatorTest, RandomGraphsAgreeWithDenseEvaluation) {
  int graphs = 0, compared = 0, cells = 0, gave_up = 0;
  std::map<std::string, int> reasons;
  for (int round = 0; round < 1500; ++round) {
    EvaluatedGraph g;
    const int64_t extents[] = {2, 3, 4, 6};
    Shape shape;
    for (int64_t rank = 1 + Pick(3); rank > 0; --rank) shape.push_back(extents[Pick(4)]);
    TensorId x = g.Input(shape);
    const int64_t steps = 1 + Pick(5);
    for (int64_t step = 0; step < steps; ++step) {
      const Shape now = g.graph.tensors[x].shape;
      const int64_t rank = static_cast<int64_t>(now.size());
      const int64_t dim = rank > 0 ? Pick(rank) : 0, other = rank > 0 ? Pick(rank) : 0;
      TensorId next = kNone;
      if (rank == 0) break;
      switch (Pick(24)) {
        case 0:
        case 1: {
          // Another shape of the same size.
          int64_t count = ElementCount(now);
          std::vector<int64_t> to;
          for (int64_t part : {2, 3, 2}) {
            if (count % part == 0 && Pick(2) == 0) {
              to.push_back(part);
              count /= part;
            }
          }
          to.insert(to.begin() + Pick(static_cast<int64_t>(to.size()) + 1), count);
          next = g.Apply("view", {x}, {{"size", to}});
          if (next == kNone) next = g.Apply("reshape", {x}, {{"shape", to}});
          break;
        }
        case 2:
        case 3:
          next = g.Apply("transpose", {x}, {{"dim0", dim}, {"dim1", other}});
          break;
        case 4: {
          const int64_t start = Pick(now[dim]);
          next =
              g.Apply("slice", {x},
                      {{"dim", dim}, {"start", start}, {"stop", now[dim]}, {"step", 1 + Pick(2)}});
          break;
        }
        case 5:
          next = g.Apply("flip", {x}, {{"dims", std::vector<int64_t>{dim}}});
          break;
        case 6: {
          Shape more = now;
          more[dim] = 1 + Pick(3);
          next = g.Apply("concat", {x, g.Input(more)}, {{"dim", dim}});
          break;
        }
        case 7:
          next = g.Apply("concat", {x, x}, {{"dim", dim}});
          break;
        case 8:
          next = g.Apply("pad", {x}, {{"pad", std::vector<int64_t>{Pick(2), Pick(3)}}});
          break;
        case 9:
          next = g.Apply("softmax", {x}, {{"dim", dim}});
          break;
        case 10:
          next =
              g.Apply("layer_norm", {x}, {{"normalized_shape", std::vector<int64_t>{now.back()}}});
          break;
        case 11:
          next = g.Apply("rms_norm", {x, g.Input({now.back()})});
          break;
        case 12:
          next = g.Apply("linear", {x, g.Input({1 + Pick(3), now.back()})});
          break;
        case 13:
          next = g.Apply("sum", {x}, {{"dim", dim}, {"keepdim", Pick(2) == 0}});
          break;
        case 14:
          next = g.Apply("mean", {x}, {{"dim", dim}, {"keepdim", Pick(2) == 0}});
          break;
        case 15:
          next = g.Apply("mul", {x, x});
          break;
        case 16:
          next = g.Apply("add", {x, g.Input(now)});
          break;
        case 17:
          next = g.Apply("causal_mask", {x});
          if (next != kNone) next = g.Apply("softmax", {next}, {{"dim", int64_t{-1}}});
          break;
        case 18:
          next = g.Apply(Pick(2) == 0 ? "relu" : "silu", {x});
          break;
        case 19: {
          if (rank != 2) break;
          next = g.Apply("embedding", {g.Input({2, 3}, DType::kInt64), x},
                         {{"start", Pick(3)}, {"stop", int64_t{}}});
          if (next == kNone) next = g.Apply("embedding", {g.Input({5}, DType::kInt64), x});
          break;
        }
        case 20:
          next = g.Apply("repeat_interleave", {x}, {{"repeats", int64_t{2}}, {"dim", dim}});
          break;
        case 21:
          next = g.Apply("unsqueeze", {x}, {{"dim", dim}});
          break;
        case 22:
          next = g.Apply("max", {x}, {{"dim", dim}});
          break;
        default:
          next = g.Apply("log_softmax", {x}, {{"dim", dim}});
      }
      if (next != kNone) x = next;
      if (ElementCount(g.graph.tensors[x].shape) > 200) break;
    }
    if (g.graph.tensors[x].producer == kNone) continue;
    ++graphs;
    if (!g.Check(x, &compared, &cells)) {
      ++gave_up;
      ++reasons[g.last_error.substr(0, 60)];
    }
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  for (const auto& [reason, n] : reasons) RecordProperty(reason.empty() ? "limit" : reason, n);
  EXPECT_GT(graphs, 1000);
  EXPECT_GT(compared, 10'000);
  EXPECT_GT(cells, graphs);  // some are split
  EXPECT_LT(gave_up, graphs / 20);
}

// What is known to be zero in a part is read so at whatever index.
TEST_F(SymbolicEvaluatorTest, PartsThatAreZeroAreReadAsZero) {
  int compared = 0, cells = 0, zeros = 0;
  for (int round = 0; round < 200; ++round) {
    EvaluatedGraph g;
    const TensorId x = g.Input({4, 6}), w = g.Input({6, 3});
    for (int64_t forms = 1 + Pick(2); forms > 0; --forms) {
      IndexMap form;
      form.constant = Pick(5) - 2;
      for (const int32_t d : {0, 1}) form.terms.push_back({d, Pick(5) - 2});
      g.zero_unless[x].push_back(form);
    }
    TensorId y = x;
    if (Pick(2) == 0) y = g.Apply("mul", {y, y});
    if (Pick(2) == 0) y = g.Apply("matmul", {y, w});
    if (Pick(2) == 0) y = g.Apply("transpose", {y}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
    if (Pick(3) == 0) y = g.Apply("sum", {y}, {{"dim", int64_t{0}}});
    ASSERT_NE(y, kNone);
    EXPECT_TRUE(g.Check(y, &compared, &cells)) << g.last_error;
    ASSERT_FALSE(HasFailure()) << "round " << round;
    Inputs policy(g.graph, g.zero_unless);
    for (int64_t e = 0; e < 24; ++e) zeros += policy.IsZero(x, {e / 6, e % 6}) ? 1 : 0;
  }
  EXPECT_GT(compared, 2000);
  EXPECT_GT(zeros, 1000);
  EXPECT_LT(zeros, 4000);
}

// Reads at an index that is data, with and without a guard.
TEST_F(SymbolicEvaluatorTest, UnguardedDataMustBeInRange) {
  for (const int64_t extent : {int64_t{3}, solver::kIntegerTagMax + 1}) {
    for (const bool guarded : {false, true}) {
      EvaluatedGraph g;
      const TensorId w = g.Input({extent}), ids = g.Input({4}, DType::kInt64);
      ASSERT_EQ(ids, kIds);
      IndexFunctionBuilder b("gather");
      const int wi = b.AddInput("w", {extent}, DType::kFloat32);
      const int ii = b.AddInput("id", {4}, DType::kInt64);
      const int y = b.AddOutput("y", Shape{4}, DType::kFloat32);
      const ExprId id = b.IntElement(ii, {b.Index(b.OutputDims(y)[0])});
      ExprId body = b.Element(wi, {id});
      if (guarded) body = b.Select(b.Binary(Op::kIntLess, id, b.Int(extent)), body, b.Real(0));
      b.SetBody(y, body);
      IndexFunction f;
      ASSERT_TRUE(b.Finish(&f).ok());
      const TensorId out = g.ApplyFunction(f, {w, ids});
      Inputs policy(g.graph);
      solver::Arena arena;
      SymbolicEvaluator evaluator(&arena, {&g.graph}, &policy);
      const solver::Symbol i = arena.NewFree(0, 3);
      const bool evaluated = evaluator.Element({0, out}, {Affine::Of(i)}).has_value();
      EXPECT_EQ(evaluated, guarded || extent > solver::kIntegerTagMax)
          << extent << " " << guarded << " " << evaluator.error();
      if (!evaluated) continue;
      int compared = 0, cells = 0;
      EXPECT_TRUE(g.Check(out, &compared, &cells));
      EXPECT_EQ(compared, 4);
    }
  }
}

// Positions, digits of sums and comparisons of two variables.
TEST_F(SymbolicEvaluatorTest, RandomIndexExpressionsAgreeWithDenseEvaluation) {
  int compared = 0, cells = 0, gave_up = 0;
  const int rounds = 1500;
  for (int round = 0; round < rounds; ++round) {
    EvaluatedGraph g;
    const TensorId x = g.Input({12});
    IndexFunctionBuilder b("mixed");
    const int in = b.AddInput("x", {12}, DType::kFloat32);
    const int y = b.AddOutput("y", Shape{1 + Pick(6), 1 + Pick(4)}, DType::kFloat32);
    const VarId k = b.AddVar("k", 1 + Pick(6)), m = b.AddVar("m", 1 + Pick(3));
    std::vector<ExprId> scope = {b.Index(b.OutputDims(y)[0]), b.Index(b.OutputDims(y)[1])};
    auto integer = [&] {
      ExprId e = b.Int(Pick(7) - 3);
      for (int64_t n = 1 + Pick(3); n > 0; --n) {
        ExprId v = b.IntScale(Pick(7) - 2, scope[Pick(static_cast<int64_t>(scope.size()))]);
        e = b.IntAdd(e, v);
        if (Pick(4) == 0) e = b.IntDiv(e, 2 + Pick(3));
        if (Pick(4) == 0) e = b.IntMod(e, 2 + Pick(4));
      }
      return e;
    };
    auto condition = [&] {
      const Op ops[] = {Op::kIntLess, Op::kIntLessEq, Op::kIntEq};
      ExprId c = b.Binary(ops[Pick(3)], integer(), integer());
      if (Pick(3) == 0)
        c = b.Binary(Pick(2) == 0 ? Op::kAnd : Op::kOr, c,
                     b.Binary(ops[Pick(3)], integer(), integer()));
      return Pick(4) == 0 ? b.Unary(Op::kNot, c) : c;
    };
    auto value = [&] {
      ExprId e = b.Element(in, {b.IntMod(integer(), 12)});
      if (Pick(3) == 0) e = b.Binary(Op::kMul, e, b.Unary(Op::kPosition, integer()));
      if (Pick(2) == 0) e = b.Select(condition(), e, b.Element(in, {b.IntMod(integer(), 12)}));
      if (Pick(3) == 0) e = b.Binary(Op::kMul, e, b.Unary(Op::kIndicator, condition()));
      return e;
    };
    scope.push_back(b.Index(k));
    scope.push_back(b.Index(m));
    ExprId inner = b.Reduce(Op::kSum, m, value());
    scope.pop_back();
    inner = b.Binary(Op::kMul, inner, value());
    ExprId body = b.Reduce(Pick(4) == 0 ? Op::kReduceMax : Op::kSum, k, inner);
    scope.pop_back();
    b.SetBody(y, b.Binary(Op::kAdd, body, value()));
    IndexFunction f;
    if (!b.Finish(&f).ok()) continue;
    const TensorId out = g.ApplyFunction(f, {x});
    g.trace = ToString(f) + " ";
    gave_up += !g.Check(out, &compared, &cells);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  EXPECT_GT(compared, 3000);
  EXPECT_LT(gave_up, rounds * 2 / 3);
}

}  // namespace
}  // namespace planproof::sdfg
