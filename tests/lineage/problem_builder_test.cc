// What every reader's problem keeps to, whatever the format.
#include "lineage/problem_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "lineage/map_range.h"
#include "sdfg/collectives.h"

namespace planproof::lineage {
namespace {

using sdfg::kNone;
using sdfg::TensorId;
using testing::HasSubstr;
using testing::Not;

sdfg::Tensor Named(const std::string& name, sdfg::Shape shape,
                   std::vector<sdfg::AxisId> axes = {}) {
  sdfg::Tensor tensor;
  tensor.name = name;
  tensor.shape = std::move(shape);
  tensor.axes = std::move(axes);
  tensor.dtype = sdfg::DType::kFloat32;
  tensor.role = sdfg::TensorRole::kParameter;
  return tensor;
}

// y = x.
TensorId AddCopy(sdfg::Graph* graph, TensorId x, const std::string& name) {
  sdfg::Tensor y = graph->tensors[x];
  const sdfg::Shape local(y.shape.begin() + static_cast<int64_t>(y.axes.size()), y.shape.end());
  y.name = name;
  y.role = sdfg::TensorRole::kIntermediate;
  sdfg::Operator op;
  op.name = "copy";
  op.function = graph->Intern(*sdfg::Copy(local, y.dtype));
  op.inputs = {x};
  op.outputs = {graph->AddTensor(std::move(y))};
  const TensorId out = op.outputs[0];
  graph->AddOperator(std::move(op));
  return out;
}

// The logical elements from `start` on, at these digits.
Lineage Slice(TensorId logical, int64_t start, std::vector<IndexTerm> terms) {
  Lineage lineage;
  lineage.kind = LineageKind::kFull;
  lineage.logical = logical;
  lineage.map = {{start, std::move(terms)}};
  return lineage;
}

// The model copies w[8] to v[8]; the plan has the axes dp and tp of extent 2, and w is cut over tp.
struct Cut {
  ProblemBuilder builder;
  TensorId w, v;    // of the model
  TensorId pw, pv;  // of the plan: over tp, 4 local elements

