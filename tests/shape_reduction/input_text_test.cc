// Inputs of a counterexample in words.
#include "shape_reduction/input_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "shape_reduction/witness.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// Every element is a block.
BlockTensorPtr<double> Elements(int64_t extent, double value) {
  auto tensor = std::make_shared<BlockTensor<double>>();
  tensor->dims = {std::make_shared<const DimPartition>(DimPartition::Full(extent))};
  tensor->values.assign(extent, value);
  return tensor;
}

// Another program evaluates both graphs at what the JSON report lists: nothing may be missing.
TEST(InputTextTest, AllValuesOfAllInputsAreThereEqualOnesIncluded) {
  SmallProblem p;
  for (const char* name : {"x", "y", "unread", "z"}) p.Logical(name, {40});
  const std::vector<std::string> texts =
      DescribeInputs(p.problem, {Elements(40, 0.5), Elements(40, 0.5), nullptr, Elements(40, 3)},
                     WitnessOptions().max_printed_values);
  ASSERT_THAT(texts, SizeIs(3));
  std::string halves;
  for (int k = 0; k < 40; ++k) halves += " 0.5";
  EXPECT_EQ(texts[0], "x [40 = 40x{all}]:" + halves);
  EXPECT_EQ(texts[1], "y [40 = 40x{all}]:" + halves);
  EXPECT_THAT(texts[2], StartsWith("z "));
}

TEST(InputTextTest, WhatIsTooMuchIsCountedAndNotLeftOutInSilence) {
  SmallProblem p;
  std::vector<BlockTensorPtr<double>> inputs;
  for (int k = 0; k < 20; ++k) {
    p.Logical("x" + std::to_string(k), {10});
    inputs.push_back(Elements(10, 1));
  }
  const std::vector<std::string> texts = DescribeInputs(p.problem, inputs, 4);
  ASSERT_THAT(texts, SizeIs(17));
  EXPECT_THAT(texts[15], EndsWith("]: 1 1 1 1 ... (10 blocks)"));
  EXPECT_EQ(texts[16], "and 4 more inputs");
  EXPECT_THAT(DescribeInputs(p.problem, {inputs[0]}, 10)[0], Not(HasSubstr("...")));
}

}  // namespace
}  // namespace planproof::shape_reduction
