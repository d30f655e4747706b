// Of tensors that are computed alike, each is taken in its turn.
#include "inference/duplicates.h"

#include <gtest/gtest.h>

#include "tests/shape_reduction/small_problem.h"

namespace planproof::inference {
namespace {

using sdfg::TensorId;

class DuplicatesTest : public testing::Test {
 protected:
  TensorId Apply(const char* function, TensorId operand) {
    return small_.Apply(&small_.problem.logical, shape_reduction::Instantiate(function, {{4}}),
                        {operand});
  }
  Duplicates Find() { return Duplicates(small_.problem.logical); }

  shape_reduction::SmallProblem small_;
  const TensorId x_ = small_.Logical("x", {4}), y_ = small_.Logical("y", {4});
};

TEST_F(DuplicatesTest, EachIsTakenInItsTurnAndTheLastOneAgain) {
  const TensorId first = Apply("exp", x_), second = Apply("exp", x_);
  Duplicates duplicates = Find();
  EXPECT_EQ(duplicates.Next(first, 0), first);
  EXPECT_EQ(duplicates.Next(first, 0), second);
  EXPECT_EQ(duplicates.Next(first, 0), second);
}

TEST_F(DuplicatesTest, EveryDeviceComputesAllOfThem) {
  const TensorId first = Apply("exp", x_), second = Apply("exp", x_);
  Duplicates duplicates = Find();
  EXPECT_EQ(duplicates.Next(first, 0), first);
  EXPECT_EQ(duplicates.Next(first, 1), first);
  EXPECT_EQ(duplicates.Next(first, 1), second);
}

TEST_F(DuplicatesTest, WhatIsComputedFromDuplicatesIsOne) {
  const TensorId first = Apply("exp", x_), second = Apply("exp", x_);
  const TensorId from_first = Apply("neg", first), from_second = Apply("neg", second);
  Duplicates duplicates = Find();
  EXPECT_EQ(duplicates.Next(from_first, 0), from_first);
  EXPECT_EQ(duplicates.Next(from_first, 0), from_second);
}

TEST_F(DuplicatesTest, OtherFunctionsAndOperandsAreNone) {
  const TensorId exp = Apply("exp", x_), other = Apply("exp", y_), neg = Apply("neg", x_);
  Duplicates duplicates = Find();
  for (const TensorId t : {exp, other, neg, x_, y_}) {
    EXPECT_EQ(duplicates.Next(t, 0), t);
    EXPECT_EQ(duplicates.Next(t, 0), t);
  }
}

}  // namespace
}  // namespace planproof::inference
