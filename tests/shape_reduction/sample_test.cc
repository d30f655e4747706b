// Inputs for which everything is defined: what an optimizer's state has to be.
#include <gtest/gtest.h>

#include "sdfg/operator_library.h"
#include "shape_reduction/replay.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::TensorId;

// The root of v + d d, d = exp(x) - exp(x): an enclosure of d has numbers of both signs, and so has
// that of d d, so v must not be 0. With a state for each of many parameters it seldom happens that
// none of them is, unless values are chosen for it.
TEST(Sample, SecondMomentsArePositive) {
  SmallProblem small;
  sdfg::Graph* model = &small.problem.logical;
  const auto apply = [&](const char* function, const std::vector<TensorId>& operands) {
    return small.Apply(model, Instantiate(function, std::vector<sdfg::Shape>(operands.size(), {4})),
                       operands);
  };
  for (int k = 0; k < 60; ++k) {
    const TensorId x = small.Logical("x", {4}), v = small.Logical("v", {4});
    small.problem.premises.push_back({v, lineage::Problem::InputPremise::Kind::kNonNegative});
    const TensorId difference = apply("sub", {apply("exp", {x}), apply("exp", {x})});
    const TensorId root =
        apply("sqrt", {apply("add", {v, apply("mul", {difference, difference})})});
    sdfg::Graph* plan = &small.problem.parallel;
    const TensorId xs = small.Slice(x, {0}, {4}), vs = small.Slice(v, {0}, {4});
    const auto on_device = [&](const char* function, const std::vector<TensorId>& operands) {
      return small.Apply(
          plan, Instantiate(function, std::vector<sdfg::Shape>(operands.size(), {4})), operands, 0);
    };
    const TensorId d = on_device("sub", {on_device("exp", {xs}), on_device("exp", {xs})});
    small.Require(on_device("sqrt", {on_device("add", {vs, on_device("mul", {d, d})})}), root, {0});
  }
  small.Check();
  const Sample sample = FindSample(small.problem, 4, 30);
  EXPECT_EQ(sample.outcome, Sample::Outcome::kFound) << sample.message;
}

// x + w norm(exp(x)), 200 times. What enclosures are wide by, each norm multiplies, most where all
// elements are equal; with w next to zero only the first one's width is left.
TEST(Sample, IsFoundHoweverDeepAModelOfResidualBranchesIs) {
  constexpr int kLayers = 200;
  SmallProblem small;
  sdfg::Operand vector;
  vector.shape = {4};
  vector.dtype = sdfg::DType::kFloat32;
  const auto norm = sdfg::OperatorLibrary::BuiltIn().Instantiate(
      "layer_norm", {vector}, {{"normalized_shape", std::vector<int64_t>{4}}});
  ASSERT_TRUE(norm.ok()) << norm.status();
  TensorId x = small.Logical("x", {4}), on_device = small.Slice(x, {0}, {4});
  for (int k = 0; k < kLayers; ++k) {
    const TensorId w = small.Logical("w", {4}, sdfg::TensorRole::kParameter);
    const TensorId held = small.Slice(w, {0}, {4});
    const auto layer = [&](sdfg::Graph* graph, TensorId input, TensorId weight, int device) {
      const auto apply = [&](const char* function, TensorId a, TensorId b) {
        return small.Apply(graph, Instantiate(function, {{4}, {4}}), {a, b}, device);
      };
      const TensorId exp = small.Apply(graph, Instantiate("exp", {{4}}), {input}, device);
      const TensorId normal = small.Apply(graph, *norm, {exp}, device);
      return apply("add", input, apply("mul", weight, normal));
    };
    x = layer(&small.problem.logical, x, w, -1);
    on_device = layer(&small.problem.parallel, on_device, held, 0);
  }
  small.Require(on_device, x, {0});
  small.Check();
  const Sample sample = FindSample(small.problem, 2, 30);
  EXPECT_EQ(sample.outcome, Sample::Outcome::kFound) << sample.message;
}

}  // namespace
}  // namespace planproof::shape_reduction
