#include "frontend/torch/exact_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace planproof::frontend::torch {
namespace {

using sdfg::DType;
using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using solver::Rational;
using testing::ElementsAre;
using testing::Optional;

// y[i] = body(builder, i) for two elements, of x with three.
std::optional<ExactElements> Evaluate(
    const std::function<ExprId(IndexFunctionBuilder*, ExprId)>& body, const ExactElements* x,
    int64_t work = 1000) {
  IndexFunctionBuilder builder("f");
  builder.AddInput("x", {3}, DType::kFloat32);
  const int y = builder.AddOutput("y", sdfg::Shape{2}, DType::kFloat32);
  builder.SetBody(y, body(&builder, builder.Index(builder.OutputDims(y)[0])));
  IndexFunction function;
  EXPECT_TRUE(builder.Finish(&function).ok());
  return EvaluateExactly(function, 0, {x}, &work);
}

const ExactElements& Numbers() {
  static const auto* const numbers = new ExactElements{Rational(1, 3), 0, -2};
  return *numbers;
}

ExprId At(IndexFunctionBuilder* b, int64_t place) { return b->Element(0, {b->Int(place)}); }

TEST(ExactValues, NothingIsRounded) {
  EXPECT_THAT(Evaluate([](IndexFunctionBuilder* b,
                          ExprId i) { return b->Binary(Op::kDiv, b->Element(0, {i}), At(b, 2)); },
                       &Numbers()),
              Optional(ElementsAre(Rational(-1, 6), Rational(0))));
}

TEST(ExactValues, SumsAndMaximaRunOverAllOfARow) {
  for (const auto& [op, value] :
       {std::pair(Op::kSum, Rational(-5, 3)), std::pair(Op::kReduceMax, Rational(1, 3)),
        std::pair(Op::kReduceMin, Rational(-2))}) {
    EXPECT_THAT(Evaluate(
                    [op = op](IndexFunctionBuilder* b, ExprId) {
                      const sdfg::VarId k = b->AddVar("k", 3);
                      return b->Reduce(op, k, b->Element(0, {b->Index(k)}));
                    },
                    &Numbers()),
                Optional(ElementsAre(value, value)));
  }
}

TEST(ExactValues, OnlyTheBranchThatIsTakenNeedsAValue) {
  EXPECT_THAT(Evaluate(
                  [](IndexFunctionBuilder* b, ExprId i) {
                    const ExprId x = b->Element(0, {i});
                    return b->Select(b->Unary(Op::kNonzero, x), b->Binary(Op::kDiv, b->Real(1), x),
                                     b->Real(7));
                  },
                  &Numbers()),
              Optional(ElementsAre(Rational(3), Rational(7))));
}

TEST(ExactValues, WhatHasNoRationalValueHasNone) {
  const std::function<ExprId(IndexFunctionBuilder*, ExprId)> bodies[] = {
      [](IndexFunctionBuilder* b, ExprId i) { return b->Unary(Op::kExp, b->Element(0, {i})); },
      [](IndexFunctionBuilder* b, ExprId i) { return b->Pow(b->Element(0, {i}), Rational(1, 2)); },
      [](IndexFunctionBuilder* b, ExprId i) { return b->Pow(b->Element(0, {i}), -1); },
      [](IndexFunctionBuilder* b, ExprId i) {
        return b->Binary(Op::kDiv, b->Real(0), b->Element(0, {i}));
      },
      [](IndexFunctionBuilder* b, ExprId i) {
        return b->Opaque("f", false, -1, {b->Element(0, {i})});
      },
      [](IndexFunctionBuilder* b, ExprId) { return b->NegInf(); },
  };
  for (const auto& body : bodies) EXPECT_EQ(Evaluate(body, &Numbers()), std::nullopt);
}

TEST(ExactValues, WhatIsNotKnownHasNone) {
  const auto copy = [](IndexFunctionBuilder* b, ExprId i) { return b->Element(0, {i}); };
  EXPECT_NE(Evaluate(copy, &Numbers()), std::nullopt);
  EXPECT_EQ(Evaluate(copy, nullptr), std::nullopt);
  EXPECT_EQ(Evaluate(copy, &Numbers(), 3), std::nullopt);
}

TEST(ExactValues, APremiseThatFailsLeavesNoValue) {
  for (const int64_t bound : {2, 3}) {
    IndexFunctionBuilder builder("f");
    const int y = builder.AddOutput("y", sdfg::Shape{3}, DType::kInt64);
    const ExprId i = builder.Index(builder.OutputDims(y)[0]);
    builder.SetBody(y, i);
    builder.AddPremise(y, builder.Binary(Op::kIntLess, i, builder.Int(bound)), "small");
    IndexFunction function;
    ASSERT_TRUE(builder.Finish(&function).ok());
    int64_t work = 1000;
    EXPECT_EQ(EvaluateExactly(function, 0, {}, &work).has_value(), bound == 3);
  }
}

}  // namespace
}  // namespace planproof::frontend::torch
