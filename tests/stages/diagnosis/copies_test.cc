// What is moved stays the tensor that it was, also through a bucket.
#include "stages/diagnosis/copies.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sdfg/index_function.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::stages {
namespace {

using sdfg::TensorId;

class CopiesTest : public testing::Test {
 protected:
  TensorId Input(const std::string& name, sdfg::Shape shape) {
    return small_.Logical(name, std::move(shape));
  }

  TensorId Apply(const std::string& function, const std::vector<TensorId>& operands) {
    std::vector<sdfg::Shape> shapes;
    for (const TensorId t : operands) shapes.push_back(graph().tensors[t].shape);
    return small_.Apply(&graph(), shape_reduction::Instantiate(function, shapes), operands);
  }

  // The elements from `start`, as a matrix of rows of 2; joined to one vector, if there are two.
  TensorId Matrix(TensorId vector, int64_t start, int64_t rows) {
    sdfg::IndexFunctionBuilder builder("part");
    const int64_t size = graph().tensors[vector].shape[0];
    builder.AddInput("x", {size}, sdfg::DType::kFloat32);
    const int output = builder.AddOutput("y", sdfg::Shape{rows, 2}, sdfg::DType::kFloat32);
    const auto dims = builder.OutputDims(output);
    const sdfg::ExprId row = builder.IntScale(2, builder.Index(dims[0]));
    const sdfg::ExprId place =
        builder.IntAdd(builder.IntAdd(row, builder.Index(dims[1])), builder.Int(start));
    builder.SetBody(output, builder.Element(0, {place}));
    return Made(&builder, {vector});
  }

  TensorId Joined(TensorId a, TensorId b) {
    sdfg::IndexFunctionBuilder builder("join");
    const int64_t first = graph().tensors[a].shape[0], second = graph().tensors[b].shape[0];
    builder.AddInput("a", {first}, sdfg::DType::kFloat32);
    builder.AddInput("b", {second}, sdfg::DType::kFloat32);
    const int output = builder.AddOutput("y", sdfg::Shape{first + second}, sdfg::DType::kFloat32);
    const sdfg::ExprId i = builder.Index(builder.OutputDims(output)[0]);
    const sdfg::ExprId in_b = builder.IntSub(i, builder.Int(first));
    builder.SetBody(output,
                    builder.Select(builder.Binary(sdfg::Op::kIntLess, i, builder.Int(first)),
                                   builder.Element(0, {i}), builder.Element(1, {in_b})));
    return Made(&builder, {a, b});
  }

  sdfg::Graph& graph() { return small_.problem.logical; }

 private:
  TensorId Made(sdfg::IndexFunctionBuilder* builder, const std::vector<TensorId>& inputs) {
    sdfg::IndexFunction function;
    EXPECT_TRUE(builder->Finish(&function).ok());
    return small_.Apply(&graph(), std::move(function), inputs);
  }

  shape_reduction::SmallProblem small_;
};

TEST_F(CopiesTest, APartIsTheTensor) {
  const TensorId x = Input("x", {8}), part = Matrix(x, 2, 2), computed = Apply("neg", {x});
  const auto first = FirstOfCopies(graph());
  EXPECT_EQ(first[part], x);
  EXPECT_EQ(first[computed], computed);
}

TEST_F(CopiesTest, APartOfWhatWasJoinedIsThePiece) {
  const TensorId x = Input("x", {4}), y = Input("y", {8});
  const TensorId bucket = Joined(x, y), of_x = Matrix(bucket, 0, 2), of_y = Matrix(bucket, 4, 4);
  const TensorId again = Matrix(Joined(bucket, x), 6, 2);
  const auto first = FirstOfCopies(graph());
  EXPECT_EQ(first[bucket], bucket);
  EXPECT_EQ(first[of_x], x);
  EXPECT_EQ(first[of_y], y);
  EXPECT_EQ(first[again], y);
}

TEST_F(CopiesTest, APartOfSeveralIsNoneOfThem) {
  const TensorId x = Input("x", {4}), y = Input("y", {8});
  const TensorId both = Matrix(Joined(x, y), 2, 3);
  EXPECT_EQ(FirstOfCopies(graph())[both], both);
}

}  // namespace
}  // namespace planproof::stages
