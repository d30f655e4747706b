// Ties within one declaration: nested maxima of one kind are one maximum, whose values that tie
// share the derivative by the rule, however they are grouped. Operators that are applied one after
// another are differentiated one by one, as PyTorch does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sdfg/dense_evaluator.h"
#include "sdfg/differentiate.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

testing::Matcher<std::vector<double>> Near(const std::vector<double>& values) {
  return testing::Pointwise(testing::DoubleNear(1e-12), values);
}

using Gradients = std::vector<std::vector<double>>;

// The gradients of all operands, for an output gradient of ones. `declaration` declares "f".
Gradients GradientsOf(const std::string& declaration, const std::vector<DenseTensor>& inputs) {
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  const absl::Status status = library.AddDeclarations(declaration, "my.op");
  EXPECT_TRUE(status.ok()) << status;
  std::vector<Operand> operands;
  std::vector<int> wrt;
  for (const DenseTensor& input : inputs) {
    Operand operand;
    operand.shape = input.shape;
    operand.dtype = DType::kFloat64;
    wrt.push_back(static_cast<int>(operands.size()));
    operands.push_back(operand);
  }
  const absl::StatusOr<IndexFunction> function = library.Instantiate("f", operands, {});
  if (!function.ok()) {
    ADD_FAILURE() << function.status();
    return {};
  }
  const absl::StatusOr<IndexFunction> derivative = Differentiate(*function, wrt, {0});
  if (!derivative.ok()) {
    ADD_FAILURE() << derivative.status();
    return {};
  }
  std::vector<DenseTensor> all = inputs;
  DenseTensor seed{function->outputs[0].shape(function->vars), {}};
  seed.data.assign(ElementCount(seed.shape), 1);
  all.push_back(seed);
  const auto results = EvaluateDense(*derivative, all);
  EXPECT_TRUE(results.ok()) << results.status();
  Gradients gradients;
  for (const DenseTensor& result : *results) gradients.push_back(result.data);
  return gradients;
}

std::vector<double> GradientOf(const std::string& declaration, const DenseTensor& input) {
  const Gradients gradients = GradientsOf(declaration, {input});
  return gradients.empty() ? std::vector<double>() : gradients[0];
}

// Rows with one, two and no element that attains the maximum, 5.
const DenseTensor kRows{{3, 3}, {5, 1, 2, 5, 5, 0, 3, 4, 2}};

TEST(Ties, NestedReductionsAreOneReduction) {
  const double third = 1.0 / 3;
  const std::vector<double> joint = {third, 0, 0, third, third, 0, 0, 0, 0};
  for (const char* body :
       {"max(i, j: x[i, j])", "max(i: max(j: x[i, j]))", "max(j: max(i: x[i, j]))"}) {
    EXPECT_THAT(GradientOf(std::string("op f(x[i, j]) ties even -> y[1] = ") + body, kRows),
                Near(joint))
        << body;
  }
  // As torch.amax over both dimensions; through a definition, over a pack.
  EXPECT_THAT(GradientOf("op f(x[i, j]) ties even let row[k] = max(j: x[k, j]) "
                         "-> y[1] = max(i: row[i])",
                         kRows),
              Near(joint));
  EXPECT_THAT(GradientOf("op f(x[r..]) ties even -> y[1] = max(r..: x[r..])", kRows), Near(joint));
}

TEST(Ties, FirstIsTheFirstInTheOrderOfTheIndicesHoweverTheyAreNested) {
  const std::vector<double> first = {1, 0, 0, 0, 0, 0, 0, 0, 0};
  for (const char* body : {"max(i, j: x[i, j])", "max(i: max(j: x[i, j]))"}) {
    EXPECT_EQ(GradientOf(std::string("op f(x[i, j]) ties first -> y[1] = ") + body, kRows), first);
  }
  const DenseTensor late{{2, 3}, {1, 7, 7, 7, 7, 0}};
  EXPECT_THAT(GradientOf("op f(x[i, j]) ties first -> y[1] = max(i: max(j: x[i, j]))", late),
              ElementsAre(0, 1, 0, 0, 0, 0));
  // Columns first: the first column that attains it, then its first row.
  EXPECT_THAT(GradientOf("op f(x[i, j]) ties first -> y[1] = max(j: max(i: x[i, j]))", late),
              ElementsAre(0, 0, 0, 1, 0, 0));
  EXPECT_THAT(GradientOf("op f(x[i, j]) ties first -> y[1] = max(j, i: x[i, j])", late),
              ElementsAre(0, 0, 0, 1, 0, 0));
}

TEST(Ties, AllAndNoneDoNotDependOnTheNesting) {
  for (const char* body : {"max(i, j: x[i, j])", "max(i: max(j: x[i, j]))"}) {
    EXPECT_THAT(GradientOf(std::string("op f(x[i, j]) ties all -> y[1] = ") + body, kRows),
                ElementsAre(1, 0, 0, 1, 1, 0, 0, 0, 0));
    EXPECT_THAT(GradientOf(std::string("op f(x[i, j]) ties zero -> y[1] = ") + body, kRows),
                ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0));
  }
}

