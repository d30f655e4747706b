// What is read from a model's graph: linear forms, norms, and the coefficient of clipping.
#include "monitor/proved/export_definitions.h"

#include <gtest/gtest.h>

#include <functional>

#include "monitor/proved/export_squares.h"

namespace planproof::monitor {
namespace {

using sdfg::ExprId;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using sdfg::TensorId;
using solver::Rational;

const Rational kHalf = Rational(1) / Rational(2);

class ModelGraph {
 public:
  sdfg::Graph graph;

  TensorId Held(sdfg::Shape shape) {
    sdfg::Tensor tensor;
    tensor.shape = std::move(shape);
    tensor.dtype = sdfg::DType::kFloat32;
    tensor.role = sdfg::TensorRole::kParameter;
    return graph.AddTensor(tensor);
  }

  // An operator whose body `make` writes; it gets the builder and the output's number.
  TensorId Computed(sdfg::Shape shape, const std::vector<TensorId>& inputs,
                    const std::function<ExprId(IndexFunctionBuilder*, int)>& make) {
    IndexFunctionBuilder builder("test");
    for (const TensorId input : inputs) {
      builder.AddInput("x", graph.tensors[input].shape, sdfg::DType::kFloat32);
    }
    const int output = builder.AddOutput("y", shape, sdfg::DType::kFloat32);
    builder.SetBody(output, make(&builder, output));
    sdfg::IndexFunction function;
    EXPECT_TRUE(builder.Finish(&function).ok());
    sdfg::Tensor tensor;
    tensor.shape = std::move(shape);
    tensor.dtype = sdfg::DType::kFloat32;
    sdfg::Operator op;
    op.name = "test";
    op.function = graph.Intern(std::move(function));
    op.inputs = inputs;
    op.outputs = {graph.AddTensor(tensor)};
    const TensorId made = op.outputs[0];
    graph.AddOperator(std::move(op));
    return made;
  }
};

ExprId Same(IndexFunctionBuilder* b, int output, int input) {
  std::vector<ExprId> index;
  for (const sdfg::VarId var : b->OutputDims(output)) index.push_back(b->Index(var));
  return b->Element(input, index);
}

TensorId Lerp(ModelGraph* model, TensorId x, TensorId g, const Rational& weight) {
  return model->Computed({4}, {x, g}, [&](IndexFunctionBuilder* b, int y) {
    const ExprId own = Same(b, y, 0);
    const ExprId difference = b->Binary(Op::kAdd, Same(b, y, 1), b->Unary(Op::kNeg, own));
    return b->Binary(Op::kAdd, own, b->Binary(Op::kMul, b->Real(weight), difference));
  });
}

TEST(LinearFormOf, AMeanOfTwoTensorsIsOne) {
  ModelGraph model;
  const TensorId x = model.Held({4}), g = model.Held({4});
  const TensorId y = Lerp(&model, x, g, Rational(1) / Rational(4));
  const auto form = LinearFormOf(model.graph, y, {x, g});
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->factors.at(x), Rational(3) / Rational(4));
  EXPECT_EQ(form->factors.at(g), Rational(1) / Rational(4));
  EXPECT_TRUE(form->constant.IsZero());
}

TEST(LinearFormOf, ProductsAndOtherElementsAreNone) {
  ModelGraph model;
  const TensorId x = model.Held({4}), g = model.Held({4});
  const TensorId product = model.Computed({4}, {x, g}, [](IndexFunctionBuilder* b, int y) {
    return b->Binary(Op::kMul, Same(b, y, 0), Same(b, y, 1));
  });
  EXPECT_FALSE(LinearFormOf(model.graph, product, {x, g}).has_value());
  const TensorId reversed = model.Computed({4}, {x}, [](IndexFunctionBuilder* b, int y) {
    const ExprId i = b->Index(b->OutputDims(y)[0]);
    return b->Element(0, {b->IntSub(b->Int(3), i)});
  });
  EXPECT_FALSE(LinearFormOf(model.graph, reversed, {x}).has_value());
  // A tensor that is no leaf, and that nothing computes.
  EXPECT_FALSE(LinearFormOf(model.graph, Lerp(&model, x, g, kHalf), {x}).has_value());
}

TensorId SumOfSquares(ModelGraph* model, TensorId x, int64_t extent, int exponent) {
  return model->Computed({}, {x}, [&](IndexFunctionBuilder* b, int) {
    const sdfg::VarId var = b->AddVar("r", extent);
    return b->Reduce(Op::kSum, var, b->Pow(b->Element(0, {b->Index(var)}), Rational(exponent)));
  });
}

TensorId RootOfSum(ModelGraph* model, TensorId a, TensorId b) {
  return model->Computed({}, {a, b}, [](IndexFunctionBuilder* builder, int) {
    return builder->Pow(builder->Binary(Op::kAdd, builder->Element(0, {}), builder->Element(1, {})),
                        kHalf);
  });
}

// Of a norm of 4 elements, alone.
TensorId NormOf(ModelGraph* model, TensorId x) {
  const TensorId squares = SumOfSquares(model, x, 4, 2);
  return model->Computed(
      {}, {squares}, [](IndexFunctionBuilder* b, int) { return b->Pow(b->Element(0, {}), kHalf); });
}

TensorId Stacked(ModelGraph* model, TensorId a, TensorId b) {
  return model->Computed({2}, {a, b}, [](IndexFunctionBuilder* builder, int y) {
    const ExprId i = builder->Index(builder->OutputDims(y)[0]);
    sdfg::Node equal{.op = Op::kIntEq};
    equal.args = {i, builder->Int(0)};
    return builder->Select(builder->AddNode(equal), builder->Element(0, {}),
                           builder->Element(1, {}));
  });
}

TensorId NormOfStack(ModelGraph* model, TensorId stack) {
  return model->Computed({}, {stack}, [](IndexFunctionBuilder* b, int) {
    const sdfg::VarId var = b->AddVar("r", 2);
    return b->Pow(b->Reduce(Op::kSum, var, b->Pow(b->Element(0, {b->Index(var)}), Rational(2))),
                  kHalf);
  });
}

TEST(RootOfSquaresOf, ANormOfNormsIsOne) {
  ModelGraph model;
  const TensorId x = model.Held({4}), g = model.Held({4});
  const TensorId norm = NormOfStack(&model, Stacked(&model, NormOf(&model, x), NormOf(&model, g)));
  EXPECT_EQ(RootOfSquaresOf(model.graph, norm, {x, g}), (std::set<TensorId>{x, g}));
}

TEST(RootOfSquaresOf, WhatIsCountedTwiceOrLeftOutIsNone) {
  ModelGraph model;
  const TensorId x = model.Held({4}), g = model.Held({4});
  const TensorId own = NormOf(&model, x);
  EXPECT_FALSE(RootOfSquaresOf(model.graph, NormOfStack(&model, Stacked(&model, own, own)), {x, g})
                   .has_value());
  const TensorId part = SumOfSquares(&model, x, 3, 2);  // three of four elements
  const TensorId root = model.Computed(
      {}, {part}, [](IndexFunctionBuilder* b, int) { return b->Pow(b->Element(0, {}), kHalf); });
  EXPECT_FALSE(RootOfSquaresOf(model.graph, root, {x}).has_value());
  const TensorId fourth = RootOfSum(&model, SumOfSquares(&model, x, 4, 4), own);
  EXPECT_FALSE(RootOfSquaresOf(model.graph, fourth, {x}).has_value());
}

// min(`most`, bound / (norm + 1/1024)).
TensorId Coefficient(ModelGraph* model, TensorId norm, int most) {
  return model->Computed({}, {norm}, [&](IndexFunctionBuilder* b, int) {
    const ExprId sum =
        b->Binary(Op::kAdd, b->Element(0, {}), b->Real(Rational(1) / Rational(1024)));
    const ExprId share = b->Binary(Op::kDiv, b->Real(Rational(3) / Rational(4)), sum);
    return b->Binary(Op::kMin, share, b->Real(Rational(most)));
  });
}

TEST(ClipCoefficientOf, BoundAndEpsilonAreRead) {
  ModelGraph model;
  const TensorId x = model.Held({4});
  const TensorId norm = NormOf(&model, x);
  const auto clip = ClipCoefficientOf(model.graph, Coefficient(&model, norm, 1), {x});
  ASSERT_TRUE(clip.has_value());
  EXPECT_NEAR(clip->bound, 0.75, 1e-12);
  EXPECT_NEAR(clip->epsilon, 0x1p-10, 1e-9);
  EXPECT_EQ(clip->norm, norm);
  EXPECT_EQ(clip->of, std::set<TensorId>{x});
}

TEST(ClipCoefficientOf, OtherFunctionsOfTheNormAreNone) {
  ModelGraph model;
  const TensorId x = model.Held({4});
  const TensorId norm = NormOf(&model, x);
  EXPECT_FALSE(ClipCoefficientOf(model.graph, Coefficient(&model, norm, 2), {x}).has_value());
  const TensorId root = model.Computed(
      {}, {norm}, [](IndexFunctionBuilder* b, int) { return b->Pow(b->Element(0, {}), kHalf); });
  EXPECT_FALSE(ClipCoefficientOf(model.graph, root, {x}).has_value());
}

TEST(ClipCoefficientOf, AProgramMayComputeItOnlyAboveTheBound) {
  ModelGraph model;
  const TensorId x = model.Held({4});
  const TensorId share = model.Computed({}, {NormOf(&model, x)}, [](IndexFunctionBuilder* b, int) {
    const ExprId sum =
        b->Binary(Op::kAdd, b->Element(0, {}), b->Real(Rational(1) / Rational(1024)));
    return b->Binary(Op::kDiv, b->Real(Rational(3) / Rational(4)), sum);
  });
  const auto clip = ClipCoefficientOf(model.graph, share, {x});
  ASSERT_TRUE(clip.has_value());
  EXPECT_TRUE(clip->unlimited);
  EXPECT_NEAR(clip->bound, 0.75, 1e-9);
  EXPECT_TRUE(IsClipCoefficient(model.graph, share, *clip));
  const TensorId limited = Coefficient(&model, NormOf(&model, x), 1);
  EXPECT_FALSE(IsClipCoefficient(model.graph, limited, *clip));
}

TEST(MultipliersOf, SumsOfProductsHaveThoseOfTheirTerms) {
  ModelGraph model;
  const TensorId x = model.Held({4}), c = model.Held({}), d = model.Held({});
  const auto times = [&](TensorId number) {
    return model.Computed({4}, {number, x}, [](IndexFunctionBuilder* b, int out) {
      return b->Binary(Op::kMul, b->Element(0, {}), Same(b, out, 1));
    });
  };
  const auto sum = [&](TensorId a, TensorId b) {
    const TensorId made = model.Computed({4}, {a, b}, [](IndexFunctionBuilder* builder, int out) {
      return builder->Binary(Op::kAdd, Same(builder, out, 0), Same(builder, out, 1));
    });
    model.graph.operators.back().kind = sdfg::OperatorKind::kAllReduce;
    return made;
  };
  EXPECT_EQ(MultipliersOf(model.graph, sum(times(c), times(d))), (std::set<TensorId>{c, d}));
  EXPECT_FALSE(MultipliersOf(model.graph, sum(times(c), x)).has_value());
}

TEST(ScaledTensorOf, TellsWhichFactorIsTheNumber) {
  ModelGraph model;
  const TensorId x = model.Held({4}), c = model.Held({});
  const TensorId y = model.Computed({4}, {c, x}, [](IndexFunctionBuilder* b, int out) {
    return b->Binary(Op::kMul, b->Element(0, {}), Same(b, out, 1));
  });
  const auto scaled = ScaledTensorOf(model.graph, y);
  ASSERT_TRUE(scaled.has_value());
  EXPECT_EQ(scaled->whole, x);
  EXPECT_EQ(scaled->scalar, c);
}

}  // namespace
}  // namespace planproof::monitor
