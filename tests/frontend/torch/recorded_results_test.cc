// Traces that PyTorch cannot have given: results of other shapes, types and places than arguments
// say, and memory that is used before it is there.
#include "frontend/torch/recorded_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/torch/problem_of_traces.h"
#include "frontend/torch/trace.h"
#include "nlohmann/json.hpp"
#include "tests/frontend/torch/one_process.h"

namespace planproof::frontend::torch {
namespace {

using nlohmann::json;
using testing::HasSubstr;

absl::Status ReadReference(const json& trace) {
  const auto parsed = ParseTrace(trace.dump(), "call");
  if (!parsed.ok()) return parsed.status();
  lineage::ProblemBuilder problem;
  Relations relations(&problem, {});
  std::set<std::string> decided;
  return AddReference(*parsed, sdfg::OperatorLibrary::BuiltIn(), &problem, &relations, false,
                      &decided);
}

struct ShownTensor {
  std::string dtype;
  std::vector<int64_t> shape;
};

// What reading says of one operator: tensors stand as their numbers among `operands` in `args`, as
// {"tensor": 0}.
absl::Status ReadCall(const std::string& op, const std::vector<ShownTensor>& operands,
                      const json& args, const ShownTensor& result,
                      const json& kwargs = json::object()) {
  OneProcess process;
  json inputs = json::array();
  for (const ShownTensor& operand : operands) {
    const int number = process.Add(operand.dtype, operand.shape);
    inputs.push_back(
        {{"role", "input"}, {"name", "x" + std::to_string(number)}, {"tensor", number}});
    if (operand.dtype.starts_with("int")) inputs.back()["domain"] = {0, 2};
  }
  const int made = process.Add(result.dtype, result.shape);
  return ReadReference(process.Trace(
      inputs,
      json::array({{{"op", op}, {"args", args}, {"kwargs", kwargs}, {"out", {TensorAt(made)}}}}),
      made));
}

void ExpectImpossible(const absl::Status& status, const std::string& part) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  EXPECT_THAT(std::string(status.message()), HasSubstr("record again"));
}

const ShownTensor kTwoRows{"float32", {2, 3}}, kOneRow{"float32", {3}}, kCounts{"int64", {2, 3}};
const json kTensor0 = TensorAt(0), kTensor1 = TensorAt(1);

TEST(RecordedResults, AProductHasTheShapeOfItsOperands) {
  const ShownTensor right{"float32", {3, 4}};
  const auto product = [&](const ShownTensor& y, const ShownTensor& result) {
    return ReadCall("aten.mm.default", {kTwoRows, y}, {kTensor0, kTensor1}, result);
  };
  EXPECT_TRUE(product(right, {"float32", {2, 4}}).ok());
  ExpectImpossible(product(right, {"float32", {2, 3}}), "by the arguments it is [2, 4]");
  ExpectImpossible(product(kTwoRows, {"float32", {2, 3}}), "the operands do not fit");
}

TEST(RecordedResults, AReductionDropsItsDimensions) {
  const auto sum = [&](const json& dims, bool keepdim, const std::vector<int64_t>& shape) {
    return ReadCall("aten.sum.dim_IntList", {kTwoRows}, {kTensor0, dims, keepdim},
                    {"float32", shape});
  };
  EXPECT_TRUE(sum({1}, false, {2}).ok());
  EXPECT_TRUE(sum({-1}, true, {2, 1}).ok());
  ExpectImpossible(sum({1}, false, {2, 1}), "it is [2]");
  ExpectImpossible(sum({0}, false, {2}), "it is [3]");
}

TEST(RecordedResults, OperandsAreBroadcastNoFurtherThanTheyAre) {
  const auto add = [&](const std::vector<int64_t>& shape) {
    return ReadCall("aten.add.Tensor", {kTwoRows, kOneRow}, {kTensor0, kTensor1},
                    {"float32", shape});
  };
  EXPECT_TRUE(add({2, 3}).ok());
  ExpectImpossible(add({4, 2, 3}), "it is [2, 3]");
}

TEST(RecordedResults, JoinedTensorsAddUpAlongOneDimension) {
  const auto cat = [&](const std::vector<int64_t>& shape) {
    return ReadCall("aten.cat.default", {kTwoRows, kTwoRows},
                    {json::array({kTensor0, kTensor1}), 1}, {"float32", shape});
  };
  EXPECT_TRUE(cat({2, 6}).ok());
  ExpectImpossible(cat({4, 3}), "it is [2, 6]");
}

TEST(RecordedResults, NewTensorsHaveTheSizeThatIsNamed) {
  EXPECT_TRUE(ReadCall("aten.zeros.default", {}, json::array({{2, 3}}), kTwoRows).ok());
  ExpectImpossible(ReadCall("aten.zeros.default", {}, json::array({{3, 2}}), kTwoRows), "[3, 2]");
}

TEST(RecordedResults, TypesArePromotedAsPyTorchDoes) {
  const auto add = [&](const ShownTensor& x, const json& y, const std::string& dtype) {
    return ReadCall("aten.add.Tensor", {x}, {kTensor0, y}, {dtype, {2, 3}});
  };
  EXPECT_TRUE(add(kCounts, 1, "int64").ok());
  EXPECT_TRUE(add(kTwoRows, 1, "float32").ok());
  ExpectImpossible(add(kTwoRows, 1, "int64"), "of int64");
  ExpectImpossible(add(kCounts, 1, "int32"), "of int32");
  ExpectImpossible(add(kCounts, 0.5, "int64"), "of int64");
  ExpectImpossible(ReadCall("aten.lt.Scalar", {kTwoRows}, {kTensor0, 1}, kTwoRows), "of float32");
  ExpectImpossible(
      ReadCall("aten.sum.default", {{"bool", {3}}}, json::array({kTensor0}), {"bool", {}}), "bool");
}

// The result of a view operator on 3 rows of 4.
absl::Status ReadView(const std::string& op, const json& args, int64_t offset,
                      const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  OneProcess process;
  const int x = process.Add("float32", {3, 4});
  json trace = process.Trace({{{"role", "input"}, {"name", "x"}, {"tensor", x}}}, json::array(), 1);
  trace["tensors"].push_back(json::array({0, "float32", offset, shape, strides}));
  json all = args;
  all.insert(all.begin(), TensorAt(x));
  trace["operators"] = json::array({{{"op", op}, {"args", all}, {"out", {TensorAt(1)}}}});
  return ReadReference(trace);
}

TEST(RecordedViews, LieWhereTheArgumentsSay) {
  EXPECT_TRUE(ReadView("aten.slice.Tensor", {0, -2}, 4, {2, 4}, {4, 1}).ok());
  EXPECT_TRUE(ReadView("aten.slice.Tensor", {0, -9, 9}, 0, {3, 4}, {4, 1}).ok());
  ExpectImpossible(ReadView("aten.slice.Tensor", {0, 1}, 0, {2, 4}, {4, 1}), "the view is");
  ExpectImpossible(ReadView("aten.slice.Tensor", {0, 0, 2}, 0, {3, 4}, {4, 1}), "the view is");
  EXPECT_TRUE(ReadView("aten.select.int", {1, -1}, 3, {3}, {4}).ok());
  ExpectImpossible(ReadView("aten.select.int", {1, -1}, 2, {3}, {4}), "the view is");
  EXPECT_TRUE(ReadView("aten.transpose.int", {0, 1}, 0, {4, 3}, {1, 4}).ok());
  ExpectImpossible(ReadView("aten.transpose.int", {0, 1}, 0, {4, 3}, {3, 1}), "the view is");
  EXPECT_TRUE(
      ReadView("aten.expand.default", json::array({{2, 3, 4}}), 0, {2, 3, 4}, {0, 4, 1}).ok());
  ExpectImpossible(ReadView("aten.expand.default", json::array({{2, 3, 4}}), 0, {3, 4}, {4, 1}),
                   "the view is");
  EXPECT_TRUE(ReadView("aten.view.default", json::array({{2, -1}}), 0, {2, 6}, {6, 1}).ok());
  ExpectImpossible(ReadView("aten.view.default", json::array({{2, -1}}), 0, {4, 3}, {3, 1}),
                   "the view is");
  ExpectImpossible(ReadView("aten.view.default", json::array({{4, 3}}), 0, {4, 3}, {1, 4}),
                   "the view is");
  ExpectImpossible(
      ReadView("aten.as_strided.default", {json::array({2}), json::array({2}), 1}, 0, {2}, {2}),
      "the view is");
}

// x, and y made of it by operators that use memory of their own.
json MemoryTrace(const json& operators) {
  OneProcess process;
  for (int number = 0; number < 3; ++number) process.Add("float32", {4});
  return process.Trace({{{"role", "input"}, {"name", "x"}, {"tensor", 0}}}, operators, 2);
}

json RecordedStep(const std::string& op, int from, int to, bool writes) {
  json step = {{"op", op}, {"args", json::array({TensorAt(from)})}, {"out", {TensorAt(to)}}};
  if (writes) {
    step["args"] = json::array({TensorAt(to), TensorAt(from)});
    step["writes"] = json::array({to});
  }
  return step;
}

TEST(RecordedMemory, IsNotReadBeforeItIsAllocated) {
  const json neg = RecordedStep("aten.neg.default", 0, 1, false),
             exp = RecordedStep("aten.exp.default", 1, 2, false);
  EXPECT_TRUE(ReadReference(MemoryTrace(json::array({neg, exp}))).ok());
  ExpectImpossible(ReadReference(MemoryTrace(json::array({exp, neg}))), "new memory");
}

TEST(RecordedMemory, IsNotReadIfItHoldsNothingAndNobodyAllocatedIt) {
  ExpectImpossible(
      ReadReference(MemoryTrace(json::array({RecordedStep("aten.exp.default", 1, 2, false)}))),
      "no operator allocated");
  const json copy = RecordedStep("aten.copy_.default", 0, 1, true);
  EXPECT_TRUE(
      ReadReference(MemoryTrace(json::array({copy, RecordedStep("aten.exp.default", 1, 2, false)})))
          .ok());
}

TEST(RecordedMemory, IsAllocatedOnce) {
  const json neg = RecordedStep("aten.neg.default", 0, 1, false);
  ExpectImpossible(ReadReference(MemoryTrace(json::array({neg, neg}))), "new memory");
}

}  // namespace
}  // namespace planproof::frontend::torch
