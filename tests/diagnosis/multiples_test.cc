// The operator at which a factor comes in, also where its result is lost on the way.
#include "diagnosis/multiples.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lineage/multiple.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::diagnosis {
namespace {

using sdfg::TensorId;

// The plan: a = -x, b = exp(a), c = -b, all of the model.
class MultiplesTest : public testing::Test {
 protected:
  MultiplesTest() {
    x_ = small_.Logical("x", {4});
    TensorId logical = x_, parallel = small_.Slice(x_, {0}, {4});
    for (const char* function : {"neg", "exp", "neg"}) {
      const sdfg::IndexFunction f = shape_reduction::Instantiate(function, {{4}});
      logical = small_.Apply(&problem().logical, f, {logical});
      parallel = small_.Apply(&problem().parallel, f, {parallel}, 0);
      small_.Claim(parallel, logical, {0});
      of_plan_.push_back(parallel);
      of_model_.push_back(logical);
    }
  }

  void Becomes(int which, const solver::Rational& factor) {
    const TensorId twice = lineage::AddMultiple(of_model_[which], factor, &problem().logical);
    problem().lineage[of_plan_[which]].logical = twice;
  }

  sdfg::OperatorId Producer(int which) {
    return problem().parallel.tensors[of_plan_[which]].producer;
  }

  lineage::Problem& problem() { return small_.problem; }

  shape_reduction::SmallProblem small_;
  TensorId x_;
  std::vector<TensorId> of_model_, of_plan_;
};

TEST_F(MultiplesTest, WhereNothingIsScaledAllFactorsAreOne) {
  const Multiples multiples(problem());
  EXPECT_TRUE(multiples.Factor(of_plan_[1]).IsOne());
  EXPECT_FALSE(multiples.AreReadBy(problem().parallel.operators[Producer(2)]));
}

TEST_F(MultiplesTest, TheFactorComesInAtTheFirstThatHasIt) {
  Becomes(1, 2);
  Becomes(2, 2);
  const Multiples multiples(problem());
  EXPECT_EQ(multiples.Factor(of_plan_[2]), solver::Rational(2));
  EXPECT_TRUE(multiples.AreReadBy(problem().parallel.operators[Producer(2)]));
  EXPECT_EQ(multiples.Origin(of_plan_[2]), Producer(1));
}

TEST_F(MultiplesTest, WhatIsNoTensorOfTheModelIsPassedOver) {
  Becomes(0, 2);
  problem().lineage[of_plan_[1]] = {};
  Becomes(2, 2);
  EXPECT_EQ(Multiples(problem()).Origin(of_plan_[2]), Producer(0));
}

}  // namespace
}  // namespace planproof::diagnosis
