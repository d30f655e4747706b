#include "sdfg/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace planproof::sdfg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// y = x + z elementwise on vectors of the given extent.
IndexFunction AddFunction(int64_t extent, const std::string& name = "add") {
  IndexFunctionBuilder b(name);
  const int x = b.AddInput("x", {extent}, DType::kFloat32);
  const int z = b.AddInput("z", {extent}, DType::kFloat32);
  const int y = b.AddOutput("y", Shape{extent}, DType::kFloat32);
  const ExprId i = b.Index(b.OutputDims(y)[0]);
  b.SetBody(y, b.Binary(Op::kAdd, b.Element(x, {i}), b.Element(z, {i})));
  IndexFunction f;
  EXPECT_TRUE(b.Finish(&f).ok());
  return f;
}

class GraphTest : public ::testing::Test {
 protected:
  TensorId AddVector(const std::string& name, TensorRole role, std::vector<AxisId> axes = {},
                     int64_t extent = 4) {
    Tensor t;
    t.name = name;
    t.role = role;
    t.axes = axes;
    for (AxisId axis : axes) t.shape.push_back(graph_.axes[axis].extent);
    t.shape.push_back(extent);
    return graph_.AddTensor(std::move(t));
  }
  TensorId Input(const std::string& name, std::vector<AxisId> axes = {}) {
    return AddVector(name, TensorRole::kInput, std::move(axes));
  }
  TensorId Value(const std::string& name, std::vector<AxisId> axes = {}) {
    return AddVector(name, TensorRole::kIntermediate, std::move(axes));
  }
  OperatorId Add(const std::string& name, TensorId x, TensorId z, TensorId y) {
    Operator op;
    op.name = name;
    op.function = graph_.Intern(AddFunction(4));
    op.inputs = {x, z};
    op.outputs = {y};
    op.devices = {3};
    return graph_.AddOperator(std::move(op));
  }
  std::vector<std::string> OperatorNames() const {
    std::vector<std::string> names;
    for (const Operator& op : graph_.operators) names.push_back(op.name);
    return names;
  }
  Graph graph_;
};

TEST_F(GraphTest, EqualFunctionsAreOneObject) {
  EXPECT_EQ(graph_.Intern(AddFunction(4)), graph_.Intern(AddFunction(4)));
  EXPECT_NE(graph_.Intern(AddFunction(4)), graph_.Intern(AddFunction(5)));
  EXPECT_NE(graph_.Intern(AddFunction(4)), graph_.Intern(AddFunction(4, "plus")));
}

TEST_F(GraphTest, CheckSortsStablyAndRenumbersProducers) {
  const TensorId x = Input("x");
  const TensorId a = Value("a");
  const TensorId b = Value("b");
  const TensorId c = Value("c");
  Add("third", b, a, c);
  Add("first", x, x, a);
  Add("second", x, x, b);
  ASSERT_TRUE(graph_.Check().ok());
  EXPECT_THAT(OperatorNames(), ElementsAre("first", "second", "third"));
  EXPECT_EQ(graph_.tensors[a].producer, 0);
  EXPECT_EQ(graph_.tensors[c].producer, 2);
  ASSERT_TRUE(graph_.Check().ok());
  EXPECT_THAT(OperatorNames(), ElementsAre("first", "second", "third"));
}

TEST_F(GraphTest, TwoProducersAreBothNamed) {
  const TensorId x = Input("x");
  const TensorId y = Value("y");
  Add("one", x, x, y);
  Add("two", x, x, y);
  const std::string message = Message(graph_.Check());
  EXPECT_THAT(message, HasSubstr("tensor y"));
  EXPECT_THAT(message, HasSubstr("one.0 on device 3"));
  EXPECT_THAT(message, HasSubstr("two.1 on device 3"));
}

TEST_F(GraphTest, DanglingOperandIsNamedWithItsReader) {
  const TensorId x = Input("x");
  Add("reader", x, Value("ghost"), Value("y"));
  const std::string message = Message(graph_.Check());
  EXPECT_THAT(message, HasSubstr("reader.0"));
  EXPECT_THAT(message, HasSubstr("ghost"));
}

TEST_F(GraphTest, WhatAForgottenOperatorShouldHaveReadIsNamed) {
  const TensorId x = Input("x");
  const TensorId part = Value("sum#1");
  Add("partial", x, x, part);
  Add("unrelated", x, x, Value("other#1"));
  Add("reader", x, Value("sum#2"), Value("y"));
  const std::string message = Message(graph_.Check());
  EXPECT_THAT(message, HasSubstr("reads tensor sum#2, which nothing produces"));
  EXPECT_THAT(message, HasSubstr("left over, read by nothing: sum#1 of partial.0 on device 3"));
  EXPECT_THAT(message, testing::Not(HasSubstr("other#1")));
  Add("user", part, x, Value("z"));
  EXPECT_THAT(Message(graph_.Check()), testing::Not(HasSubstr("left over")));
}

