#include "sdfg/differentiate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sdfg/dense_evaluator.h"
#include "tests/sdfg/differentiate_testing.h"

namespace planproof::sdfg {
namespace {

using solver::Rational;
using ::testing::ElementsAre;
using B = IndexFunctionBuilder;

IndexFunction Linear(int64_t batch, int64_t n, int64_t k) {
  B b("linear");
  b.AddInput("x", {batch, k}, kReal);
  b.AddInput("w", {n, k}, kReal);
  b.AddInput("bias", {n}, kReal);
  const int y = b.AddOutput("y", Shape{batch, n}, kReal);
  const ExprId i = b.Index(b.OutputDims(y)[0]);
  const ExprId j = b.Index(b.OutputDims(y)[1]);
  const VarId v = b.AddVar("k", k);
  const ExprId product =
      b.Binary(Op::kMul, b.Element(0, {i, b.Index(v)}), b.Element(1, {j, b.Index(v)}));
  b.SetBody(y, b.Binary(Op::kAdd, b.Reduce(Op::kSum, v, product), b.Element(2, {j})));
  return FinishedFunction(&b);
}

TEST(DifferentiateTest, LinearIsTheThreeFamiliarProducts) {
  ExpectGradients(Linear(3, 2, 4));
  EXPECT_EQ(Derivative(Linear(3, 2, 4)),
            "d_x[j0, j1] = sum(i1: d_y[j0, i1] * w[i1, j1])\n"
            "d_w[j0_2, j1_2] = sum(i0: d_y[i0, j0_2] * x[i0, j1_2])\n"
            "d_bias[j0_3] = sum(i0_2: d_y[i0_2, j0_3])");
}

TEST(DifferentiateTest, ScalarFunctions) {
  for (Op op : {Op::kNeg, Op::kExp, Op::kLog, Op::kErf, Op::kSin, Op::kCos}) {
    ExpectGradients(OneInput({3}, {3}, [op](B& b, const std::vector<ExprId>& i) {
      return b.Unary(op, b.Element(0, i));
    }));
  }
  for (const Rational& exponent : {Rational(0), Rational(1), Rational(2), Rational(3), Rational(-1),
                                   Rational(1, 2), Rational(-1, 2), Rational(5, 3)}) {
    ExpectGradients(OneInput({3}, {3}, [&](B& b, const std::vector<ExprId>& i) {
      return b.Pow(b.Element(0, i), exponent);
    }));
  }
}

TEST(DifferentiateTest, ArithmeticOfTwoInputsAndSharedSubexpressions) {
  for (Op op : {Op::kAdd, Op::kMul, Op::kDiv}) {
    B b("f");
    b.AddInput("x", {2, 3}, kReal);
    b.AddInput("z", {3}, kReal);
    const int y = b.AddOutput("y", Shape{2, 3}, kReal);
    const ExprId i = b.Index(b.OutputDims(y)[0]);
    const ExprId j = b.Index(b.OutputDims(y)[1]);
    const ExprId value = b.Binary(op, b.Element(0, {i, j}), b.Element(1, {j}));
    // The value is used three times, and a closed part of it outside of its own loop.
    b.SetBody(y, b.Binary(Op::kMul, value,
                          b.Binary(Op::kDiv, b.Unary(Op::kExp, value),
                                   b.Binary(Op::kAdd, value, b.Element(1, {b.Int(1)})))));
    ExpectGradients(FinishedFunction(&b));
  }
}

IndexFunction Softmax(int64_t rows, int64_t columns) {
  return OneInput({rows, columns}, {rows, columns}, [&](B& b, const std::vector<ExprId>& i) {
    const VarId v = b.AddVar("v", columns);
    const auto weight = [&](ExprId column) {
      return b.Unary(Op::kExp, b.Element(0, {i[0], column}));
    };
    return b.Binary(Op::kDiv, weight(i[1]), b.Reduce(Op::kSum, v, weight(b.Index(v))));
  });
}

TEST(DifferentiateTest, Softmax) { ExpectGradients(Softmax(2, 4)); }

TEST(DifferentiateTest, SoftmaxBySelfComposedDerivativeIsStillDifferentiable) {
  const auto derivative = Differentiate(Softmax(2, 3), {0}, {0});
  ASSERT_TRUE(derivative.ok());
  ExpectGradients(*derivative);
}

TEST(DifferentiateTest, CausalSoftmaxWithMaximumSubtracted) {
  ExpectGradients(OneInput({3, 3}, {3, 3}, [](B& b, const std::vector<ExprId>& i) {
    const auto masked = [&](ExprId k) {
      return b.Select(b.Binary(Op::kIntLessEq, k, i[0]), b.Element(0, {i[0], k}), b.NegInf());
    };
    const VarId v = b.AddVar("v", 3);
    const VarId u = b.AddVar("u", 3);
    const ExprId top = b.Reduce(Op::kReduceMax, u, masked(b.Index(u)), TieRule::kEven);
    const auto weight = [&](ExprId k) {
      return b.Unary(Op::kExp, b.Binary(Op::kAdd, masked(k), b.Unary(Op::kNeg, top)));
    };
    return b.Binary(Op::kDiv, weight(i[1]), b.Reduce(Op::kSum, v, weight(b.Index(v))));
  }));
}

TEST(DifferentiateTest, RmsNorm) {
  B b("rms_norm");
  b.AddInput("x", {2, 4}, kReal);
  b.AddInput("w", {4}, kReal);
  const int y = b.AddOutput("y", Shape{2, 4}, kReal);
  const ExprId i = b.Index(b.OutputDims(y)[0]);
  const ExprId h = b.Index(b.OutputDims(y)[1]);
  const VarId v = b.AddVar("h2", 4);
  const ExprId square = b.Pow(b.Element(0, {i, b.Index(v)}), 2);
  const ExprId mean = b.Binary(Op::kMul, b.Real(Rational(1, 4)), b.Reduce(Op::kSum, v, square));
  const ExprId scale = b.Pow(b.Binary(Op::kAdd, mean, b.Real(Rational(1, 100))), Rational(-1, 2));
  b.SetBody(y,
            b.Binary(Op::kMul, b.Binary(Op::kMul, b.Element(1, {h}), b.Element(0, {i, h})), scale));
  ExpectGradients(FinishedFunction(&b));
}

TEST(DifferentiateTest, LayerNormWithNestedReductions) {
  B b("layer_norm");
  b.AddInput("x", {2, 5}, kReal);
  b.AddInput("w", {5}, kReal);
  b.AddInput("bias", {5}, kReal);
  const int y = b.AddOutput("y", Shape{2, 5}, kReal);
  const ExprId i = b.Index(b.OutputDims(y)[0]);
  const ExprId h = b.Index(b.OutputDims(y)[1]);
  const auto mean_over = [&](VarId v, ExprId body) {
    return b.Binary(Op::kMul, b.Real(Rational(1, 5)), b.Reduce(Op::kSum, v, body));
  };
  const VarId u = b.AddVar("u", 5);
  const VarId v = b.AddVar("v", 5);
  const ExprId mean = mean_over(u, b.Element(0, {i, b.Index(u)}));
  const auto centered = [&](ExprId at) {
    return b.Binary(Op::kAdd, b.Element(0, {i, at}), b.Unary(Op::kNeg, mean));
  };
  const ExprId variance = mean_over(v, b.Pow(centered(b.Index(v)), 2));
  const ExprId scale =
      b.Pow(b.Binary(Op::kAdd, variance, b.Real(Rational(1, 100))), Rational(-1, 2));
  const ExprId normal = b.Binary(Op::kMul, centered(h), scale);
  b.SetBody(y,
            b.Binary(Op::kAdd, b.Binary(Op::kMul, normal, b.Element(1, {h})), b.Element(2, {h})));
  ExpectGradients(FinishedFunction(&b));
}

TEST(DifferentiateTest, Gelu) {
  ExpectGradients(OneInput({4}, {4}, [](B& b, const std::vector<ExprId>& i) {
    const ExprId x = b.Element(0, i);
    const ExprId root = b.Pow(b.Real(2), Rational(-1, 2));
    const ExprId one =
        b.Binary(Op::kAdd, b.Real(1), b.Unary(Op::kErf, b.Binary(Op::kMul, x, root)));
    return b.Binary(Op::kMul, b.Real(Rational(1, 2)), b.Binary(Op::kMul, x, one));
  }));
}

TEST(DifferentiateTest, AttentionOfTwoOutputs) {
  // out and log-sum-exp share the scores.
  B b("attention");
  b.AddInput("q", {2, 3}, kReal);
  b.AddInput("k", {4, 3}, kReal);
  b.AddInput("v", {4, 3}, kReal);
  const int out = b.AddOutput("out", Shape{2, 3}, kReal);
  const int lse = b.AddOutput("lse", Shape{2}, kReal);
  int count = 0;
  const auto weight = [&](ExprId row, ExprId column) {
    const VarId d = b.AddVar("d" + std::to_string(count++), 3);
    return b.Unary(Op::kExp, b.Reduce(Op::kSum, d,
                                      b.Binary(Op::kMul, b.Element(0, {row, b.Index(d)}),
                                               b.Element(1, {column, b.Index(d)}))));
  };
  const auto total = [&](ExprId row) {
    const VarId c = b.AddVar("c" + std::to_string(count++), 4);
    return b.Reduce(Op::kSum, c, weight(row, b.Index(c)));
  };
  const ExprId row = b.Index(b.OutputDims(out)[0]);
  const VarId c = b.AddVar("c", 4);
  const ExprId mixed =
      b.Reduce(Op::kSum, c,
               b.Binary(Op::kMul, weight(row, b.Index(c)),
                        b.Element(2, {b.Index(c), b.Index(b.OutputDims(out)[1])})));
  b.SetBody(out, b.Binary(Op::kDiv, mixed, total(row)));
  b.SetBody(lse, b.Unary(Op::kLog, total(b.Index(b.OutputDims(lse)[0]))));
  ExpectGradients(FinishedFunction(&b));
}

TEST(DifferentiateTest, EmbeddingByIndicatorSum) {
  B b("embedding");
  b.AddInput("ids", {3}, DType::kInt64);
  b.AddInput("w", {5, 2}, kReal);
  const int y = b.AddOutput("y", Shape{3, 2}, kReal);
  const ExprId t = b.Index(b.OutputDims(y)[0]);
  const ExprId h = b.Index(b.OutputDims(y)[1]);
  const VarId v = b.AddVar("v", 5);
  const ExprId chosen =
      b.Unary(Op::kIndicator, b.Binary(Op::kIntEq, b.IntElement(0, {t}), b.Index(v)));
  b.SetBody(y, b.Reduce(Op::kSum, v, b.Binary(Op::kMul, chosen, b.Element(1, {b.Index(v), h}))));
  const IndexFunction f = FinishedFunction(&b);
  ExpectGradients(f, {{{3}, {4, 0, 4}}});
  EXPECT_EQ(Derivative(f), "d_w[j0, j1] = sum(i0: d_y[i0, j1] * [ids[i0] == j0])");
}

TEST(DifferentiateTest, GatherBySymbolicIndexScatters) {
  B b("gather");
  b.AddInput("ids", {3}, DType::kInt64);
  b.AddInput("w", {5, 2}, kReal);
  const int y = b.AddOutput("y", Shape{3, 2}, kReal);
  const ExprId t = b.Index(b.OutputDims(y)[0]);
  b.SetBody(y, b.Element(1, {b.IntElement(0, {t}), b.Index(b.OutputDims(y)[1])}));
  const IndexFunction f = FinishedFunction(&b);
  ExpectGradients(f, {{{3}, {4, 0, 4}}});
  EXPECT_EQ(Derivative(f), "d_w[j0, j1] = sum(i0: [ids[i0] == j0] * d_y[i0, j1])");
}

TEST(DifferentiateTest, SumAndBroadcastAreEachOthersDerivative) {
  const IndexFunction sum = OneInput({4}, {}, [](B& b, const std::vector<ExprId>&) {
    const VarId v = b.AddVar("v", 4);
    return b.Reduce(Op::kSum, v, b.Element(0, {b.Index(v)}));
  });
  ExpectGradients(sum);
  EXPECT_EQ(Derivative(sum), "d_x[j0] = d_y[]");
  const IndexFunction broadcast =
      Movement({}, {4}, [](B&, const std::vector<ExprId>&) { return std::vector<ExprId>(); });
  ExpectGradients(broadcast);
  EXPECT_EQ(Derivative(broadcast), "d_x[] = sum(i0: d_y[i0])");
}

TEST(DifferentiateTest, RepeatedTermsAreCounted) {
  // sum over v of a body without v, and an output that does not depend on its dimension.
  ExpectGradients(OneInput({4}, {3, 2}, [](B& b, const std::vector<ExprId>& i) {
    const VarId v = b.AddVar("v", 5);
    return b.Reduce(Op::kSum, v, b.Pow(b.Element(0, {i[1]}), 2));
  }));
}

// Gradient of one scalar function at the given values, output gradient 1.
std::vector<double> GradientAt(const Shape& shape, const std::vector<double>& values,
                               const std::function<ExprId(B&)>& body) {
  B b("f");
  b.AddInput("x", shape, kReal);
  b.SetBody(b.AddOutput("y", Shape{}, kReal), body(b));
  const auto derivative = Differentiate(FinishedFunction(&b), {0}, {0});
  EXPECT_TRUE(derivative.ok()) << derivative.status();
  const auto result = EvaluateDense(*derivative, {{shape, values}, {{}, {1}}});
  EXPECT_TRUE(result.ok()) << result.status();
  return (*result)[0].data;
}

TEST(DifferentiateTest, TiesOfTwoOperandsFollowTheRule) {
  for (Op op : {Op::kMax, Op::kMin}) {
    const auto gradient = [op](TieRule tie, double x0, double x1) {
      return GradientAt({2}, {x0, x1}, [&](B& b) {
        return b.Binary(op, b.Element(0, {b.Int(0)}), b.Element(0, {b.Int(1)}), tie);
      });
    };
    EXPECT_THAT(gradient(TieRule::kFirst, 2, 2), ElementsAre(1, 0));
    EXPECT_THAT(gradient(TieRule::kEven, 2, 2), ElementsAre(0.5, 0.5));
    EXPECT_THAT(gradient(TieRule::kAll, 2, 2), ElementsAre(1, 1));
    EXPECT_THAT(gradient(TieRule::kZero, 2, 2), ElementsAre(0, 0));
    for (TieRule tie : {TieRule::kFirst, TieRule::kEven, TieRule::kAll, TieRule::kZero}) {
      const double winner = op == Op::kMax ? 3 : 1;
      EXPECT_THAT(gradient(tie, winner, 2), ElementsAre(1, 0));
      EXPECT_THAT(gradient(tie, 2, winner), ElementsAre(0, 1));
    }
  }
}

TEST(DifferentiateTest, TiesOfReductionsFollowTheRule) {
  for (Op op : {Op::kReduceMax, Op::kReduceMin}) {
    const double sign = op == Op::kReduceMax ? 1 : -1;
    const auto gradient = [&](TieRule tie, std::vector<double> x) {
      for (double& value : x) value *= sign;
      return GradientAt({4}, x, [&](B& b) {
        const VarId v = b.AddVar("v", 4);
        return b.Reduce(op, v, b.Element(0, {b.Index(v)}), tie);
      });
    };
    EXPECT_THAT(gradient(TieRule::kFirst, {1, 5, 2, 5}), ElementsAre(0, 1, 0, 0));
    EXPECT_THAT(gradient(TieRule::kEven, {1, 5, 2, 5}), ElementsAre(0, 0.5, 0, 0.5));
    EXPECT_THAT(gradient(TieRule::kAll, {1, 5, 2, 5}), ElementsAre(0, 1, 0, 1));
    EXPECT_THAT(gradient(TieRule::kZero, {1, 5, 2, 5}), ElementsAre(0, 0, 0, 0));
    for (TieRule tie : {TieRule::kFirst, TieRule::kEven, TieRule::kAll, TieRule::kZero}) {
      EXPECT_THAT(gradient(tie, {1, 5, 2, 6}), ElementsAre(0, 0, 0, 1));
    }
  }
}

TEST(DifferentiateTest, MaximumOverSeveralIndicesIsOneMaximum) {
  // Values that tie share evenly wherever they stand.
  for (const auto& [tie, expected] : std::vector<std::pair<TieRule, std::vector<double>>>{
           {TieRule::kEven, {0, 0.25, 0.25, 0.25, 0.25, 0}},
           {TieRule::kFirst, {0, 1, 0, 0, 0, 0}},
           {TieRule::kAll, {0, 1, 1, 1, 1, 0}},
           {TieRule::kZero, {0, 0, 0, 0, 0, 0}}}) {
    const std::vector<double> gradient =
        GradientAt({2, 3}, {1, 5, 5, 5, 5, 2}, [&, tie = tie](B& b) {
          const VarId u = b.AddVar("u", 2);
          const VarId v = b.AddVar("v", 3);
          const ExprId row =
              b.Reduce(Op::kReduceMax, v, b.Element(0, {b.Index(u), b.Index(v)}), tie);
          return b.Reduce(Op::kReduceMax, u, row, tie);
        });
    EXPECT_EQ(gradient, expected);
  }
}

TEST(DifferentiateTest, AbsoluteValueAtZeroFollowsTheRule) {
  const auto gradient = [](TieRule tie, double x) {
    return GradientAt({}, {x}, [&](B& b) { return b.Unary(Op::kAbs, b.Element(0, {}), tie); })[0];
  };
  EXPECT_EQ(gradient(TieRule::kFirst, 0), 1);
  EXPECT_EQ(gradient(TieRule::kEven, 0), 0);
  EXPECT_EQ(gradient(TieRule::kZero, 0), 0);
  EXPECT_EQ(gradient(TieRule::kZero, -3), -1);
  EXPECT_EQ(gradient(TieRule::kFirst, 3), 1);
}

TEST(DifferentiateTest, StopGradientGivesZero) {
  B b("detach");
  b.AddInput("x", {2}, kReal);
  const int y = b.AddOutput("y", Shape{2}, kReal);
  b.SetBody(y, b.Element(0, {b.Index(b.OutputDims(y)[0])}));
  b.SetStopGradient(y);
  EXPECT_EQ(Derivative(FinishedFunction(&b)), "d_x[j0] = 0");
}

TEST(DifferentiateTest, OutputsWithoutGradientAndUnreadInputsGiveZero) {
  B b("two");
  b.AddInput("x", {2}, kReal);
  b.AddInput("unread", {3}, kReal);
  for (const char* name : {"y", "z"}) {
    const int out = b.AddOutput(name, Shape{2}, kReal);
    b.SetBody(out, b.Pow(b.Element(0, {b.Index(b.OutputDims(out)[0])}), out + 1));
  }
  const IndexFunction f = FinishedFunction(&b);
  const auto first = Differentiate(f, {0, 1}, {0});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(ToString(*first), "d_x[j0] = d_y[j0]\nd_unread[j0_2] = 0");
  EXPECT_EQ(ToString(*Differentiate(f, {0}, {})), "d_x[j0] = 0");
}

TEST(DifferentiateTest, WhatHasNoDerivativeIsAnError) {
  const auto code = [](const std::function<ExprId(B&, ExprId)>& body, std::vector<int> wrt = {0},
                       std::vector<int> outputs = {0}) {
    B b("f");
    b.AddInput("x", {2}, kReal);
    b.AddInput("ids", {2}, DType::kInt64);
    const int y = b.AddOutput("y", Shape{2}, kReal);
    b.SetBody(y, body(b, b.Index(b.OutputDims(y)[0])));
    return Differentiate(FinishedFunction(&b), wrt, outputs).status().code();
  };
  const auto relu = [](B& b, ExprId i) { return b.Binary(Op::kMax, b.Element(0, {i}), b.Real(0)); };
  EXPECT_EQ(code(relu), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code([](B& b, ExprId i) { return b.Unary(Op::kAbs, b.Element(0, {i})); }),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code([](B& b, ExprId) {
              const VarId v = b.AddVar("v", 2);
              return b.Reduce(Op::kReduceMax, v, b.Element(0, {b.Index(v)}));
            }),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code([](B& b, ExprId i) { return b.Opaque("f", false, -1, {b.Element(0, {i})}); }),
            absl::StatusCode::kUnimplemented);
  // An opaque function of something else, or an integer-valued one, is a constant.
  EXPECT_EQ(code([](B& b, ExprId i) {
              return b.Binary(Op::kMul, b.Element(0, {i}),
                              b.Opaque("f", false, -1, {b.IntElement(1, {i})}));
            }),
            absl::StatusCode::kOk);
  EXPECT_EQ(code([](B& b, ExprId i) {
              return b.Element(0, {b.IntMod(b.Opaque("f", true, -1, {b.Element(0, {i})}), 2)});
            }),
            absl::StatusCode::kOk);
  const auto identity = [](B& b, ExprId i) { return b.Element(0, {i}); };
  EXPECT_EQ(code(identity, {1}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(identity, {2}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(identity, {0, 0}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(identity, {0}, {1}), absl::StatusCode::kInvalidArgument);
}

// A random smooth expression; subexpressions in scope are used again, also below other sums.
class RandomExpression {
 public:
  RandomExpression(B* b, std::vector<VarId> scope, int seed)
      : b_(*b), scope_(std::move(scope)), random_(seed) {}

  ExprId Make(int depth) {
    const ExprId result = Fresh(depth);
    known_.push_back(result);
    return result;
  }

 private:
  int Pick(int n) { return static_cast<int>(random_() % n); }
  ExprId AnyIndex(int64_t extent) {
    if (Pick(6) == 0) return b_.Int(Pick(static_cast<int>(extent)));
    const VarId var = scope_[Pick(static_cast<int>(scope_.size()))];
    return b_.IntMod(b_.Index(var), extent);
  }
  ExprId Fresh(int depth) {
    if (depth == 0) {
      if (Pick(2) == 0) return b_.Element(0, {AnyIndex(4)});
      return b_.Element(1, {AnyIndex(3), AnyIndex(4)});
    }
    switch (Pick(9)) {
      case 0:
        return b_.Binary(Op::kAdd, Make(depth - 1), Make(depth - 1));
      case 1:
        return b_.Binary(Op::kMul, Make(depth - 1), Make(depth - 1));
      case 2:
        return b_.Unary(Op::kSin, Make(depth - 1));
      case 3:
        return b_.Unary(Op::kNeg, Make(depth - 1));
      case 4:
        return b_.Binary(Op::kDiv, Make(depth - 1),
                         b_.Binary(Op::kAdd, b_.Real(2), b_.Pow(Make(depth - 1), 2)));
      case 5: {
        const ExprId condition = b_.Binary(Op::kIntLess, AnyIndex(4), b_.Int(1 + Pick(3)));
        return b_.Select(condition, Make(depth - 1), Make(depth - 1));
      }
      case 6:
        if (const ExprId again = Known(); again != kNoExpr) return again;
        return Make(depth - 1);
      default: {
        const size_t before = known_.size();
        const VarId var = b_.AddVar("s", 2 + Pick(3));
        scope_.push_back(var);
        const ExprId body = Make(depth - 1);
        scope_.pop_back();
        // What was made inside may use the variable: out of scope from here on.
        known_.resize(before);
        return b_.Reduce(Op::kSum, var, body);
      }
    }
  }
  ExprId Known() {
    return known_.empty() ? kNoExpr : known_[Pick(static_cast<int>(known_.size()))];
  }

  B& b_;
  std::vector<VarId> scope_;
  std::vector<ExprId> known_;
  std::mt19937 random_;
};

TEST(DifferentiateTest, RandomExpressionsAgreeWithDifferences) {
  for (int seed = 0; seed < 400 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    B b("random");
    b.AddInput("x", {4}, kReal);
    b.AddInput("w", {3, 4}, kReal);
    for (const Shape& shape : {Shape{3, 2}, Shape{4}}) {
      const int y = b.AddOutput("y" + std::to_string(shape.size()), shape, kReal);
      b.SetBody(y, RandomExpression(&b, b.OutputDims(y), 2 * seed + y).Make(1 + seed % 5));
    }
    ExpectGradients(FinishedFunction(&b));
  }
}

TEST(DifferentiateTest, EmptyDimensions) {
  ExpectGradients(Linear(0, 2, 3));
  ExpectGradients(Linear(2, 2, 0));
}

}  // namespace
}  // namespace planproof::sdfg
