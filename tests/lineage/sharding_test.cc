#include "lineage/sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "lineage/cover.h"

namespace planproof::lineage {
namespace {

using testing::HasSubstr;

const std::vector<sdfg::Axis> kMesh = {{"dp", 2}, {"tp", 3}, {"cp", 2}};

TEST(EqualPartsTest, TheInnermostAxisStepsFromOnePartToTheNext) {
  const auto parts = EqualParts(5, {4, 12}, kMesh, {0, 1}, {{1, {0, 1}}});
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(parts->shape, (sdfg::Shape{2, 3, 4, 2}));
  EXPECT_EQ(parts->lineage.logical, 5);
  // dp 1, tp 2 holds columns 10 and 11.
  int64_t first = 0;
  const std::vector<int64_t> at = {1, 2, 0, 0};
  for (const IndexTerm& term : parts->lineage.map[1].terms) first += term.scale * at[term.dim];
  EXPECT_EQ(first, 10);
}

TEST(EqualPartsTest, PartsCoverTheTensorWhateverCutsIt) {
  for (const std::vector<CutDimension>& cuts :
       {std::vector<CutDimension>{}, {{0, {1}}}, {{0, {2, 0}}}, {{1, {1}}, {0, {0, 2}}}}) {
    const auto parts = EqualParts(0, {12, 6}, kMesh, {0, 1, 2}, cuts);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_TRUE(CheckCoverOf({12, 6}, {{"rank", parts->lineage.map, parts->shape, 3, false}}).ok());
  }
}

TEST(EqualPartsTest, WhatIsNoCutIsRefused) {
  const auto said = [](const std::vector<sdfg::AxisId>& axes,
                       const std::vector<CutDimension>& cuts) {
    return std::string(EqualParts(0, {4, 12}, kMesh, axes, cuts).status().message());
  };
  EXPECT_THAT(said({1}, {{0, {1}}}),
              HasSubstr("extent 4 does not divide into equal parts over tp"));
  EXPECT_THAT(said({0}, {{2, {0}}}), HasSubstr("dimension 2 does not exist"));
  EXPECT_THAT(said({0}, {{-1, {0}}}), HasSubstr("does not exist"));
  EXPECT_THAT(said({0, 2}, {{0, {0}}, {0, {2}}}), HasSubstr("cut twice"));
  EXPECT_THAT(said({0}, {{0, {0}}, {1, {0}}}), HasSubstr("axis dp cuts two dimensions"));
  EXPECT_THAT(said({0}, {{1, {1}}}), HasSubstr("the tensor does not vary over it"));
}

// The model reads w[12, 6] and nothing else; the plan holds it in parts.
struct Parts {
  ProblemBuilder problem;
  sdfg::TensorId w;
  Parts() {
    sdfg::Tensor tensor;
    tensor.name = "w";
    tensor.shape = {12, 6};
    tensor.role = sdfg::TensorRole::kParameter;
    w = problem.logical.AddTensor(std::move(tensor));
    problem.parallel.axes = kMesh;
    problem.parallel.axis_device_stride = {6, 2, 1};
  }
};

TEST(HoldPartsTest, WhatIsHeldIsWhatTheCutsSay) {
  Parts parts;
  const auto held = HoldParts(&parts.problem, parts.w, {{0, {1}}, {1, {0}}}, 0, {"rank"});
  ASSERT_TRUE(held.ok()) << held.status();
  const sdfg::Tensor& tensor = parts.problem.parallel.tensors[*held];
  EXPECT_EQ(tensor.axes, (std::vector<sdfg::AxisId>{0, 1}));
  EXPECT_EQ(tensor.shape, (sdfg::Shape{2, 3, 4, 3}));
  EXPECT_EQ(tensor.role, sdfg::TensorRole::kParameter);
  EXPECT_EQ(parts.problem.LineageOf(*held).logical, parts.w);
  EXPECT_FALSE(HoldParts(&parts.problem, parts.w, {{0, {7}}}, 0, {"rank"}).ok()) << "no such axis";
}

TEST(RequirePartsTest, ATensorOfAnotherShapeIsNotTheParts) {
  Parts parts;
  const auto held = HoldParts(&parts.problem, parts.w, {{0, {1}}}, 0, {"rank"});
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_TRUE(RequireParts(&parts.problem, *held, parts.w, {{0, {1}}}, "w", {"rank"}).ok());
  EXPECT_THAT(
      std::string(
          RequireParts(&parts.problem, *held, parts.w, {{1, {1}}}, "w", {"rank"}).message()),
      HasSubstr("does not have the shape"));
  EXPECT_FALSE(RequireParts(&parts.problem, *held, parts.w, {}, "w", {"rank"}).ok());
}

}  // namespace
}  // namespace planproof::lineage
