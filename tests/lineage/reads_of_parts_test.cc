// Which reads of what was joined are reads of one part, and that they give the same numbers.
#include "lineage/reads_of_parts.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sdfg/collectives.h"
#include "sdfg/dense_evaluator.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::lineage {
namespace {

using sdfg::kNone;
using sdfg::OperatorKind;
using sdfg::TensorId;
using shape_reduction::Instantiate;
using shape_reduction::Join;
using shape_reduction::RowsOf;

class ReadsOfParts : public testing::Test {
 protected:
  // A vector of the model, all of which a device has.
  TensorId Held(int64_t size, sdfg::Device device = 0) {
    const std::string name = "x" + std::to_string(small_.problem.logical.tensors.size());
    const TensorId held =
        small_.Slice(small_.Logical(name, {size}), std::vector<int64_t>{0}, {size}, device);
    return held;
  }
  TensorId Apply(sdfg::IndexFunction function, std::vector<TensorId> operands,
                 sdfg::Device device = 0) {
    return small_.Apply(&small_.problem.parallel, std::move(function), operands, device);
  }
  TensorId AddUp(std::vector<TensorId> operands, sdfg::ReduceKind how = sdfg::ReduceKind::kSum) {
    const sdfg::Shape shape = small_.problem.parallel.tensors[operands[0]].shape;
    const int size = static_cast<int>(operands.size());
    const TensorId sum = Apply(*sdfg::AllReduce(shape, sdfg::DType::kFloat32, size, how), operands);
    sdfg::Graph& plan = small_.problem.parallel;
    plan.operators[plan.tensors[sum].producer].kind = OperatorKind::kAllReduce;
    return sum;
  }
  // The tensor is required, whatever the model has.
  void Want(TensorId tensor) {
    const sdfg::Shape shape = small_.problem.parallel.tensors[tensor].shape;
    small_.Require(tensor, small_.Logical("wanted", shape), std::vector<int64_t>(shape.size(), 0));
    wanted_.push_back(tensor);
  }
  // With the same numbers in what is required.
  std::optional<Problem> Rewritten() {
    small_.Check();
    std::optional<Problem> rewritten = WithReadsOfParts(small_.problem);
    if (!rewritten.has_value()) return rewritten;
    EXPECT_TRUE(AreMadeByTheirProducers(rewritten->parallel));
    EXPECT_TRUE(AreMadeByTheirProducers(rewritten->logical));
    EXPECT_TRUE(rewritten->parallel.Check().ok());
    EXPECT_EQ(rewritten->lineage.size(), rewritten->parallel.tensors.size());
    std::map<TensorId, sdfg::DenseTensor> inputs;
    double number = 0;
    for (size_t t = 0; t < small_.problem.parallel.tensors.size(); ++t) {
      const sdfg::Tensor& tensor = small_.problem.parallel.tensors[t];
      if (tensor.producer != kNone) continue;
      sdfg::DenseTensor& values = inputs[static_cast<TensorId>(t)];
      values.shape = tensor.shape;
      for (int64_t i = 0; i < tensor.shape[0]; ++i) values.data.push_back(number += 1.5);
    }
    const auto before = sdfg::EvaluateDenseGraph(small_.problem.parallel, inputs);
    const auto after = sdfg::EvaluateDenseGraph(rewritten->parallel, inputs);
    EXPECT_TRUE(before.ok() && after.ok()) << after.status();
    if (!before.ok() || !after.ok()) return std::nullopt;
    for (const TensorId t : wanted_) EXPECT_EQ((*before)[t].data, (*after)[t].data);
    return rewritten;
  }
  // Each result says which operator makes it, as Check would have it.
  static bool AreMadeByTheirProducers(const sdfg::Graph& graph) {
    std::vector<sdfg::OperatorId> producers(graph.tensors.size(), kNone);
    for (size_t o = 0; o < graph.operators.size(); ++o) {
      for (const TensorId t : graph.operators[o].outputs) {
        if (t != kNone) producers[t] = static_cast<sdfg::OperatorId>(o);
      }
    }
    for (size_t t = 0; t < producers.size(); ++t) {
      if (graph.tensors[t].producer != producers[t]) return false;
    }
    return true;
  }
  static const sdfg::Operator& ProducerOf(const Problem& problem, TensorId tensor) {
    return problem.parallel.operators[problem.parallel.tensors[tensor].producer];
  }

