#include "inference/movement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/shape_reduction/small_problem.h"

namespace planproof::inference {
namespace {

using shape_reduction::Instantiate;

TEST(Movement, AViewMoves) { EXPECT_TRUE(TakesElementsByPlace(Instantiate("identity", {{4}}))); }

TEST(Movement, WhatComputesDoesNot) {
  EXPECT_FALSE(TakesElementsByPlace(Instantiate("neg", {{4}})));
  EXPECT_FALSE(TakesElementsByPlace(Instantiate("add", {{4}, {4}})));
}

// Which element is taken is data.
TEST(Movement, AChoiceByDataDoesNot) {
  sdfg::IndexFunctionBuilder builder("embedding");
  builder.AddInput("ids", {4}, sdfg::DType::kInt64);
  builder.AddInput("table", {8}, sdfg::DType::kFloat32);
  const int output = builder.AddOutput("y", sdfg::Shape{4}, sdfg::DType::kFloat32);
  const sdfg::ExprId i = builder.Index(builder.OutputDims(output)[0]);
  builder.SetBody(output, builder.Element(1, {builder.IntElement(0, {i})}));
  sdfg::IndexFunction function;
  ASSERT_TRUE(builder.Finish(&function).ok());
  EXPECT_FALSE(TakesElementsByPlace(function));
}

}  // namespace
}  // namespace planproof::inference
