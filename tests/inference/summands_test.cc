// What is read only to be added up.
#include "inference/summands.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sdfg/collectives.h"
#include "sdfg/graph.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::inference {
namespace {

using sdfg::OperatorKind;
using sdfg::TensorId;

class SummandsTest : public testing::Test {
 protected:
  SummandsTest() {
    g_.axes.push_back({.name = "microbatch", .extent = 4, .kind = sdfg::AxisKind::kMicrobatch});
    x_ = Tensor("x", {4, 8}, {0});
    part_ = Apply("part", Neg(), {x_}, {0});
  }

  TensorId Tensor(const std::string& name, sdfg::Shape shape, std::vector<sdfg::AxisId> axes) {
    sdfg::Tensor tensor;
    tensor.name = name;
    tensor.shape = std::move(shape);
    tensor.axes = std::move(axes);
    tensor.dtype = sdfg::DType::kFloat32;
    return g_.AddTensor(tensor);
  }

  TensorId Apply(const std::string& name, sdfg::IndexFunction function,
                 const std::vector<TensorId>& operands, std::vector<sdfg::AxisId> axes,
                 OperatorKind kind = OperatorKind::kCompute) {
    const sdfg::Shape shape = function.outputs[0].shape(function.vars);
    sdfg::Operator op;
    op.name = name;
    op.kind = kind;
    op.lifted = false;
    op.function = g_.Intern(std::move(function));
    op.inputs = operands;
    op.outputs = {Tensor(name, shape, std::move(axes))};
    g_.AddOperator(op);
    return op.outputs[0];
  }

  sdfg::IndexFunction Neg() { return shape_reduction::Instantiate("neg", {{4, 8}}); }
  sdfg::IndexFunction Sum(int dim) {
    return *sdfg::AxisReduce({4, 8}, sdfg::DType::kFloat32, dim, sdfg::ReduceKind::kSum);
  }
  bool OnlyAdded(TensorId t) {
    stages::Cone cone;
    cone.tensors.assign(g_.tensors.size(), true);
    cone.operators = operators_.empty() ? std::vector<bool>(g_.operators.size(), true) : operators_;
    return OnlyAddedUp(g_, cone)[t];
  }

  sdfg::Graph g_;
  std::vector<bool> operators_;  // in the cone; all if empty
  TensorId x_, part_;
};

TEST_F(SummandsTest, WhatNothingReadsIsNot) { EXPECT_FALSE(OnlyAdded(part_)); }

TEST_F(SummandsTest, WhatIsReducedOverAnAxisIs) {
  Apply("sum", Sum(0), {part_}, {});
  EXPECT_TRUE(OnlyAdded(part_));
  EXPECT_FALSE(OnlyAdded(x_));
}

// A bias's gradient is a sum of a tensor of the model.
TEST_F(SummandsTest, WhatIsSummedOverADimensionIsNot) {
  Apply("rows", Sum(1), {part_}, {0});
  EXPECT_FALSE(OnlyAdded(part_));
}

TEST_F(SummandsTest, WhatACollectiveReducesIs) {
  for (const OperatorKind kind : {OperatorKind::kAllReduce, OperatorKind::kReduceScatter,
                                  OperatorKind::kReduce, OperatorKind::kAccumulate}) {
    const TensorId other = Apply("other", Neg(), {x_}, {0});
    Apply("reduced", Neg(), {other}, {0}, kind);
    EXPECT_TRUE(OnlyAdded(other));
  }
  Apply("gathered", Neg(), {part_}, {0}, OperatorKind::kAllGather);
  EXPECT_FALSE(OnlyAdded(part_));
}

TEST_F(SummandsTest, WhatIsReadOtherwiseTooIsNot) {
  Apply("sum", Sum(0), {part_}, {});
  Apply("other", Neg(), {part_}, {0});
  EXPECT_FALSE(OnlyAdded(part_));
  operators_ = {true, true, false};  // unless nothing that is required depends on it
  EXPECT_TRUE(OnlyAdded(part_));
}

}  // namespace
}  // namespace planproof::inference
