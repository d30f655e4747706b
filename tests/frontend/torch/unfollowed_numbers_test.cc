// Numbers that left tensors: functions of them in the graph, and what is listed where they are
// lost.
#include "frontend/torch/unfollowed_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/torch/carried_state.h"
#include "frontend/torch/problem_of_traces.h"
#include "nlohmann/json.hpp"
#include "tests/frontend/torch/one_process.h"

namespace planproof::frontend::torch {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json Item() { return {{"item", 0}}; }
json Scaled(double factor) { return json::array({"mul", Item(), factor}); }
json Floor(json of) { return json::array({"call", "floor", std::move(of)}); }

// y = x * NUMBER, where the sum of x left the graph before.
json Scaling(const json& number) {
  OneProcess process;
  const int x = process.Add("float32", {4}), y = process.Add("float32", {4});
  const int sum = process.Add("float32", {});
  const json inputs = json::array({{{"role", "input"}, {"name", "x"}, {"tensor", x}}});
  json trace = process.Trace(
      inputs,
      json::array(
          {{{"op", "aten.sum.default"}, {"args", {TensorAt(x)}}, {"out", {TensorAt(sum)}}},
           {{"op", "aten._local_scalar_dense.default"},
            {"args", {TensorAt(sum)}},
            {"out", {12.0}},
            {"item", 0}},
           {{"op", "aten.mul.Tensor"}, {"args", {TensorAt(x), number}}, {"out", {TensorAt(y)}}}}),
      y);
  trace["planproof_torch_trace"] = 2;
  trace["strings"] = {"train.py:3: k = f(n)"};
  return trace;
}

json Entry(const std::string& way, const std::string& by, const json& of, const json& value) {
  return {{"way", way},
          {"by", by},
          {"of", json::array({of})},
          {"value", json::array({value})},
          {"source", 0}};
}

Trace Parsed(const json& trace, const std::string& path = "rank0.trace") {
  return ParseTrace(trace.dump(), path).value();
}

// The names of opaque functions in the ranks' graph.
std::vector<std::string> Functions(const Trace& trace, std::vector<std::string>* assumptions) {
  const lineage::Problem problem =
      ProblemOfTraces(trace, {trace}, sdfg::OperatorLibrary::BuiltIn()).value();
  std::vector<std::string> found;
  for (const sdfg::Operator& op : problem.parallel.operators) {
    if (op.function == nullptr) continue;
    for (const sdfg::Node& node : op.function->nodes) {
      if (node.op == sdfg::Op::kOpaque) found.push_back(node.name);
    }
  }
  *assumptions = problem.assumptions;
  return found;
}

TEST(UnfollowedNumbers, AFunctionOfPythonsIsAFunctionInTheGraph) {
  std::vector<std::string> assumptions;
  EXPECT_THAT(
      Functions(Parsed(Scaling({{"computed", Floor(Scaled(1.25))}, {"value", 15}})), &assumptions),
      ElementsAre("python_floor"));
  EXPECT_THAT(assumptions, testing::Not(Contains(HasSubstr("recorded way"))));
}

TEST(UnfollowedNumbers, ANumberThatMayComeFromAConversionIsSaid) {
  json trace = Scaling({{"may_be", 0}, {"value", 15.0}});
  trace["numbers"] = json::array({Entry("conversion", "int", Floor(Scaled(1.25)), 15)});
  std::vector<std::string> assumptions;
  EXPECT_THAT(Functions(Parsed(trace), &assumptions), ElementsAre("python_floor"));
  EXPECT_THAT(assumptions, Contains(AllOf(HasSubstr("the number 15"), HasSubstr("int() gives at"),
                                          HasSubstr("train.py:3"))));
}

TEST(UnfollowedNumbers, AFunctionOfAConstantIsItsValue) {
  json trace = Scaling({{"computed", Floor(json::array({"add", 2.25, 0.5}))}, {"value", 2}});
  std::vector<std::string> assumptions;
  EXPECT_THAT(Functions(Parsed(trace), &assumptions), IsEmpty());
}

TEST(UnfollowedNumbers, ASizeThatTheReferenceDoesNotComputeInThisWayHasNoVerdict) {
  json reference = Scaling(2.0), rank = Scaling(2.0);
  reference["numbers"] = json::array({Entry("argument", "narrow", Floor(Scaled(1.25)), 15)});
  rank["numbers"] = json::array({Entry("argument", "narrow", Floor(Scaled(1.28)), 15)});
  EXPECT_TRUE(SameUnfollowedNumbers(Parsed(reference), {Parsed(reference)}).ok());
  for (const auto& [first, second] :
       {std::pair(reference, rank), std::pair(reference, Scaling(2.0)),
        std::pair(Scaling(2.0), rank)}) {
    const absl::Status status = SameUnfollowedNumbers(Parsed(first), {Parsed(second)});
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("train.py:3"), HasSubstr("the number 15"), HasSubstr("narrow()")));
  }
}

