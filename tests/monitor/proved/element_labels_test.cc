// Labels of elements: what is moved keeps its label, what is computed has one of its own.
#include "monitor/proved/element_labels.h"

#include <gtest/gtest.h>

namespace planproof::monitor {
namespace {

using sdfg::ExprId;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;

using Labels = std::vector<uint64_t>;

// y[i] = x[i + shift], of 4 elements.
sdfg::IndexFunction Moved(int64_t shift) {
  IndexFunctionBuilder builder("move");
  builder.AddInput("x", {8}, sdfg::DType::kFloat32);
  const int y = builder.AddOutput("y", sdfg::Shape{4}, sdfg::DType::kFloat32);
  const ExprId i = builder.Index(builder.OutputDims(y)[0]);
  builder.SetBody(y, builder.Element(0, {builder.IntAdd(i, builder.Int(shift))}));
  sdfg::IndexFunction function;
  EXPECT_TRUE(builder.Finish(&function).ok());
  return function;
}

// y[i] = x[i + shift] op z[i] (op z[i] again).
sdfg::IndexFunction Combined(Op op, int64_t shift, bool again = false) {
  IndexFunctionBuilder builder("combine");
  builder.AddInput("x", {8}, sdfg::DType::kFloat32);
  builder.AddInput("z", {4}, sdfg::DType::kFloat32);
  const int y = builder.AddOutput("y", sdfg::Shape{4}, sdfg::DType::kFloat32);
  const ExprId i = builder.Index(builder.OutputDims(y)[0]);
  const ExprId z = builder.Element(1, {i});
  ExprId body = builder.Binary(op, builder.Element(0, {builder.IntAdd(i, builder.Int(shift))}), z);
  if (again) body = builder.Binary(op, body, z);
  builder.SetBody(y, body);
  sdfg::IndexFunction function;
  EXPECT_TRUE(builder.Finish(&function).ok());
  return function;
}

const Labels kX = {1, 2, 3, 4, 1, 2, 3, 5};
const Labels kZ = {7, 8, 9, 10};

TEST(LabelsElementByElement, WhatIsMovedKeepsItsLabel) {
  EXPECT_EQ(LabelsElementByElement(Moved(2), 0, {&kX}, 99, false), (Labels{3, 4, 1, 2}));
}

TEST(LabelsElementByElement, TheSameSumsHaveOneLabelWhereverTheyLie) {
  const auto first = LabelsElementByElement(Combined(Op::kAdd, 0), 0, {&kX, &kZ}, 99, false);
  const auto second = LabelsElementByElement(Combined(Op::kAdd, 4), 0, {&kX, &kZ}, 99, false);
  ASSERT_TRUE(first && second);
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*first)[i], (*second)[i]);
  EXPECT_NE((*first)[3], (*second)[3]);  // 4 is not 5
  EXPECT_NE(first, LabelsElementByElement(Combined(Op::kMul, 0), 0, {&kX, &kZ}, 99, false));
  EXPECT_NE(first, LabelsElementByElement(Combined(Op::kAdd, 0), 0, {&kX, &kZ}, 98, false));
}

TEST(LabelsElementByElement, SeveralOperationsDependOnTheirPlaceUnlessExact) {
  const Labels x(8, 1), z(4, 7);
  const auto fused = LabelsElementByElement(Combined(Op::kAdd, 0, true), 0, {&x, &z}, 1, false);
  const auto exact = LabelsElementByElement(Combined(Op::kAdd, 0, true), 0, {&x, &z}, 1, true);
  ASSERT_TRUE(fused && exact);
  EXPECT_NE((*fused)[0], (*fused)[1]);
  EXPECT_EQ((*exact)[0], (*exact)[1]);
}

TEST(LabelsElementByElement, OtherFunctionsHaveNone) {
  IndexFunctionBuilder builder("exp");
  builder.AddInput("x", {8}, sdfg::DType::kFloat32);
  const int y = builder.AddOutput("y", sdfg::Shape{8}, sdfg::DType::kFloat32);
  const ExprId i = builder.Index(builder.OutputDims(y)[0]);
  builder.SetBody(y, builder.Unary(Op::kExp, builder.Element(0, {i})));
  sdfg::IndexFunction function;
  ASSERT_TRUE(builder.Finish(&function).ok());
  EXPECT_FALSE(LabelsElementByElement(function, 0, {&kX}, 1, false).has_value());
}

}  // namespace
}  // namespace planproof::monitor
