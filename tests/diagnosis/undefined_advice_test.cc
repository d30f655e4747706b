// A plan without a value where the model has one: which input makes it so, and what to declare.
#include "diagnosis/undefined_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/explanation.h"
#include "stages/claim_table.h"
#include "stages/cone.h"
#include "strategy/verify.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::diagnosis {
namespace {

using sdfg::DType;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using sdfg::TensorId;
using testing::HasSubstr;
using testing::Not;

enum class Counts : uint8_t { kMask, kLabels };

constexpr int64_t kIgnored = -100;

sdfg::IndexFunction Done(IndexFunctionBuilder* b) {
  sdfg::IndexFunction f;
  EXPECT_TRUE(b->Finish(&f).ok());
  return f;
}

DType TypeOf(Counts counts) { return counts == Counts::kLabels ? DType::kInt64 : DType::kFloat32; }

// Element i of the mask, or whether label i counts.
sdfg::ExprId Weight(IndexFunctionBuilder* b, Counts counts, int input, sdfg::ExprId i) {
  if (counts != Counts::kLabels) return b->Element(input, {i});
  const sdfg::ExprId ignored = b->Binary(Op::kIntEq, b->IntElement(input, {i}), b->Int(kIgnored));
  return b->Unary(Op::kIndicator, b->Unary(Op::kNot, ignored));
}

// [1]: the sum over i of x[i] times the weight, or of the weights alone.
sdfg::IndexFunction Total(Counts counts, int64_t size, bool of_values) {
  IndexFunctionBuilder b("total");
  const int x = of_values ? b.AddInput("x", {size}, DType::kFloat32) : -1;
  const int w = b.AddInput("w", {size}, TypeOf(counts));
  const int y = b.AddOutput("y", sdfg::Shape{1}, DType::kFloat32);
  const sdfg::VarId var = b.AddVar("i", size);
  sdfg::ExprId term = Weight(&b, counts, w, b.Index(var));
  if (of_values) term = b.Binary(Op::kMul, term, b.Element(x, {b.Index(var)}));
  b.SetBody(y, b.Reduce(Op::kSum, var, term));
  return Done(&b);
}

// (a c + b d) / (c + d), all of one element.
sdfg::IndexFunction MeanOfMeans() {
  IndexFunctionBuilder b("mean_of_means");
  std::vector<sdfg::ExprId> in;
  for (const char* name : {"a", "b", "c", "d"}) {
    const int input = b.AddInput(name, {1}, DType::kFloat32);
    in.push_back(b.Element(input, {b.Int(0)}));
  }
  const int y = b.AddOutput("y", sdfg::Shape{1}, DType::kFloat32);
  const sdfg::ExprId sum =
      b.Binary(Op::kAdd, b.Binary(Op::kMul, in[0], in[2]), b.Binary(Op::kMul, in[1], in[3]));
  b.SetBody(y, b.Binary(Op::kDiv, sum, b.Binary(Op::kAdd, in[2], in[3])));
  return Done(&b);
}

sdfg::IndexFunction Quotient() {
  IndexFunctionBuilder b("div");
  const int x = b.AddInput("x", {1}, DType::kFloat32);
  const int w = b.AddInput("w", {1}, DType::kFloat32);
  const int y = b.AddOutput("y", sdfg::Shape{1}, DType::kFloat32);
  b.SetBody(y, b.Binary(Op::kDiv, b.Element(x, {b.Int(0)}), b.Element(w, {b.Int(0)})));
  return Done(&b);
}

// z[i, j] = p[i, j] mean
sdfg::IndexFunction Scaled() {
  IndexFunctionBuilder b("scaled");
  const int p = b.AddInput("p", {4, 6}, DType::kFloat32);
  const int mean = b.AddInput("mean", {1}, DType::kFloat32);
  const int z = b.AddOutput("z", sdfg::Shape{4, 6}, DType::kFloat32);
  const sdfg::ExprId i = b.Index(b.OutputDims(z)[0]), j = b.Index(b.OutputDims(z)[1]);
  b.SetBody(z, b.Binary(Op::kMul, b.Element(p, {i, j}), b.Element(mean, {b.Int(0)})));
  return Done(&b);
}

// z = p times the weighted mean of x, which the plan makes from the means of the two halves.
struct WeightedMean : shape_reduction::SmallProblem {
  TensorId weights;  // of the model
  std::vector<sdfg::OperatorId> divisions;