TEST(UnfollowedNumbers, DecisionsAndSizesAreListedOnce) {
  json trace = Scaling(2.0);
  json decision = Entry("decision", "<", Item(), 12.0);
  decision["of"].push_back(3);
  decision["value"].push_back(3);
  trace["numbers"] = json::array({decision, Entry("argument", "narrow", Item(), 12)});
  const Trace parsed = Parsed(trace);
  EXPECT_THAT(
      AssumedOfNumbers(parsed, {parsed, parsed}),
      ElementsAre(AllOf(HasSubstr("recorded way"), HasSubstr("12 < 3"), HasSubstr("train.py:3")),
                  AllOf(HasSubstr("narrow() (12)"), HasSubstr("train.py:3"))));
}

TEST(UnfollowedNumbers, ReadingsOfTheEnvironmentAreListedByValue) {
  std::vector<Trace> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    json trace = Scaling(2.0);
    trace["rank"] = rank;
    trace["world"] = 4;
    trace["environment"] = {{"LOCAL_RANK", std::to_string(rank % 2)}, {"MODE", "fast"}};
    ranks.push_back(Parsed(trace));
  }
  EXPECT_THAT(
      AssumedOfEnvironment(Parsed(Scaling(2.0)), ranks),
      ElementsAre("the program reads LOCAL_RANK from its environment: 0 on ranks 0, 2; 1 on "
                  "ranks 1, 3",
                  "the program reads MODE from its environment: fast"));
}

// y = x + average, where the average is what an iteration before left.
json Averaging(double first, bool carried, bool added = true) {
  json trace = Scaling(2.0);
  trace["storages"].push_back({{"dtype", "float32"}, {"size", 2}, {"values", {first, 0.5}}});
  if (carried) trace["storages"].back()["carried"] = true;
  const int average = static_cast<int>(trace["tensors"].size());
  trace["tensors"].push_back(json::array({3, "float32", 0, {1}, {1}}));
  if (added) {
    json& mul = trace["operators"].back();
    mul["op"] = "aten.add.Tensor";
    mul["args"][1] = TensorAt(average);
    mul["source"] = 0;
  }
  return trace;
}

TEST(CarriedState, StateThatDiffersFromTheReferencesIsNoConstant) {
  const Trace reference = Parsed(Averaging(0.25, true));
  const auto decided = [&](const json& rank) {
    return ProblemOfTraces(reference, {Parsed(rank)}, sdfg::OperatorLibrary::BuiltIn()).status();
  };
  EXPECT_TRUE(decided(Averaging(0.25, true)).ok());
  EXPECT_TRUE(decided(Averaging(0.75, false)).ok());  // a constant, that may refute
  // One of the reference's but for its last bits, which must not refute.
  EXPECT_EQ(decided(Averaging(0.25000006, false)).code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(decided(Averaging(0.25000006, true, false)).ok());
  const absl::Status status = decided(Averaging(0.25000006, true));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("train.py:3"), HasSubstr("these 2 float32"),
                    HasSubstr("nobody named"), HasSubstr("inputs=")));
}

TEST(CarriedState, StateOfVersion1IsFoundByItsBeingWritten) {
  json trace = Averaging(0.25, false);
  EXPECT_THAT(CarriedStorages(Parsed(trace)), IsEmpty());
  trace["operators"].push_back({{"op", "aten.mul_.Tensor"},
                                {"args", {TensorAt(3), 0.5}},
                                {"out", {TensorAt(3)}},
                                {"writes", {3}}});
  EXPECT_THAT(CarriedStorages(Parsed(trace)), IsEmpty());  // the recorder would have said it
  trace["planproof_torch_trace"] = 1;
  EXPECT_THAT(CarriedStorages(Parsed(trace)), ElementsAre(3));
}

}  // namespace
}  // namespace planproof::frontend::torch
