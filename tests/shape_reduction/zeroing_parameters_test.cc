// Which parameters make a tensor zero, and that they do.
#include "shape_reduction/zeroing_parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sdfg/operator_library.h"
#include "tests/shape_reduction/reduced_testing.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::TensorId;

constexpr const char* kLinear =
    "linear_of(x[s, h], w[o, h]) -> y[s, o] = sum(h: x[s, h] * w[o, h])";
constexpr const char* kBiased =
    "biased(x[s, h], w[o, h], b[o]) -> y[s, o] = sum(h: x[s, h] * w[o, h]) + b[o]";
constexpr const char* kSilu = "silu_of(x[s, h]) -> y[s, h] = x[s, h] / (1 + exp(-x[s, h]))";
constexpr const char* kProduct = "product_of(a[s, h], b[s, h]) -> y[s, h] = a[s, h] * b[s, h]";
constexpr const char* kSum = "sum_of(a[s, h], b[s, h]) -> y[s, h] = a[s, h] + b[s, h]";

class ZeroingParametersTest : public testing::Test {
 protected:
  TensorId Parameter(const std::string& name, const sdfg::Shape& shape) {
    const TensorId id = small_.Logical(name, shape);
    graph().tensors[id].role = sdfg::TensorRole::kParameter;
    return id;
  }
  TensorId Apply(const std::string& declaration, const std::vector<TensorId>& inputs) {
    sdfg::OperatorLibrary library = sdfg::OperatorLibrary::CopyOfBuiltIn();
    const absl::Status added = library.AddDeclarations("op " + declaration + "\n", "test.op");
    EXPECT_TRUE(added.ok()) << added;
    std::vector<sdfg::Operand> operands(inputs.size());
    for (size_t k = 0; k < inputs.size(); ++k) {
      operands[k].shape = graph().tensors[inputs[k]].shape;
      operands[k].dtype = sdfg::DType::kFloat32;
    }
    auto function = library.Instantiate(declaration.substr(0, declaration.find('(')), operands, {});
    EXPECT_TRUE(function.ok()) << function.status();
    return small_.Apply(&graph(), *function, inputs);
  }
  sdfg::Graph& graph() { return small_.problem.logical; }

  // Fails unless zeros in the parameters make the tensor zero, all else being what it may, and
  // other zeros do not.
  void CheckZero(TensorId tensor) {
    const auto found = FindZeroingParameters(graph(), tensor);
    ASSERT_TRUE(found.has_value());
    Random random(11);
    std::map<TensorId, sdfg::DenseTensor> inputs;
    for (size_t t = 0; t < graph().tensors.size(); ++t) {
      if (graph().tensors[t].producer != sdfg::kNone) continue;
      BlockTensor<double> numbers;
      for (const int64_t extent : graph().tensors[t].shape)
        numbers.dims.push_back(std::make_shared<const DimPartition>(DimPartition::Full(extent)));
      for (int64_t k = 0; k < numbers.Blocks(); ++k)
        numbers.values.push_back(static_cast<double>(Pick(&random, 1, 9)) / 4);
      inputs[static_cast<TensorId>(t)] = Expand(numbers);
    }
    const auto largest = [&](const std::set<TensorId>& zero) {
      std::map<TensorId, sdfg::DenseTensor> chosen = inputs;
      for (const TensorId id : zero) {
        for (double& value : chosen[id].data) value = 0;
      }
      const auto values = sdfg::EvaluateDenseGraph(graph(), chosen);
      EXPECT_TRUE(values.ok()) << values.status();
      double most = 0;
      for (const double value : (*values)[tensor].data) most = std::max(most, std::fabs(value));
      return most;
    };
    EXPECT_EQ(largest(found->outer), 0);
    for (const TensorId id : found->outer) {  // none can be spared
      std::set<TensorId> fewer = found->outer;
      fewer.erase(id);
      EXPECT_GT(largest(fewer), 0);
    }
  }

  SmallProblem small_;
};

