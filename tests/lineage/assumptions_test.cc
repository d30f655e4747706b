// What an assumption does to a problem, and which ones a problem cannot have.
#include "lineage/assumptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/shape_reduction/small_problem.h"

namespace planproof::lineage {
namespace {

using sdfg::kNone;
using sdfg::TensorId;
using shape_reduction::Instantiate;
using testing::HasSubstr;

// y = -exp(x); the plan computes abs(x) for exp(x).
class AssumptionsTest : public testing::Test {
 protected:
  AssumptionsTest() {
    small_.Claim(h_, model_h_, {0});
    small_.Require(y_, model_y_, {0});
    small_.Check();
  }
  TensorId Apply(sdfg::Graph* graph, const char* function, TensorId operand) {
    return small_.Apply(graph, Instantiate(function, {{4}}), {operand},
                        graph == &small_.problem.parallel ? 0 : -1);
  }
  Assumption Of(TensorId tensor, TensorId logical) {
    Assumption assumption;
    assumption.tensor = tensor;
    assumption.lineage = small_.problem.lineage[h_];
    assumption.lineage.logical = logical;
    assumption.reason = "it is near enough";
    assumption.place = "assume.json:3";
    return assumption;
  }
  std::string Said(const std::vector<Assumption>& assumptions) {
    const auto assumed = Assume(small_.problem, assumptions);
    return assumed.ok() ? "assumed" : std::string(assumed.status().message());
  }

  shape_reduction::SmallProblem small_;
  sdfg::Graph* model_ = &small_.problem.logical;
  sdfg::Graph* plan_ = &small_.problem.parallel;
  const TensorId x_ = small_.Logical("x", {4}), part_ = small_.Slice(x_, {0}, {4});
  const TensorId model_h_ = Apply(model_, "exp", x_), model_y_ = Apply(model_, "neg", model_h_);
  const TensorId h_ = Apply(plan_, "abs", part_), y_ = Apply(plan_, "neg", h_);
};

TEST_F(AssumptionsTest, TheTensorIsGivenAndItsOperatorMakesAnother) {
  const auto assumed = Assume(small_.problem, {Of(h_, model_h_)});
  ASSERT_TRUE(assumed.ok()) << assumed.status();
  const Problem& p = assumed->problem;
  EXPECT_EQ(p.parallel.tensors[h_].producer, kNone);
  EXPECT_EQ(p.lineage[h_].logical, model_h_);
  EXPECT_EQ(p.lineage[h_].provenance, Provenance::kAssumed);
  ASSERT_EQ(assumed->made.size(), 1u);
  const TensorId made = assumed->made[0];
  EXPECT_EQ(p.lineage[made].kind, LineageKind::kNone);
  EXPECT_EQ(p.parallel.operators[p.parallel.tensors[made].producer].outputs[0], made);
  EXPECT_EQ(p.parallel.operators[p.parallel.tensors[y_].producer].inputs[0], h_);
  EXPECT_EQ(p.parallel.operators.size(), plan_->operators.size()) << "its conditions still count";
  EXPECT_TRUE(AssumesRelations(p));
  EXPECT_FALSE(AssumesRelations(small_.problem));
}

TEST_F(AssumptionsTest, WhatIsReadBehindItIsRequired) {
  const TensorId model_z = Apply(model_, "neg", model_y_);
  const TensorId z = Apply(plan_, "neg", Apply(plan_, "identity", y_));
  small_.Claim(y_, model_y_, {0});
  small_.problem.required.clear();
  const TensorId model_end = Apply(model_, "exp", model_z), end = Apply(plan_, "exp", z);
  small_.Require(end, model_end, {0});
  small_.Check();
  const auto assumed = Assume(small_.problem, {Of(z, model_z)});
  ASSERT_TRUE(assumed.ok()) << assumed.status();
  ASSERT_EQ(assumed->problem.required.size(), 2u);
  EXPECT_EQ(assumed->problem.required[1].parallel, y_) << "the next tensor that is related";
  EXPECT_EQ(assumed->problem.required[1].lineage.logical, model_y_);
  const auto both = Assume(small_.problem, {Of(z, model_z), Of(y_, model_y_)});
  ASSERT_TRUE(both.ok()) << both.status();
  ASSERT_EQ(both->problem.required.size(), 2u);
  EXPECT_EQ(both->problem.required[1].parallel, h_) << "y is assumed";
}

TEST_F(AssumptionsTest, WhatIsRequiredIsProvedAndNotAssumed) {
  EXPECT_THAT(Said({Of(y_, model_y_)}), HasSubstr("is a required output: assumed, nothing"));
  EXPECT_THAT(Said({Of(y_, model_y_)}), HasSubstr("assume.json:3: "));
}

TEST_F(AssumptionsTest, WhatIsMovedIntoAnOutputIsNotAssumed) {
  const TensorId moved = Apply(plan_, "identity", h_);
  small_.Require(moved, model_h_, {0});
  small_.Check();
  EXPECT_THAT(Said({Of(h_, model_h_)}), HasSubstr("is moved into a required output as it is"));
}

TEST_F(AssumptionsTest, AnInputIsNotAssumed) {
  EXPECT_THAT(Said({Of(part_, x_)}), HasSubstr("is an input of the plan"));
}

// The model may be defined where that tensor is not.
TEST_F(AssumptionsTest, WhatTheModelDoesNotNeedIsNoStandIn) {
  const TensorId aside = Apply(model_, "log", x_);
  EXPECT_THAT(Said({Of(h_, aside)}), HasSubstr("no required output of the model depends on it"));
  EXPECT_EQ(Said({Of(h_, x_)}), "assumed") << "an input of the model has a value";
}

TEST_F(AssumptionsTest, OneTensorIsAssumedOnce) {
  EXPECT_THAT(Said({Of(h_, model_h_), Of(h_, model_h_)}), HasSubstr("is assumed twice"));
}

TEST_F(AssumptionsTest, TensorsThatDoNotExistAndPartialTermsAreRefused) {
  EXPECT_THAT(Said({Of(1000, model_h_)}), HasSubstr("relates a tensor of the plan"));
  EXPECT_THAT(Said({Of(h_, 1000)}), HasSubstr("relates a tensor of the plan"));
  EXPECT_THAT(Said({Of(-1, model_h_)}), HasSubstr("relates a tensor of the plan"));
  Assumption partial = Of(h_, model_h_);
  partial.lineage.kind = LineageKind::kPartialSum;
  EXPECT_THAT(Said({partial}), HasSubstr("relates a tensor of the plan"));
}

}  // namespace
}  // namespace planproof::lineage