  explicit Cut(int64_t step = 4) {
    w = builder.logical.AddTensor(Named("w", {8}));
    v = AddCopy(&builder.logical, w, "v");
    builder.parallel.axes = {{"dp", 2}, {"tp", 2}};
    builder.parallel.axis_device_stride = {2, 1};
    pw = builder.parallel.AddTensor(Named("pw", {2, 4}, {1}));
    pv = AddCopy(&builder.parallel, pw, "pv");
    related = builder.RelateInput(pw, Slice(w, 0, {{0, step, 1, 0}, {1, 1, 1, 0}}), {"rank"});
  }
  absl::Status related;
};

std::string Said(const absl::Status& status) { return std::string(status.message()); }

TEST(ProblemBuilderTest, WhatIsReadIsRequiredInTheRelationInWhichItIsRead) {
  Cut cut;
  ASSERT_TRUE(cut.related.ok()) << cut.related;
  ASSERT_TRUE(cut.builder.RequireAsHeld(cut.pv, cut.v, cut.pw, "v", {"rank"}).ok());
  const absl::StatusOr<Problem> problem = cut.builder.Build();
  ASSERT_TRUE(problem.ok()) << problem.status();
  ASSERT_EQ(problem->required.size(), 1);
  EXPECT_EQ(problem->required[0].lineage.logical, cut.v);
  EXPECT_EQ(problem->required[0].lineage.map, problem->lineage[cut.pw].map);
}

// A gradient that is not the same on all copies is required to be right on each.
TEST(ProblemBuilderTest, AValueWithFurtherAxesIsRequiredAtEachOfTheirCoordinates) {
  Cut cut;
  const TensorId each = cut.builder.parallel.AddTensor(Named("each", {2, 2, 4}, {0, 1}));
  ASSERT_TRUE(cut.builder.RequireAsHeld(each, cut.v, cut.pw, "v", {"rank"}).ok());
  const Lineage& required = cut.builder.required()[0].lineage;
  EXPECT_EQ(required.map, (std::vector<IndexMap>{{0, {{1, 4, 1, 0}, {2, 1, 1, 0}}}}));
}

TEST(ProblemBuilderTest, AValueOfAnotherFormIsNotWhatWasRead) {
  Cut cut;
  const TensorId shorter = cut.builder.parallel.AddTensor(Named("s", {2, 3}, {1}));
  EXPECT_THAT(Said(cut.builder.RequireAsHeld(shorter, cut.v, cut.pw, "v", {"rank"})),
              HasSubstr("shape mismatch: the tensor has local shape [3]"));
  const TensorId same = cut.builder.parallel.AddTensor(Named("r", {4}));
  EXPECT_THAT(Said(cut.builder.RequireAsHeld(same, cut.v, cut.pw, "v", {"rank"})),
              HasSubstr("the tensor is the same at every coordinate of tp"));
  EXPECT_FALSE(cut.builder.RequireAsHeld(cut.pv, cut.v, cut.pv, "v", {"rank"}).ok())
      << "pv is computed: no relation in which something is read";
}

TEST(ProblemBuilderTest, InputsAndRequiredOutputsAreCoveredWhole) {
  Cut holes(/*step=*/3);  // holds 0 to 6, and 3 twice
  ASSERT_TRUE(holes.related.ok()) << holes.related;
  ASSERT_TRUE(holes.builder.RequireAsHeld(holes.pv, holes.v, holes.pw, "v", {"rank"}).ok());
  EXPECT_THAT(Said(holes.builder.Build().status()), HasSubstr("input w[8]: overlap"));

  Cut half;
  ASSERT_TRUE(
      half.builder.RequireOutput(half.pv, Slice(half.v, 4, {{1, 1, 1, 0}}), "v", {"a"}).ok());
  EXPECT_THAT(Said(half.builder.Build().status()),
              HasSubstr("required output v[8]: hole: nobody holds [0, 4) of dimension 0"));
}

TEST(ProblemBuilderTest, AReaderIsToldWhatAnErrorIsAbout) {
  Cut holes(/*step=*/3);
  const absl::StatusOr<Problem> problem =
      holes.builder.Build([&](const ProblemBuilder::Subject& subject, const absl::Status&) {
        EXPECT_EQ(subject.kind, ProblemBuilder::Subject::Kind::kInput);
        EXPECT_EQ(subject.logical, holes.w);
        return absl::InvalidArgumentError("line 7");
      });
  EXPECT_EQ(Said(problem.status()), "line 7");
}

// The cover of a stated output and that of a new value are two questions about one tensor.
TEST(ProblemBuilderTest, WhatIsStatedAndWhatIsHeldDoNotFillEachOthersHoles) {
  Cut cut;
  ASSERT_TRUE(cut.builder.RequireOutput(cut.pv, Slice(cut.v, 4, {{1, 1, 1, 0}}), "v", {"a"}).ok());
  ASSERT_TRUE(cut.builder.RequireAsHeld(cut.pv, cut.v, cut.pw, "v", {"b"}).ok());
  EXPECT_THAT(Said(cut.builder.Build().status()), HasSubstr("hole: nobody holds [0, 4)"));
}

TEST(ProblemBuilderTest, AGradientThatNobodyHoldsIsMissed) {
  Cut cut;
  const TensorId other = cut.builder.logical.AddTensor(Named("grad.u", {8}));
  ASSERT_TRUE(cut.builder.RequireAsHeld(cut.pv, cut.v, cut.pw, "v", {"rank"}).ok());
  cut.builder.MustBeRequired(cut.v);
  cut.builder.MustBeRequired(other);
  EXPECT_THAT(Said(cut.builder.Build().status()),
              HasSubstr("required output grad.u[8]: hole: nobody holds it"));
}

TEST(ProblemBuilderTest, WhatThePlanDoesNotComputeHasARelation) {
  Cut cut;
  ASSERT_TRUE(cut.builder.RequireAsHeld(cut.pv, cut.v, cut.pw, "v", {"rank"}).ok());
  AddCopy(&cut.builder.parallel, cut.builder.parallel.AddTensor(Named("secret", {4})), "x");
  EXPECT_THAT(Said(cut.builder.Build().status()), HasSubstr("nothing computes secret"));
}

TEST(ProblemBuilderTest, AnInputIsWhatTheModelReads) {
  Cut cut;
  const TensorId more = cut.builder.parallel.AddTensor(Named("more", {8}));
  EXPECT_THAT(Said(cut.builder.RelateInput(more, Slice(cut.v, 0, {{0, 1, 1, 0}}), {"rank"})),
              HasSubstr("\"v\" is computed by the model"));
  EXPECT_THAT(Said(cut.builder.RelateInput(more, Slice(cut.w, 1, {{0, 1, 1, 0}}), {"rank"})),
              HasSubstr("reaches index 8 of dimension 0, which has extent 8"));
  Lineage term = Slice(cut.w, 0, {{0, 1, 1, 0}});
  term.kind = LineageKind::kPartialSum;
  EXPECT_FALSE(cut.builder.RelateInput(more, term, {"rank"}).ok());
  cut.builder.parallel.tensors[more].role = sdfg::TensorRole::kOne;
  EXPECT_THAT(Said(cut.builder.RelateInput(more, Slice(cut.w, 0, {{0, 1, 1, 0}}), {"rank"})),
              HasSubstr("have different roles"));
}

TEST(ProblemBuilderTest, SomethingIsRequired) {
  Cut cut;
  EXPECT_THAT(Said(cut.builder.Build().status()), HasSubstr("nothing is required"));
}

TEST(CheckInsideTest, LooksAtWhatIsReachedAndNotAtBoundsAlone) {
  // i % 3 + (2 - i % 3) is 2 everywhere, though each digit by itself reaches 2.
  const std::vector<IndexMap> map = {{2, {{0, 1, 1, 3}, {0, -1, 1, 3}}}};
  EXPECT_TRUE(CheckInside(map, {9}, {3}).ok());
  EXPECT_FALSE(CheckInside(map, {9}, {2}).ok());
  EXPECT_TRUE(CheckInside(map, {0}, {0}).ok()) << "no element, no index";
  EXPECT_FALSE(CheckInside(map, {9}, {3, 1}).ok()) << "one index for two dimensions";
  EXPECT_FALSE(CheckInside({{0, {{1, 1, 1, 0}}}}, {9}, {3}).ok()) << "no such dimension";
  EXPECT_THAT(Said(CheckInside({{-1, {{0, 1, 1, 0}}}}, {4}, {4})), HasSubstr("reaches index -1"));
  EXPECT_THAT(Said(CheckInside({{0, {}}}, {4}, {1})), Not(HasSubstr("reaches")));
}

}  // namespace
}  // namespace planproof::lineage