  WeightedMean(Counts counts, int64_t size) {
    const TensorId x = Logical("x", {size}), p = Logical("p", {4, 6});
    weights = Logical("labels", {size}, sdfg::TensorRole::kInput, TypeOf(counts));
    sdfg::Graph *model = &problem.logical, *plan = &problem.parallel;
    const TensorId sum = Apply(model, Total(counts, size, true), {x, weights});
    const TensorId count = Apply(model, Total(counts, size, false), {weights});
    const TensorId mean = Apply(model, Quotient(), {sum, count});
    const TensorId z = Apply(model, Scaled(), {p, mean});
    std::vector<TensorId> means, counted;
    for (const int half : {0, 1}) {
      const TensorId own_x = Slice(x, {half * size / 2}, {size / 2});
      const TensorId own = Slice(weights, {half * size / 2}, {size / 2});
      const TensorId total = Apply(plan, Total(counts, size / 2, true), {own_x, own}, 0);
      counted.push_back(Apply(plan, Total(counts, size / 2, false), {own}, 0));
      means.push_back(Apply(plan, Quotient(), {total, counted.back()}, 0));
      divisions.push_back(plan->tensors[means.back()].producer);
    }
    const TensorId own_p = Slice(p, {0, 0}, {4, 6});
    const TensorId all =
        Apply(plan, MeanOfMeans(), {means[0], means[1], counted[0], counted[1]}, 0);
    const TensorId own_z = Apply(plan, Scaled(), {own_p, all}, 0);
    problem.lineage.resize(plan->tensors.size());
    Require(own_z, z, {0, 0});
  }
};

stages::Result Decide(WeightedMean& small) {
  small.Check();
  return strategy::Verify(small.problem, {});
}

// The tensor without a value has one dimension, the required one two: its relation is no relation
// of the other.
TEST(UndefinedAdvice, ATensorWithoutARelationIsExplainedByItsOperators) {
  WeightedMean small(Counts::kMask, 8);
  small.Check();
  const sdfg::Graph& plan = small.problem.parallel;
  const TensorId without_value = plan.operators[small.divisions[0]].outputs[0];
  shape_reduction::Witness witness;
  witness.outcome = shape_reduction::Witness::Outcome::kConfirmed;
  witness.required = 0;
  witness.parallel_index = witness.logical_index = {3, 5};
  witness.undefined = {without_value, shape_reduction::UndefinedBy::kDivisionByZero};
  const stages::ClaimTable table(small.problem, stages::ConeOfRequired(small.problem));
  const std::vector<stages::Violation> violations = Explain(
      small.problem, table, std::vector<stages::ClaimOutcome>(table.claims().size()), witness, {});
  ASSERT_EQ(violations.size(), 1);
  const stages::Violation& v = violations[0];
  EXPECT_EQ(v.cause, "undefined: division by zero");
  EXPECT_EQ(v.lineage, "");
  EXPECT_EQ(v.at.parallel, without_value);
  EXPECT_EQ(v.stage, small.problem.logical.tensors[small.problem.required[0].lineage.logical].name);
}

TEST(UndefinedAdvice, AMaskThatIsZeroOnARankIsNamed) {
  WeightedMean small(Counts::kMask, 8);
  const stages::Result result = Decide(small);
  ASSERT_NE(result.verdict, stages::Verdict::kProved);
  const stages::Violation& v = result.violations[0];
  EXPECT_THAT(v.advice, HasSubstr("a rank may have no element of labels that counts"));
  EXPECT_THAT(v.advice, HasSubstr("divide by a sum that is never 0"));
  EXPECT_THAT(v.advice, Not(HasSubstr("bounded(")));
}

TEST(UndefinedAdvice, LabelsThatDoNotCountAreToBeBounded) {
  WeightedMean small(Counts::kLabels, 8);
  const stages::Result result = Decide(small);
  ASSERT_NE(result.verdict, stages::Verdict::kProved);
  const stages::Violation& v = result.violations[0];
  EXPECT_THAT(v.advice, HasSubstr("all being -100: bounded(labels, 0, vocabulary)"));
  EXPECT_THAT(v.advice, HasSubstr("divide by a count that is never 0"));
}

// A range with the ignored number in it says that there are such labels.
TEST(UndefinedAdvice, LabelsWhoseRangeIsDeclaredAreNotToBeBounded) {
  WeightedMean small(Counts::kLabels, 8);
  small.problem.premises.push_back(
      {small.weights, lineage::Problem::InputPremise::Kind::kIntegerRange, kIgnored, 10});
  const stages::Result result = Decide(small);
  ASSERT_NE(result.verdict, stages::Verdict::kProved);
  EXPECT_THAT(result.violations[0].advice, HasSubstr("that counts"));
  EXPECT_THAT(result.violations[0].advice, Not(HasSubstr("bounded(")));
}

TEST(UndefinedAdvice, WithAcceptedRestrictionsTheConditionIsListed) {
  WeightedMean small(Counts::kMask, 8);
  small.Check();
  stages::VerifyOptions options;
  options.accept_restrictions = true;
  const stages::Result result = strategy::Verify(small.problem, options);
  EXPECT_EQ(result.verdict, stages::Verdict::kProved);
  EXPECT_FALSE(result.restrictions.empty());
}

TEST(UndefinedAdvice, TheFormOfADivisorIsWhatItAddsUp) {
  for (const Counts counts : {Counts::kMask, Counts::kLabels}) {
    WeightedMean small(counts, 8);
    const DivisorForm form = FormOfDivisor(small.problem, small.divisions);
    const bool labels = counts == Counts::kLabels;
    EXPECT_EQ(form.kind, labels ? DivisorForm::Kind::kCount : DivisorForm::Kind::kSum);
    EXPECT_EQ(form.ignored, labels ? kIgnored : 0);
    ASSERT_NE(form.input, sdfg::kNone);
    EXPECT_EQ(small.problem.lineage[form.input].logical, small.weights);
  }
}

// One element by itself is no count.
TEST(UndefinedAdvice, ADivisorThatAddsNothingUpHasNoForm) {
  shape_reduction::SmallProblem small;
  const TensorId x = small.Logical("x", {1}), y = small.Logical("y", {1});
  const TensorId own_x = small.Slice(x, {0}, {1}), own_y = small.Slice(y, {0}, {1});
  small.Apply(&small.problem.parallel, Quotient(), {own_x, own_y}, 0);
  small.problem.lineage.resize(small.problem.parallel.tensors.size());
  EXPECT_EQ(FormOfDivisor(small.problem, {0}).kind, DivisorForm::Kind::kOther);
  EXPECT_THAT(AdviceForUndefined(small.problem, {0}), HasSubstr("--accept-restrictions"));
}

}  // namespace
}  // namespace planproof::diagnosis