TEST_F(ZeroingParametersTest, OfALinearOperator) {
  const TensorId x = small_.Logical("x", {3, 4}), w = Parameter("w", {5, 4});
  const TensorId y = Apply(kLinear, {x, w});
  CheckZero(y);
  EXPECT_EQ(FindZeroingParameters(graph(), y)->outer, std::set<TensorId>{w});
  EXPECT_TRUE(FindZeroingParameters(graph(), y)->inner.empty());
}

TEST_F(ZeroingParametersTest, OfABiasToo) {
  const TensorId x = small_.Logical("x", {3, 4}), w = Parameter("w", {5, 4});
  const TensorId b = Parameter("b", {5}), y = Apply(kBiased, {x, w, b});
  CheckZero(y);
  EXPECT_EQ(FindZeroingParameters(graph(), y)->outer, (std::set<TensorId>{w, b}));
}

// The gradient of the last weight is zero where what it is multiplied with is.
TEST_F(ZeroingParametersTest, InnerOnesAreThoseOfTheOtherFactor) {
  const TensorId x = small_.Logical("x", {3, 4});
  const TensorId gate = Parameter("gate", {5, 4}), up = Parameter("up", {5, 4});
  const TensorId b = Parameter("b", {5}), down = Parameter("down", {4, 5});
  const TensorId gated =
      Apply(kProduct, {Apply(kSilu, {Apply(kLinear, {x, gate})}), Apply(kBiased, {x, up, b})});
  const TensorId y = Apply(kLinear, {gated, down});
  CheckZero(gated);
  CheckZero(y);
  EXPECT_EQ(FindZeroingParameters(graph(), y)->outer, std::set<TensorId>{down});
  EXPECT_EQ(FindZeroingParameters(graph(), y)->inner, std::set<TensorId>{gate});
}

TEST_F(ZeroingParametersTest, NothingWhereASummandHasNone) {
  const TensorId x = small_.Logical("x", {3, 4}), w = Parameter("w", {4, 4});
  const TensorId y = Apply(kLinear, {x, w});
  EXPECT_FALSE(FindZeroingParameters(graph(), Apply(kSum, {y, x})).has_value());
  EXPECT_FALSE(FindZeroingParameters(graph(), x).has_value());
  CheckZero(Apply(kSum, {y, y}));
}

// exp(0) is 1, and a selection of what is not zero is not, either.
TEST_F(ZeroingParametersTest, NothingWhereZeroBecomesSomethingElse) {
  const TensorId x = small_.Logical("x", {3, 4}), w = Parameter("w", {4, 4});
  const TensorId y = Apply(kLinear, {x, w});
  EXPECT_FALSE(
      FindZeroingParameters(graph(), Apply("exp_of(x[s, h]) -> y[s, h] = exp(x[s, h])", {y})));
  EXPECT_FALSE(FindZeroingParameters(
      graph(), Apply("mask_of(x[s, h]) -> y[s, h] = where(s < h, x[s, h], -1)", {y})));
  CheckZero(Apply("mask_of(x[s, h]) -> y[s, h] = where(s < h, x[s, h], 0)", {y}));
}

TEST_F(ZeroingParametersTest, VanishesWithOneFactor) {
  const TensorId x = small_.Logical("x", {3, 4}), w = Parameter("w", {5, 4});
  const TensorId b = Parameter("b", {5});
  const auto producer = [&](TensorId id) {
    return graph().operators[graph().tensors[id].producer];
  };
  const TensorId linear = Apply(kLinear, {x, w}), biased = Apply(kBiased, {x, w, b});
  const TensorId silu = Apply(kSilu, {x});
  EXPECT_TRUE(VanishesWith(producer(linear), 0));
  EXPECT_TRUE(VanishesWith(producer(linear), 1));
  EXPECT_FALSE(VanishesWith(producer(biased), 1));
  EXPECT_TRUE(VanishesWith(producer(silu), 0));
}

}  // namespace
}  // namespace planproof::shape_reduction
