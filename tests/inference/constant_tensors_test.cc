// What is the same number for all inputs.
#include "inference/constant_tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "inference/candidates.h"
#include "sdfg/index_function.h"
#include "sdfg/native_operators.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::inference {
namespace {

using sdfg::TensorId;

// A recurrent cell begins in zeros, which are its first state: x W + 0 U.
class ConstantTensorsTest : public testing::Test {
 protected:
  ConstantTensorsTest() {
    x_ = small_.Logical("x", {2, 3});
    u_ = small_.Logical("u", {3, 3});
    sdfg::IndexFunctionBuilder zeros("full");
    zeros.SetBody(zeros.AddOutput("y", sdfg::Shape{2, 3}, sdfg::DType::kFloat32), zeros.Real(0));
    zeros_ = Apply(*sdfg::Finish(&zeros), {});
    product_ = Apply(shape_reduction::Instantiate("matmul", {{2, 3}, {3, 3}}), {zeros_, u_});
    state_ = Apply(shape_reduction::Instantiate("add", {{2, 3}, {2, 3}}), {x_, product_});
  }
  TensorId Apply(const sdfg::IndexFunction& function, const std::vector<TensorId>& operands) {
    return small_.Apply(&small_.problem.logical, function, operands);
  }

  shape_reduction::SmallProblem small_;
  TensorId x_, u_, zeros_, product_, state_;
};

TEST_F(ConstantTensorsTest, AreWhatIsMadeOfZerosToo) {
  const std::vector<bool> constant = ConstantTensors(small_.problem);
  EXPECT_TRUE(constant[zeros_]);
  EXPECT_TRUE(constant[product_]);
  EXPECT_FALSE(constant[state_]);
  EXPECT_FALSE(constant[x_]);
  EXPECT_FALSE(constant[u_]);
}

TEST_F(ConstantTensorsTest, NeedNothingToBeDetermined) {
  std::vector<bool> constant(small_.problem.logical.tensors.size(), false);
  Operands operands;
  const auto from_x = [&] {
    Candidates candidates(small_.problem.logical, Buckets::kAreOneTensor, Opening::kLeast, constant,
                          &operands);
    const std::vector<TensorId> found = candidates.DeterminedBy({x_});
    return std::count(found.begin(), found.end(), state_);
  };
  EXPECT_EQ(from_x(), 0);  // it waits for u
  constant[product_] = true;
  EXPECT_EQ(from_x(), 1);
}

}  // namespace
}  // namespace planproof::inference
