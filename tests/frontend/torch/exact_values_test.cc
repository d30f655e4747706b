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
    int64_t work = 1000, DType dtype = DType::kFloat32) {
  IndexFunctionBuilder builder("f");
  builder.AddInput("x", {3}, dtype);
  const int y = builder.AddOutput("y", sdfg::Shape{2}, dtype);
  builder.SetBody(y, body(&builder, builder.Index(builder.OutputDims(y)[0])));
  IndexFunction function;
  const absl::Status finished = builder.Finish(&function);
  EXPECT_TRUE(finished.ok()) << finished;
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

TEST(ExactValues, AFractionIsNoInteger) {
  const auto element_at_first = [](IndexFunctionBuilder* b, ExprId) {
    return b->IntElement(0, {b->IntElement(0, {b->Int(0)})});
  };
  const ExactElements half = {Rational(1, 2), 5, 6}, one = {1, 5, 6}, three = {3, 5, 6};
  const auto evaluate = [&](const ExactElements& x) {
    return Evaluate(element_at_first, &x, 1000, DType::kInt64);
  };
  EXPECT_EQ(evaluate(half), std::nullopt);
  EXPECT_EQ(evaluate(three), std::nullopt);
  EXPECT_THAT(evaluate(one), Optional(ElementsAre(5, 5)));
}

TEST(ExactValues, IntegersHave64Bits) {
  const auto twice = [](IndexFunctionBuilder* b, ExprId i) {
    return b->IntAdd(b->IntElement(0, {i}), b->IntElement(0, {i}));
  };
  const ExactElements small = {4, 5, 6}, large = {4, INT64_MAX, 6};
  EXPECT_THAT(Evaluate(twice, &small, 1000, DType::kInt64), Optional(ElementsAre(8, 10)));
  EXPECT_EQ(Evaluate(twice, &large, 1000, DType::kInt64), std::nullopt);
}

TEST(ExactValues, PowersStaySmall) {
  const auto power = [](IndexFunctionBuilder* b, ExprId i) {
    ExprId x = b->Element(0, {i});
    for (int k = 0; k < 12; ++k) x = b->Pow(x, 8);
    return x;
  };
  const ExactElements ones = {1, 1, 1}, twos = {2, 2, 2};
  EXPECT_THAT(Evaluate(power, &ones), Optional(ElementsAre(1, 1)));
  EXPECT_EQ(Evaluate(power, &twos), std::nullopt);
}

TEST(ExactValues, EqualElementsAreSortedByTheirPlaces) {
  const auto place = [](const char* name) {
    return [name](IndexFunctionBuilder* b, ExprId i) {
      const sdfg::VarId k = b->AddVar("k", 3);
      return b->Unary(Op::kPosition, b->Opaque(name, true, k, {b->Element(0, {b->Index(k)}), i}));
    };
  };
  const ExactElements row = {4, 7, 7};
  EXPECT_THAT(Evaluate(place("topk_index(k=2)"), &row), Optional(ElementsAre(1, 2)));
  EXPECT_EQ(Evaluate(place("topk_index(k=2,sorted=false)"), &row), std::nullopt);
  EXPECT_EQ(Evaluate(place("topk_index(k=2,groups=3)"), &row), std::nullopt);
}

// y[k] is the sum over i of (the sum of x before i) times (the sum of x before k).
TEST(ExactValues, WhatIsFoldedIsRememberedAtItsOwnIndices) {
  constexpr int64_t kSize = 60;
  IndexFunctionBuilder b("f");
  b.AddInput("x", {kSize}, DType::kFloat32);
  const int y = b.AddOutput("y", sdfg::Shape{kSize}, DType::kFloat32);
  const ExprId k = b.Index(b.OutputDims(y)[0]);
  const sdfg::VarId i = b.AddVar("i", kSize), j = b.AddVar("j", kSize), m = b.AddVar("m", kSize);
  const auto if_less = [&](ExprId a, ExprId c) {
    return b.Unary(Op::kIndicator, b.Binary(Op::kIntLess, a, c));
  };
  const ExprId before = b.Reduce(
      Op::kSum, j, b.Binary(Op::kMul, if_less(b.Index(j), b.Index(i)), b.Element(0, {b.Index(j)})));
  const ExprId up_to =
      b.Reduce(Op::kSum, m, b.Binary(Op::kMul, if_less(b.Index(m), k), b.Element(0, {b.Index(m)})));
  b.SetBody(y, b.Reduce(Op::kSum, i, b.Binary(Op::kMul, before, up_to)));
  IndexFunction function;
  ASSERT_TRUE(b.Finish(&function).ok());
  ExactElements x, wanted;
  for (int64_t n = 0; n < kSize; ++n) x.push_back(Rational(n % 7 - 3, n % 3 + 1));
  Rational sums, prefix;
  for (int64_t n = 0; n < kSize; ++n) {
    sums += prefix;
    prefix += x[n];
  }
  prefix = 0;
  for (int64_t n = 0; n < kSize; ++n) {
    wanted.push_back(sums * prefix);
    prefix += x[n];
  }
  int64_t work = kSize * kSize * 40;  // not the cube
  EXPECT_EQ(EvaluateExactly(function, 0, {&x}, &work), wanted);
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
    EXPECT_EQ(PremisesHoldExactly(function, {}, &work), bound == 3);
  }
}

}  // namespace
}  // namespace planproof::frontend::torch