TEST_F(GraphTest, UnreadTensorWithoutProducerIsRejected) {
  Value("ghost");
  EXPECT_THAT(Message(graph_.Check()), HasSubstr("tensor ghost: nothing produces it"));
}

TEST_F(GraphTest, ProducedInputIsRejected) {
  const TensorId x = Input("x");
  Add("op", x, x, Input("p"));
  EXPECT_THAT(Message(graph_.Check()), HasSubstr("is an input of the graph"));
}

TEST_F(GraphTest, UnknownTensorIsRejected) {
  Add("op", 17, 17, 18);
  EXPECT_FALSE(graph_.Check().ok());
}

TEST_F(GraphTest, CycleIsReportedInDataFlowOrder) {
  const TensorId x = Input("x");
  const TensorId a = Value("a");
  const TensorId b = Value("b");
  const TensorId c = Value("c");
  Add("outside", c, x, Value("d"));
  Add("p", x, c, a);
  Add("q", a, x, b);
  Add("r", b, x, c);
  const std::string message = Message(graph_.Check());
  EXPECT_THAT(message, HasSubstr("p.1 on device 3 -> q.2 on device 3 -> r.3 on device 3"));
  EXPECT_EQ(message.find("outside"), std::string::npos);
}

TEST_F(GraphTest, ShapeMismatchNamesTensorAndOperator) {
  const TensorId x = Input("x");
  const TensorId y = AddVector("y", TensorRole::kIntermediate, {}, 5);
  Add("op", x, x, y);
  EXPECT_THAT(Message(graph_.Check()),
              HasSubstr("op.0 on device 3: tensor y has shape [5], expected [4]"));
}

TEST_F(GraphTest, LiftedOutputHasTheUnionOfItsInputsAxes) {
  graph_.axes = {{"dp", 2}, {"microbatch", 3}};
  const TensorId x = Input("x", {0});
  const TensorId z = Input("z", {1});
  const TensorId y = Value("y", {0, 1});
  const OperatorId op = Add("op", x, z, y);
  ASSERT_TRUE(graph_.Check().ok());
  EXPECT_EQ(graph_.InstanceCount(graph_.operators[op]), 6);
  const TensorId bad = Value("bad", {0});
  Add("bad_op", x, z, bad);
  EXPECT_THAT(Message(graph_.Check()),
              HasSubstr("output bad varies over axes (dp), its inputs over (dp, microbatch)"));
}

// A collective counts for each rank that takes part, whether or not the ranks' results differ.
TEST_F(GraphTest, InstancesOfCollectivesCountTheirRanksOnce) {
  graph_.axes = {{"dp", 2}, {"microbatch", 3}};
  graph_.axis_device_stride = {4, 0};
  sdfg::Operator scattered, reduced, between_programs;
  scattered.outputs = {Value("scattered", {0, 1})};
  scattered.devices = reduced.devices = between_programs.devices = {0, 4};
  reduced.outputs = {Value("reduced", {1})};
  between_programs.inputs = {Input("x", {1}), Input("z", {1})};
  between_programs.outputs = {Value("sum", {1})};
  EXPECT_EQ(graph_.InstanceCount(scattered), 6);
  EXPECT_EQ(graph_.InstanceCount(reduced), 6);
  EXPECT_EQ(graph_.InstanceCount(between_programs), 3);  // once in each program
}

TEST_F(GraphTest, CoordinateExtentsMustMatchTheAxes) {
  graph_.axes = {{"dp", 2}};
  Tensor t;
  t.name = "x";
  t.role = TensorRole::kInput;
  t.axes = {0};
  t.shape = {3, 4};
  graph_.AddTensor(t);
  EXPECT_THAT(Message(graph_.Check()), HasSubstr("extent 3 along axis dp of 2"));
}

TEST_F(GraphTest, ExtentsHaveALimitAndNumbersOfElementsHaveNone) {
  Tensor t;
  t.name = "x";
  t.role = TensorRole::kInput;
  t.shape = {int64_t{1} << 40, int64_t{1} << 60, int64_t{1} << 40};
  graph_.AddTensor(t);
  EXPECT_TRUE(graph_.Check().ok());
  graph_.tensors[0].shape[1] += 1;
  const absl::Status status = graph_.Check();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("tensor x: extent: 1152921504606846977"));
}

TEST_F(GraphTest, DescribeNamesLabelAndDevices) {
  const TensorId x = Input("x");
  const OperatorId op = Add("linear", x, x, Value("y"));
  graph_.operators[op].label = "cell 123";
  graph_.operators[op].devices = {0, 1};
  EXPECT_EQ(graph_.Describe(op), "linear (cell 123) on devices 0, 1");
}

}  // namespace
}  // namespace planproof::sdfg
