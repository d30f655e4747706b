// Inputs for which everything is defined: what an optimizer's state has to be.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace planproof::shape_reduction
