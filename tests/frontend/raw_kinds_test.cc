// Kinds of axes and operators in the raw form: written, read, and told by name in older files.
#include "frontend/plan/raw_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planproof::plan {
namespace {

using sdfg::AxisKind;
using sdfg::OperatorKind;
using testing::ElementsAre;
using testing::HasSubstr;

sdfg::Graph Mesh() {
  sdfg::Graph graph;
  graph.axes = {{"tp", 4}};
  return graph;
}

absl::StatusOr<sdfg::Operator> ReadKind(const RawOperator& from, int inputs = 1) {
  sdfg::Operator op;
  op.inputs.assign(inputs, 0);
  op.outputs = {1};
  if (absl::Status s = ReadOperatorKind(from, Mesh(), &op); !s.ok()) return s;
  return op;
}

TEST(RawKinds, WhatIsGivenCountsAndNotTheName) {
  RawOperator move;
  move.set_name("exception");
  move.set_kind(KIND_MOVE);
  move.add_group(3);
  move.add_group(1);
  const absl::StatusOr<sdfg::Operator> op = ReadKind(move);
  ASSERT_TRUE(op.ok()) << op.status();
  EXPECT_EQ(op->kind, OperatorKind::kMove);
  EXPECT_THAT(op->group, ElementsAre(3, 1));
  RawAxis axis;
  axis.set_name("microbatch");
  axis.set_kind(AXIS_MESH);
  EXPECT_EQ(*ReadAxisKind(axis), AxisKind::kMesh);
}

TEST(RawKinds, OlderFilesAreToldByName) {
  RawAxis axis;
  axis.set_name("microbatch");
  EXPECT_EQ(*ReadAxisKind(axis), AxisKind::kMicrobatch);
  axis.set_name("tp");
  EXPECT_EQ(*ReadAxisKind(axis), AxisKind::kMesh);
  RawOperator op;
  op.set_name("reduce_scatter");
  EXPECT_EQ(ReadKind(op)->kind, OperatorKind::kReduceScatter);
  op.set_name("exception");
  EXPECT_EQ(ReadKind(op, 2)->kind, OperatorKind::kRankOverride);
  op.set_name("linear");
  EXPECT_EQ(ReadKind(op)->kind, OperatorKind::kCompute);
  // Their groups are an attribute.
  sdfg::Operator listed;
  listed.inputs = {0};
  listed.outputs = {1};
  listed.attributes = {{"ranks", "0,4"}, {"dim", "1"}};
  op.set_name("all_gather");
  ASSERT_TRUE(ReadOperatorKind(op, Mesh(), &listed).ok());
  EXPECT_THAT(listed.group, ElementsAre(0, 4));
  EXPECT_EQ(listed.attributes.size(), 1u);
}

TEST(RawKinds, WhatNoOperatorOfItsKindIsIsRefused) {
  RawOperator op;
  op.set_name("x");
  op.set_kind(KIND_RANK_OVERRIDE);
  EXPECT_THAT(std::string(ReadKind(op, 1).status().message()), HasSubstr("two operands"));
  RawAxisCoordinates* at = op.add_override_at();
  at->add_coordinates(4);
  EXPECT_THAT(std::string(ReadKind(op, 2).status().message()), HasSubstr("does not exist"));
  at->set_coordinates(0, 3);
  EXPECT_TRUE(ReadKind(op, 2).ok());
  at->set_axis(1);
  EXPECT_THAT(std::string(ReadKind(op, 2).status().message()), HasSubstr("does not exist"));
  op.Clear();
  op.set_kind(KIND_MULTIPLE);
  EXPECT_THAT(std::string(ReadKind(op, 2).status().message()), HasSubstr("multiple"));
  op.set_kind(static_cast<RawOperatorKind>(99));
  EXPECT_THAT(std::string(ReadKind(op).status().message()), HasSubstr("unknown kind"));
  RawAxis axis;
  axis.set_kind(static_cast<RawAxisKind>(9));
  EXPECT_FALSE(ReadAxisKind(axis).ok());
}

}  // namespace
}  // namespace planproof::plan
