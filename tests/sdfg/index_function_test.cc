#include "sdfg/index_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace planproof::sdfg {
namespace {

using ::testing::HasSubstr;

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// y[b, n] = sum(k: x[b, k] * w[n, k]); `swap` builds the nodes in another order.
IndexFunction LinearOf(int64_t b, int64_t n, int64_t k, bool swap = false) {
  IndexFunctionBuilder builder("linear");
  const int x = builder.AddInput("x", {b, k}, DType::kFloat32);
  const int w = builder.AddInput("w", {n, k}, DType::kFloat32);
  VarId var = -1;
  if (swap) var = builder.AddVar("kk", k);
  const int y = builder.AddOutput("y", Shape{b, n}, DType::kFloat32);
  if (!swap) var = builder.AddVar("k", k);
  const std::vector<VarId> dims = builder.OutputDims(y);
  ExprId left = kNoExpr;
  if (!swap) left = builder.Element(x, {builder.Index(dims[0]), builder.Index(var)});
  const ExprId right = builder.Element(w, {builder.Index(dims[1]), builder.Index(var)});
  if (swap) left = builder.Element(x, {builder.Index(dims[0]), builder.Index(var)});
  builder.SetBody(y, builder.Reduce(Op::kSum, var, builder.Binary(Op::kMul, left, right)));
  IndexFunction result;
  EXPECT_TRUE(builder.Finish(&result).ok());
  return result;
}

TEST(IndexFunctionTest, PrintsAsAnIndexExpression) {
  EXPECT_EQ(ToString(LinearOf(2, 3, 4)), "y[i0, i1] = sum(k: x[i0, k] * w[i1, k])");
}

TEST(IndexFunctionTest, IdenticalNodesAreShared) {
  IndexFunctionBuilder builder("f");
  const VarId v = builder.AddVar("v", 5);
  EXPECT_EQ(builder.IntAdd(builder.Index(v), builder.Int(3)),
            builder.IntAdd(builder.Index(v), builder.Int(3)));
  EXPECT_NE(builder.IntAdd(builder.Index(v), builder.Int(3)),
            builder.IntAdd(builder.Index(v), builder.Int(4)));
  EXPECT_NE(builder.Real(solver::Rational(1, 3)), builder.Real(solver::Rational(1, 2)));
}

TEST(IndexFunctionTest, SerializationIgnoresBuildOrderAndNames) {
  EXPECT_EQ(LinearOf(2, 3, 4).Serialize(), LinearOf(2, 3, 4, true).Serialize());
}

TEST(IndexFunctionTest, SerializationShowsEveryField) {
  using Change = std::function<void(IndexFunction*)>;
  const std::vector<Change> changes = {
      [](IndexFunction* f) { f->inputs[0].shape[0] = 7; },
      [](IndexFunction* f) { f->inputs[1].dtype = DType::kFloat64; },
      [](IndexFunction* f) { f->outputs[0].dtype = DType::kFloat64; },
      [](IndexFunction* f) { f->outputs[0].stop_gradient = true; },
      [](IndexFunction* f) { f->vars[0].extent = 9; },
      [](IndexFunction* f) { f->vars.back().extent = 9; },
      [](IndexFunction* f) { std::swap(f->outputs[0].dims[0], f->outputs[0].dims[1]); },
      [](IndexFunction* f) { f->nodes.back().op = Op::kReduceMax; },
      [](IndexFunction* f) { f->nodes.back().tie = TieRule::kEven; },
      [](IndexFunction* f) { f->nodes.back().name = "x"; },
      [](IndexFunction* f) { f->nodes.back().value = 1; },
      [](IndexFunction* f) { f->nodes.back().int_valued = true; },
      [](IndexFunction* f) { f->nodes[f->nodes.size() - 2].op = Op::kAdd; },
      [](IndexFunction* f) { f->assumptions.push_back("dropout is the identity"); },
      [](IndexFunction* f) {
        std::swap(f->nodes[f->nodes.size() - 2].args[0], f->nodes[f->nodes.size() - 2].args[1]);
      },
      [](IndexFunction* f) {
        for (Node& node : f->nodes) {
          if (node.op == Op::kElement) node.input = 1 - node.input;
        }
      },
  };
  const std::string original = LinearOf(2, 3, 4).Serialize();
  for (size_t i = 0; i < changes.size(); ++i) {
    IndexFunction changed = LinearOf(2, 3, 4);
    changes[i](&changed);
    EXPECT_NE(changed.Serialize(), original) << "change " << i;
  }
}

TEST(IndexFunctionTest, SerializationKeepsExactConstants) {
  const auto constant = [](const solver::Rational& value) {
    IndexFunctionBuilder builder("c");
    builder.SetBody(builder.AddOutput("y", Shape{}, DType::kFloat32), builder.Real(value));
    IndexFunction f;
    EXPECT_TRUE(builder.Finish(&f).ok());
    return f.Serialize();
  };
  EXPECT_NE(constant(solver::Rational(1, 10)), constant(solver::Rational::FromDouble(0.1)));
}

TEST(IndexFunctionTest, UnusedNodesAreDropped) {
  IndexFunctionBuilder builder("f");
  const int y = builder.AddOutput("y", Shape{}, DType::kFloat32);
  builder.Real(3);
  builder.SetBody(y, builder.Real(4));
  IndexFunction f;
  ASSERT_TRUE(builder.Finish(&f).ok());
  EXPECT_EQ(f.nodes.size(), 1);
}

// Builds a function of x[4] with one output y[4] by `body` and returns Finish's status.
absl::Status FinishStatus(
    const std::function<ExprId(IndexFunctionBuilder*, int x, ExprId index)>& body) {
  IndexFunctionBuilder builder("f");
  const int x = builder.AddInput("x", {4}, DType::kFloat32);
  const int y = builder.AddOutput("y", Shape{4}, DType::kFloat32);
  builder.SetBody(y, body(&builder, x, builder.Index(builder.OutputDims(y)[0])));
  IndexFunction f;
  return builder.Finish(&f);
}

TEST(IndexFunctionTest, IndexOutOfRangeIsRejected) {
  EXPECT_TRUE(FinishStatus([](auto* b, int x, ExprId i) { return b->Element(x, {i}); }).ok());
  EXPECT_THAT(MessageOf(FinishStatus([](auto* b, int x, ExprId i) {
                return b->Element(x, {b->IntAdd(i, b->Int(1))});
              })),
              HasSubstr("reads input x at indices 1 to 4 of dimension 0, whose extent is 4"));
  EXPECT_FALSE(FinishStatus([](auto* b, int x, ExprId i) {
                 return b->Element(x, {b->IntScale(-1, i)});
               }).ok());
  EXPECT_TRUE(FinishStatus([](auto* b, int x, ExprId i) {
                return b->Element(x, {b->IntMod(b->IntAdd(i, b->Int(1)), 4)});
              }).ok());
  EXPECT_TRUE(FinishStatus([](auto* b, int x, ExprId i) {
                return b->Element(x, {b->IntSub(b->Int(3), i)});
              }).ok());
}

TEST(IndexFunctionTest, AccessUnderASelectIsTrustedToBeGuarded) {
  const auto shifted = [](auto* b, int x, ExprId i) {
    return b->Element(x, {b->IntAdd(i, b->Int(-1))});
  };
  EXPECT_TRUE(FinishStatus([&](auto* b, int x, ExprId i) {
                return b->Select(b->Binary(Op::kIntLess, b->Int(0), i), shifted(b, x, i),
                                 b->Real(0));
              }).ok());
  // ... but not if the same access also stands outside of the select.
  EXPECT_FALSE(FinishStatus([&](auto* b, int x, ExprId i) {
                 const ExprId guarded =
                     b->Select(b->Binary(Op::kIntLess, b->Int(0), i), shifted(b, x, i), b->Real(0));
                 return b->Binary(Op::kAdd, guarded, shifted(b, x, i));
               }).ok());
}

TEST(IndexFunctionTest, RankMismatchIsRejected) {
  EXPECT_THAT(MessageOf(FinishStatus([](auto* b, int x, ExprId i) {
                return b->Element(x, {i, i});
              })),
              HasSubstr("rank 1 with 2 indices"));
}

TEST(IndexFunctionTest, SortsAreChecked) {
  EXPECT_FALSE(FinishStatus([](auto* b, int, ExprId i) { return b->Unary(Op::kExp, i); }).ok());
  EXPECT_FALSE(FinishStatus([](auto* b, int x, ExprId i) {
                 return b->Binary(Op::kAdd, b->Element(x, {i}), i);
               }).ok());
  EXPECT_FALSE(
      FinishStatus([](auto* b, int, ExprId i) { return b->Unary(Op::kIndicator, i); }).ok());
  EXPECT_FALSE(FinishStatus([](auto* b, int x, ExprId i) { return b->IntElement(x, {i}); }).ok());
  EXPECT_FALSE(
      FinishStatus([](auto* b, int, ExprId i) { return b->Binary(Op::kIntLess, i, i); }).ok());
  EXPECT_FALSE(FinishStatus([](auto* b, int, ExprId i) { return b->IntDiv(i, 0); }).ok());
}

TEST(IndexFunctionTest, VariablesStayInTheirScope) {
  EXPECT_THAT(MessageOf(FinishStatus([](auto* b, int x, ExprId) {
                return b->Element(x, {b->Index(b->AddVar("stray", 4))});
              })),
              HasSubstr("uses stray outside its scope"));
  EXPECT_FALSE(FinishStatus([](auto* b, int x, ExprId i) {
                 const VarId v = b->AddVar("v", 4);
                 const ExprId inner = b->Element(x, {b->Index(v)});
                 return b->Binary(Op::kAdd, b->Reduce(Op::kSum, v, inner),
                                  b->Reduce(Op::kReduceMax, v, b->Element(x, {i})));
               }).ok());
  EXPECT_FALSE(FinishStatus([](auto* b, int x, ExprId i) {
                 return b->Reduce(Op::kSum, b->node(i).var, b->Element(x, {i}));
               }).ok());
  IndexFunctionBuilder two("two");
  const int x = two.AddInput("x", {4}, DType::kFloat32);
  const int y = two.AddOutput("y", Shape{4}, DType::kFloat32);
  const int z = two.AddOutput("z", Shape{4}, DType::kFloat32);
  const ExprId body = two.Element(x, {two.Index(two.OutputDims(y)[0])});
  two.SetBody(y, body);
  two.SetBody(z, body);
  IndexFunction f;
  EXPECT_FALSE(two.Finish(&f).ok());
}

TEST(IndexFunctionTest, IndexOverflowIsRejected) {
  EXPECT_THAT(MessageOf(FinishStatus([](auto* b, int x, ExprId i) {
                ExprId big = i;
                for (int round = 0; round < 8; ++round) {
                  big = b->IntScale(int64_t{1} << 40, b->IntAdd(big, b->Int(1)));
                }
                return b->Element(x, {b->IntMod(big, 4)});
              })),
              HasSubstr("an index has values beyond 2^63"));
}

TEST(IndexFunctionTest, MissingBodyIsRejected) {
  IndexFunctionBuilder builder("f");
  builder.AddOutput("y", Shape{2}, DType::kFloat32);
  IndexFunction f;
  EXPECT_THAT(MessageOf(builder.Finish(&f)), HasSubstr("output y has no body"));
}

TEST(IndexFunctionTest, TextOfSharedExpressionsStaysBounded) {
  IndexFunctionBuilder builder("f");
  const int x = builder.AddInput("x", Shape{}, DType::kFloat32);
  ExprId e = builder.Element(x, {});
  for (int i = 0; i < 200; ++i) e = builder.Binary(Op::kMul, e, e);
  builder.SetBody(builder.AddOutput("y", Shape{}, DType::kFloat32), e);
  IndexFunction f;
  ASSERT_TRUE(builder.Finish(&f).ok());
  EXPECT_LT(ToString(f).size(), 10000);
}

}  // namespace
}  // namespace planproof::sdfg