  shape_reduction::SmallProblem small_;
  std::vector<TensorId> wanted_;
};

TEST_F(ReadsOfParts, APartIsReadFromTheTensorInWhichItLies) {
  const TensorId a = Held(4), b = Held(6);
  const TensorId joined = Apply(Join(4, 6), {a, b});
  const TensorId first = Apply(RowsOf(10, 0, 2), {joined});
  const TensorId second = Apply(RowsOf(10, 6, 2), {joined});
  Want(first);
  Want(second);
  const std::optional<Problem> rewritten = Rewritten();
  ASSERT_TRUE(rewritten.has_value());
  EXPECT_EQ(ProducerOf(*rewritten, first).inputs, std::vector<TensorId>{a});
  EXPECT_EQ(ProducerOf(*rewritten, second).inputs, std::vector<TensorId>{b});
}

// So that layers, whose gradients lie each elsewhere, have operators of one function.
TEST_F(ReadsOfParts, PartsThatAreReadAlikeHaveOneFunction) {
  const TensorId a = Held(4), b = Held(4);
  const TensorId joined = Apply(Join(4, 4), {a, b});
  const TensorId first = Apply(RowsOf(8, 0, 2), {joined});
  const TensorId second = Apply(RowsOf(8, 4, 2), {joined});
  Want(first);
  Want(second);
  EXPECT_NE(ProducerOf(small_.problem, first).function,
            ProducerOf(small_.problem, second).function);
  const std::optional<Problem> rewritten = Rewritten();
  ASSERT_TRUE(rewritten.has_value());
  EXPECT_EQ(ProducerOf(*rewritten, first).function, ProducerOf(*rewritten, second).function);
}

TEST_F(ReadsOfParts, ABufferThatRanksAddUpIsAddedUpPartByPart) {
  const TensorId a = Held(4), b = Held(6), c = Held(4, 1), d = Held(6, 1);
  const TensorId sum =
      AddUp({Apply(Join(4, 6), {a, b}), Apply(Join(4, 6), {c, d}, 1)}, sdfg::ReduceKind::kSum);
  const TensorId rows = Apply(RowsOf(10, 4, 3), {sum}), again = Apply(RowsOf(10, 4, 1), {sum});
  const TensorId others = Apply(RowsOf(10, 0, 2), {sum});
  for (const TensorId t : {rows, again, others}) Want(t);
  const std::optional<Problem> rewritten = Rewritten();
  ASSERT_TRUE(rewritten.has_value());
  const TensorId part = ProducerOf(*rewritten, rows).inputs[0];
  const sdfg::Operator& adds = ProducerOf(*rewritten, part);
  EXPECT_EQ(adds.kind, OperatorKind::kAllReduce);
  EXPECT_EQ(adds.inputs, (std::vector<TensorId>{b, d}));
  EXPECT_EQ(ProducerOf(*rewritten, again).inputs[0], part);
  EXPECT_NE(ProducerOf(*rewritten, others).inputs[0], part);
}

TEST_F(ReadsOfParts, WhatIsReducedOtherwiseIsReducedSoPartByPart) {
  for (const sdfg::ReduceKind how : {sdfg::ReduceKind::kAvg, sdfg::ReduceKind::kMax}) {
    small_ = {};
    wanted_ = {};
    const TensorId sum = AddUp(
        {Apply(Join(2, 6), {Held(2), Held(6)}), Apply(Join(2, 6), {Held(2, 1), Held(6, 1)}, 1)},
        how);
    Want(Apply(RowsOf(8, 2, 3), {sum}));
    EXPECT_TRUE(Rewritten().has_value());
  }
}

// Rank 1 adds what it has of other parameters: no part of the sum is a sum of parts.
TEST_F(ReadsOfParts, BuffersThatRanksJoinedOtherwiseStay) {
  const TensorId sum = AddUp(
      {Apply(Join(4, 6), {Held(4), Held(6)}), Apply(Join(6, 4), {Held(6, 1), Held(4, 1)}, 1)});
  Want(Apply(RowsOf(10, 0, 2), {sum}));
  EXPECT_FALSE(Rewritten().has_value());
}

// Each copy reads what was joined, too: a long chain of them is not followed from each.
TEST_F(ReadsOfParts, CopiesAreFollowedSoFar) {
  for (const int copies : {16, 17}) {
    small_ = {};
    wanted_ = {};
    TensorId last = Apply(Join(4, 4), {Held(4), Held(4)});
    for (int k = 0; k < copies; ++k) last = Apply(Instantiate("identity", {{8}}), {last});
    Want(Apply(RowsOf(8, 4, 2), {last}));
    EXPECT_EQ(Rewritten().has_value(), copies == 16);
  }
}

TEST_F(ReadsOfParts, AReadBeyondOnePartStays) {
  const TensorId joined = Apply(Join(3, 5), {Held(3), Held(5)});
  Want(Apply(RowsOf(8, 2, 1), {joined}));
  EXPECT_FALSE(Rewritten().has_value());
}

// What is joined may be a part of what the model joins: both are read as they are then.
TEST_F(ReadsOfParts, WhereSomethingIsStillMadeOfAllNothingChanges) {
  const TensorId joined = Apply(Join(4, 4), {Held(4), Held(4)});
  Want(Apply(RowsOf(8, 0, 2), {joined}));
  Want(Apply(RowsOf(8, 2, 3), {joined}));
  EXPECT_FALSE(Rewritten().has_value());
}

TEST_F(ReadsOfParts, WherePlansSayWhatTensorsAreNothingChanges) {
  const TensorId joined = Apply(Join(4, 4), {Held(4), Held(4)});
  Want(Apply(RowsOf(8, 0, 2), {joined}));
  small_.Claim(joined, small_.Logical("joined", {8}), {0});
  EXPECT_FALSE(Rewritten().has_value());
}

// y[i] = a[i + 2] of the second half of a: no element is where joining puts it.
TEST_F(ReadsOfParts, WhatIsJoinedFromElsewhereIsReadFromThere) {
  sdfg::IndexFunctionBuilder builder("odd");
  builder.AddInput("a", {8}, sdfg::DType::kFloat32);
  builder.AddInput("b", {6}, sdfg::DType::kFloat32);
  const int output = builder.AddOutput("y", sdfg::Shape{8}, sdfg::DType::kFloat32);
  const sdfg::ExprId i = builder.Index(builder.OutputDims(output)[0]);
  builder.SetBody(output, builder.Select(builder.Binary(sdfg::Op::kIntLess, i, builder.Int(4)),
                                         builder.Element(0, {builder.IntAdd(i, builder.Int(2))}),
                                         builder.Element(1, {builder.IntAdd(i, builder.Int(-2))})));
  sdfg::IndexFunction odd;
  ASSERT_TRUE(builder.Finish(&odd).ok());
  const TensorId a = Held(8), b = Held(6), joined = Apply(odd, {a, b});
  Want(Apply(RowsOf(8, 2, 1), {joined}));
  Want(Apply(RowsOf(8, 4, 2), {joined}));
  EXPECT_TRUE(Rewritten().has_value());
}

// Of such parts no sum is made: elements of one stand where the other has others.
TEST_F(ReadsOfParts, ASumOfShiftedElementsStays) {
  sdfg::IndexFunctionBuilder builder("shifted_sum");
  for (const char* name : {"a", "b"}) builder.AddInput(name, {8}, sdfg::DType::kFloat32);
  const int output = builder.AddOutput("y", sdfg::Shape{8}, sdfg::DType::kFloat32);
  const sdfg::ExprId i = builder.Index(builder.OutputDims(output)[0]);
  const sdfg::ExprId back = builder.IntAdd(builder.Int(7), builder.IntScale(-1, i));
  builder.SetBody(
      output, builder.Binary(sdfg::Op::kAdd, builder.Element(0, {i}), builder.Element(1, {back})));
  sdfg::IndexFunction sum;
  ASSERT_TRUE(builder.Finish(&sum).ok());
  const TensorId one = Apply(Join(4, 4), {Held(4), Held(4)});
  const TensorId other = Apply(Join(4, 4), {Held(4), Held(4)});
  Want(Apply(RowsOf(8, 0, 2), {Apply(sum, {one, other})}));
  EXPECT_FALSE(Rewritten().has_value());
}

// y[i] = i of joined integers: element 5 of it is 5, also where the second part begins with 4.
TEST_F(ReadsOfParts, WhatNumbersPlacesStays) {
  sdfg::IndexFunctionBuilder join("join");
  for (const char* name : {"a", "b"}) join.AddInput(name, {4}, sdfg::DType::kInt64);
  const int joins = join.AddOutput("y", sdfg::Shape{8}, sdfg::DType::kInt64);
  const sdfg::ExprId i = join.Index(join.OutputDims(joins)[0]);
  join.SetBody(joins,
               join.Select(join.Binary(sdfg::Op::kIntLess, i, join.Int(4)), join.IntElement(0, {i}),
                           join.IntElement(1, {join.IntAdd(i, join.Int(-4))})));
  sdfg::IndexFunctionBuilder number("number");
  number.AddInput("x", {8}, sdfg::DType::kInt64);
  const int numbers = number.AddOutput("y", sdfg::Shape{8}, sdfg::DType::kInt64);
  number.SetBody(numbers, number.Index(number.OutputDims(numbers)[0]));
  sdfg::IndexFunctionBuilder read("read");
  read.AddInput("x", {8}, sdfg::DType::kInt64);
  const int reads = read.AddOutput("y", sdfg::Shape{2}, sdfg::DType::kInt64);
  const sdfg::ExprId place = read.IntAdd(read.Index(read.OutputDims(reads)[0]), read.Int(5));
  read.SetBody(reads, read.IntElement(0, {place}));
  sdfg::IndexFunction joined, numbered, part;
  ASSERT_TRUE(join.Finish(&joined).ok() && number.Finish(&numbered).ok() &&
              read.Finish(&part).ok());
  const auto held = [&](const char* name) {
    const sdfg::Shape shape = {4};
    return small_.Slice(small_.Logical(name, shape, sdfg::TensorRole::kInput, sdfg::DType::kInt64),
                        std::vector<int64_t>{0}, shape);
  };
  const TensorId all = Apply(joined, {held("a"), held("b")});
  Want(Apply(part, {Apply(numbered, {all})}));
  EXPECT_FALSE(Rewritten().has_value());
}

}  // namespace
}  // namespace planproof::lineage
