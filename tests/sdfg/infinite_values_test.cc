// Where -infinity may come from, followed through graphs.
#include "sdfg/infinite_values.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sdfg/collectives.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {
namespace {

class InfiniteValues : public testing::Test {
 protected:
  InfiniteValues() { scores_ = Added(); }

  TensorId Added() {
    Tensor tensor;
    tensor.name = absl::StrCat("t", graph_.tensors.size());
    tensor.shape = {4, 4};
    tensor.dtype = DType::kFloat32;
    return graph_.AddTensor(std::move(tensor));
  }

  std::vector<TensorId> Apply(IndexFunction function, std::vector<TensorId> operands) {
    Operator op;
    op.inputs = std::move(operands);
    for (size_t k = 0; k < function.outputs.size(); ++k) op.outputs.push_back(Added());
    op.function = graph_.Intern(std::move(function));
    op.devices = {0};
    const std::vector<TensorId> outputs = op.outputs;
    graph_.AddOperator(std::move(op));
    return outputs;
  }

  // y[i, j] = value of x and z.
  TensorId Of(const std::string& value, TensorId x, TensorId z) {
    return Outputs(absl::StrCat("y[i, j] = ", value), x, z)[0];
  }

  std::vector<TensorId> Outputs(const std::string& outputs, TensorId x, TensorId z) {
    OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
    const absl::Status status = library.AddDeclarations(
        absl::StrCat("op f(x[i, j], z[i, j]) ties first -> ", outputs), "test");
    EXPECT_TRUE(status.ok()) << status;
    std::vector<Operand> operands(2);
    for (Operand& operand : operands) {
      operand.shape = {4, 4};
      operand.dtype = DType::kFloat32;
    }
    absl::StatusOr<IndexFunction> function = library.Instantiate("f", operands, {});
    EXPECT_TRUE(function.ok()) << function.status();
    if (!function.ok()) return {kNone, kNone};
    return Apply(*std::move(function), {x, z});
  }

  bool MayBe(TensorId t) const { return MayBeInfinite(graph_)[t]; }

  Graph graph_;
  TensorId scores_ = kNone;
};

TEST_F(InfiniteValues, AMaskMakesThemAndInputsHaveNone) {
  EXPECT_FALSE(MayBe(scores_));
  EXPECT_FALSE(MayBe(Of("x[i, j] + z[j, i]", scores_, scores_)));
  EXPECT_TRUE(MayBe(Of("where(j <= i, x[i, j], -inf)", scores_, scores_)));
}

TEST_F(InfiniteValues, WhatIsComputedFromThemMayBe) {
  const TensorId masked = Of("where(j <= i, x[i, j], -inf)", scores_, scores_);
  EXPECT_TRUE(MayBe(Of("x[i, j] + z[i, j]", masked, scores_)));
  EXPECT_TRUE(MayBe(Of("x[i, j] + z[i, j]", scores_, masked)));
  EXPECT_TRUE(MayBe(Of("2 * x[i, j]", masked, scores_)));
  EXPECT_TRUE(MayBe(Of("max(x[i, j], z[i, j])", masked, masked)));
  EXPECT_TRUE(MayBe(Of("max(k: x[i, k])", masked, scores_)));
  const TensorId twice = Of("max(x[i, 0], z[i, j])", scores_, masked);
  EXPECT_TRUE(MayBe(Of("x[i, j]", twice, scores_)));
  EXPECT_FALSE(MayBe(Of("x[i, j] + 0 * z[i, j]", scores_, scores_)));
}

TEST_F(InfiniteValues, MovesAndCollectivesPassThemOn) {
  const TensorId masked = Of("where(j <= i, x[i, j], -inf)", scores_, scores_);
  const auto moved = AxisPermute({4, 4}, DType::kFloat32, 0, {3, 0, 1, 2});
  ASSERT_TRUE(moved.ok());
  EXPECT_TRUE(MayBe(Apply(*moved, {masked})[0]));
  EXPECT_FALSE(MayBe(Apply(*moved, {scores_})[0]));
}

TEST_F(InfiniteValues, TheExponentialOfOneIsZero) {
  const TensorId masked = Of("where(j <= i, x[i, j], -inf)", scores_, scores_);
  EXPECT_FALSE(MayBe(Of("exp(x[i, j] - z[i, j])", masked, scores_)));
  EXPECT_FALSE(MayBe(Of("exp(where(j <= i, x[i, j], -inf))", scores_, scores_)));
  EXPECT_TRUE(MayBe(Of("exp(x[i, j]) + x[i, j]", masked, scores_)));
}

TEST_F(InfiniteValues, EachOutputIsToldForItself) {
  const std::vector<TensorId> outputs =
      Outputs("y[i, j] = where(j <= i, x[i, j], -inf) -> w[i, j] = z[i, j]", scores_, scores_);
  EXPECT_TRUE(MayBe(outputs[0]));
  EXPECT_FALSE(MayBe(outputs[1]));
}

}  // namespace
}  // namespace planproof::sdfg