TEST(Ties, AMaximumOfSeveralValuesIsOneMaximum) {
  const DenseTensor tied{{3}, {2, 2, 2}};
  const DenseTensor two{{3}, {2, 1, 2}};
  for (const std::string name : {"max", "min"}) {
    for (const std::string& body :
         {name + "(x[0], x[1], x[2])", name + "(" + name + "(x[0], x[1]), x[2])",
          name + "(x[0], " + name + "(x[1], x[2]))"}) {
      const std::string text = "op f(x[3]) ties even -> y[1] = " + body;
      const double third = 1.0 / 3;
      EXPECT_THAT(GradientOf(text, tied), Near({third, third, third})) << body;
      const bool max = name == "max";
      EXPECT_THAT(GradientOf(text, two), ElementsAreArray(max ? std::vector<double>{0.5, 0, 0.5}
                                                              : std::vector<double>{0, 1, 0}))
          << body;
    }
  }
}

// Two operators are two derivatives: torch.maximum(torch.maximum(a, b), c) gives 1/4, 1/4, 1/2.
TEST(Ties, OperatorsOneAfterAnotherShareOneByOne) {
  const Gradients outer =
      GradientsOf("op f(m, c) ties even -> y = max(m, c)", {{{1}, {2}}, {{1}, {2}}});
  const Gradients inner =
      GradientsOf("op f(a, b) ties even -> y = max(a, b)", {{{1}, {2}}, {{1}, {2}}});
  EXPECT_EQ(outer[0][0] * inner[0][0], 0.25);
  EXPECT_EQ(outer[0][0] * inner[1][0], 0.25);
  EXPECT_EQ(outer[1][0], 0.5);
}

TEST(Ties, ReductionsAndMaximaOfTwoCountEveryOperand) {
  // max over i of x[i] and, once for each i, c: 5 = x[1] = c, so that c has 3 of 4 shares.
  EXPECT_THAT(GradientsOf("op f(x[i], c[1]) ties even -> y[1] = max(i: max(x[i], c[0]))",
                          {{{3}, {1, 5, 2}}, {{1}, {5}}}),
              ElementsAre(ElementsAre(0, 0.25, 0), ElementsAre(0.75)));
  // Once beside the reduction: one share of three.
  const Gradients beside =
      GradientsOf("op f(x[i], c[1]) ties even -> y[1] = max(max(i: x[i]), c[0])",
                  {{{3}, {1, 5, 5}}, {{1}, {5}}});
  EXPECT_THAT(beside[0], Near({0, 1.0 / 3, 1.0 / 3}));
  EXPECT_THAT(beside[1], Near({1.0 / 3}));
}

TEST(Ties, AMinimumWithinAMaximumIsNoPartOfIt) {
  // max(min(a, b), c): the minimum has half of the maximum, a and b half of that.
  EXPECT_THAT(
      GradientOf("op f(x[3]) ties even -> y[1] = max(min(x[0], x[1]), x[2])", {{3}, {2, 2, 2}}),
      ElementsAre(0.25, 0.25, 0.5));
  // Nor is a maximum under a sum, a product or a sign.
  EXPECT_THAT(GradientOf("op f(x[3]) ties even -> y[1] = max(1 * max(x[0], x[1]) + 0 * x[0], x[2])",
                         {{3}, {2, 2, 2}})[2],
              0.5);
  EXPECT_THAT(
      GradientOf("op f(x[3]) ties even -> y[1] = max(-min(-x[0], -x[1]), x[2])", {{3}, {2, 2, 2}}),
      ElementsAre(0.25, 0.25, 0.5));
}

// The inner maximum also has a use of its own.
TEST(Ties, WhatIsReadElsewhereAsWellCountsThereByItself) {
  const Gradients gradients = GradientsOf(
      "op f(x[i, j]) ties even let row[k] = max(j: x[k, j]) "
      "-> y[1] = max(i: row[i]) + 10 * sum(i2: row[i2])",
      {{{2, 2}, {5, 5, 5, 1}}});
  const double third = 1.0 / 3;
  EXPECT_THAT(gradients[0], Near({third + 5, third + 5, third + 10, 0.0}));
}

TEST(Ties, WithoutTiesTheDerivativeIsThatOfTheLargest) {
  const DenseTensor x{{2, 3}, {1, 9, 3, 4, 8, 2}};
  for (const char* rule : {"first", "even", "all", "zero"}) {
    for (const char* body : {"max(i: max(j: x[i, j]))", "max(max(i: x[i, 0]), max(i: x[i, 1]))",
                             "max(i: max(x[i, 0], x[i, 1], x[i, 2]))"}) {
      EXPECT_THAT(GradientOf(std::string("op f(x[i, j]) ties ") + rule + " -> y[1] = " + body, x),
                  ElementsAre(0, 1, 0, 0, 0, 0))
          << rule << " " << body;
    }
  }
}

TEST(Ties, AMaximumOfVeryManyValuesIsRefused) {
  std::string body = "x[0]";
  for (int i = 0; i < 200; ++i) body = "max(" + body + ", x[1])";
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  const absl::Status declared =
      library.AddDeclarations("op f(x[2]) ties even -> y[1] = " + body, "my.op");
  if (!declared.ok()) return;  // it nests too deeply for the language
  Operand x;
  x.shape = {2};
  x.dtype = DType::kFloat32;
  const auto function = library.Instantiate("f", {x}, {});
  ASSERT_TRUE(function.ok());
  EXPECT_FALSE(Differentiate(*function, {0}, {0}).ok());
}

}  // namespace
}  // namespace planproof::sdfg
