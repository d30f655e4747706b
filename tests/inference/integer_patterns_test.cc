#include "inference/integer_patterns.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace planproof::inference {
namespace {

using sdfg::DType;
using sdfg::ExprId;
using sdfg::Graph;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using sdfg::TensorId;

constexpr int64_t kSize = 4;

TensorId AddInput(Graph* graph, const std::string& name, DType dtype) {
  sdfg::Tensor tensor;
  tensor.name = name;
  tensor.shape = {kSize};
  tensor.dtype = dtype;
  tensor.role = sdfg::TensorRole::kInput;
  return graph->AddTensor(std::move(tensor));
}

// An elementwise operator: `body` gets the builder and the index.
using Body = std::function<ExprId(IndexFunctionBuilder*, ExprId)>;
TensorId Add(Graph* graph, const std::vector<TensorId>& inputs, DType dtype, const Body& body) {
  IndexFunctionBuilder builder("f");
  for (const TensorId t : inputs) builder.AddInput("x", {kSize}, graph->tensors[t].dtype);
  const int output = builder.AddOutput("y", sdfg::Shape{kSize}, dtype);
  builder.SetBody(output, body(&builder, builder.Index(builder.OutputDims(output)[0])));
  IndexFunction function;
  EXPECT_TRUE(builder.Finish(&function).ok());
  const TensorId result = AddInput(graph, "y", dtype);
  sdfg::Operator op;
  op.name = "f";
  op.function = std::make_shared<const IndexFunction>(std::move(function));
  op.inputs = inputs;
  op.outputs = {result};
  graph->tensors[result].producer = static_cast<sdfg::OperatorId>(graph->operators.size());
  graph->operators.push_back(std::move(op));
  return result;
}

TEST(IntegerPatterns, AreMadeOfIntegersOfTheDataAlone) {
  Graph graph;
  const TensorId labels = AddInput(&graph, "labels", DType::kInt64);
  const TensorId weight = AddInput(&graph, "weight", DType::kFloat32);
  const TensorId hit =
      Add(&graph, {labels}, DType::kFloat32, [](IndexFunctionBuilder* b, ExprId i) {
        return b->Unary(Op::kIndicator, b->Binary(Op::kIntEq, b->IntElement(0, {i}), b->Int(2)));
      });
  const TensorId twice = Add(&graph, {hit}, DType::kFloat32, [](IndexFunctionBuilder* b, ExprId i) {
    return b->Binary(Op::kMul, b->Real(2), b->Element(0, {i}));
  });
  const TensorId weighted =
      Add(&graph, {twice, weight}, DType::kFloat32, [](IndexFunctionBuilder* b, ExprId i) {
        return b->Binary(Op::kMul, b->Element(0, {i}), b->Element(1, {i}));
      });
  // The cosine of a position is a value of its own.
  const TensorId cosine =
      Add(&graph, {hit}, DType::kFloat32,
          [](IndexFunctionBuilder* b, ExprId i) { return b->Unary(Op::kCos, b->Element(0, {i})); });
  const TensorId of_cosine =
      Add(&graph, {cosine}, DType::kFloat32, [](IndexFunctionBuilder* b, ExprId i) {
        return b->Binary(Op::kMul, b->Real(2), b->Element(0, {i}));
      });
  const TensorId positions =
      Add(&graph, {}, DType::kInt64, [](IndexFunctionBuilder*, ExprId i) { return i; });
  const std::vector<bool> patterns = IntegerPatterns(graph);
  EXPECT_TRUE(patterns[hit]);
  EXPECT_TRUE(patterns[twice]);
  for (const TensorId other : {labels, weight, weighted, cosine, of_cosine, positions}) {
    EXPECT_FALSE(patterns[other]) << other;
  }
  const std::vector<bool> integers = MadeOfIntegers(graph);
  for (const TensorId whole : {labels, hit, twice, positions})
    EXPECT_TRUE(integers[whole]) << whole;
  for (const TensorId other : {weight, weighted, cosine, of_cosine}) {
    EXPECT_FALSE(integers[other]) << other;
  }
}

}  // namespace
}  // namespace planproof::inference
