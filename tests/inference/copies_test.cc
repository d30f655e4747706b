// What is moved stays the tensor that it was, also through a bucket.
#include "inference/copies.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sdfg/index_function.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::inference {
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

  TensorId Matrix(TensorId vector, int64_t start, int64_t rows) {
    const int64_t size = graph().tensors[vector].shape[0];
    return small_.Apply(&graph(), shape_reduction::RowsOf(size, start, rows), {vector});
  }

  TensorId Joined(TensorId a, TensorId b) {
    const int64_t first = graph().tensors[a].shape[0], second = graph().tensors[b].shape[0];
    return small_.Apply(&graph(), shape_reduction::Join(first, second), {a, b});
  }

  sdfg::Graph& graph() { return small_.problem.logical; }

 private:
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
}  // namespace planproof::inference
