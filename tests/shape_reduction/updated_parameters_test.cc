// Which inputs are parameters where a model does not say so.
#include "shape_reduction/updated_parameters.h"

#include <gtest/gtest.h>

#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::TensorId;
using sdfg::TensorRole;

class UpdatedParameters : public testing::Test {
 protected:
  // x and w are read; w - x is required by way of a copy, and so is x + x of another shape.
  void Require(TensorRole role_of_x) {
    sdfg::Graph* model = &small_.problem.logical;
    x_ = small_.Logical("x", {4}, role_of_x);
    w_ = small_.Logical("w", {4});
    const TensorId product = small_.Apply(model, Instantiate("mul", {{4}, {4}}), {x_, x_});
    const TensorId step = small_.Apply(model, Instantiate("sub", {{4}, {4}}), {w_, product});
    const TensorId result = small_.Apply(model, Instantiate("identity", {{4}}), {step});
    const TensorId held = small_.Slice(w_, {0}, {4});
    small_.Require(held, result, {0});
  }

  SmallProblem small_;
  TensorId x_ = sdfg::kNone, w_ = sdfg::kNone;
};

TEST_F(UpdatedParameters, AreInputsOfWhichANewValueIsRequired) {
  Require(TensorRole::kInput);
  const auto named = WithUpdatedParameters(small_.problem);
  ASSERT_TRUE(named.has_value());
  EXPECT_EQ(named->logical.tensors[w_].role, TensorRole::kParameter);
  EXPECT_EQ(named->logical.tensors[x_].role, TensorRole::kInput);
  EXPECT_EQ(small_.problem.logical.tensors[w_].role, TensorRole::kInput);
}

TEST_F(UpdatedParameters, AModelThatNamesAParameterMeansAllOfThem) {
  Require(TensorRole::kParameter);
  EXPECT_FALSE(WithUpdatedParameters(small_.problem).has_value());
}

}  // namespace
}  // namespace planproof::shape_reduction
