// Calls that differ in anything on which a call depends are made apart.
#include "frontend/plan/local_calls.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::plan {
namespace {

using sdfg::DType;
using sdfg::Shape;

struct Call {
  std::string name;  // of the ingredient in which it differs from the first
  Operator op;
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
  std::vector<AxisList> axes;
  std::vector<std::optional<int64_t>> fixed;
};

// Axes 0 and 1 have 2 and 4 coordinates.
sdfg::Graph GraphWithAxes() {
  sdfg::Graph graph;
  graph.axes = {{"dp", 2}, {"tp", 4}};
  return graph;
}

class CallsOfOneGraph {
 public:
  CallsOfOneGraph()
      : graph_(GraphWithAxes()), calls_(sdfg::OperatorLibrary::BuiltIn(), {}, &graph_) {}

  std::shared_ptr<const LocalCall> Of(const Call& call) {
    ProgramCoordinates coordinates;
    coordinates.axes = &graph_.axes;
    coordinates.fixed = call.fixed;
    auto made = calls_.Of(call.op, call.shapes, call.dtypes, call.axes, &coordinates);
    EXPECT_TRUE(made.ok()) << call.name << ": " << made.status();
    return made.ok() ? *made : nullptr;
  }
  std::string Derivative(const Call& call, const std::vector<int>& wrt,
                         const std::vector<int>& gradients,
                         const std::vector<AxisList>& operand_axes, const AxisList& output_axes) {
    const auto made = calls_.DerivativeOf(Of(call), wrt, gradients, operand_axes, output_axes);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? (*made)->function->Serialize() : "";
  }

 private:
  sdfg::Graph graph_;
  LocalCalls calls_;
};

std::string TextOfCall(const LocalCall& call) {
  std::string text = call.op + "\n" + call.function->operator_name + call.function->Serialize();
  for (const sdfg::IndexFunction& variant : call.variants) text += "\n" + variant.Serialize();
  for (const sdfg::AxisId axis : call.output_axes) absl::StrAppend(&text, " ", axis);
  for (const sdfg::AxisId axis : call.special) absl::StrAppend(&text, " special ", axis);
  for (const auto& [name, value] : call.attributes) absl::StrAppend(&text, " ", name, "=", value);
  absl::StrAppend(&text, " ", call.memory.overwrites, call.memory.view, call.memory.one_pass);
  return text;
}

void SetAttribute(Operator* op, const std::string& name, int64_t value) {
  Attribute* attribute = op->add_attributes();
  attribute->set_name(name);
  attribute->mutable_value()->set_integer(value);
}

// y = x[tp * 2 : tp * 2 + 2], where x may vary over dp.
Call Narrow() {
  Call call{"the first", {}, {{8, 8}}, {DType::kFloat32}, {{0}}, {std::nullopt, std::nullopt}};
  call.op.set_op("narrow");
  call.op.add_inputs()->set_tensor("x");
  SetAttribute(&call.op, "dim", 0);
  SetAttribute(&call.op, "length", 2);
  Attribute* start = call.op.add_attributes();
  start->set_name("start");
  start->mutable_value()->set_expression("tp * 2");
  return call;
}

std::vector<Call> Narrows() {
  std::vector<Call> calls = {Narrow()};
  const auto another = [&](const std::string& name) -> Call& {
    calls.push_back(Narrow());
    calls.back().name = name;
    return calls.back();
  };
  another("attribute").op.mutable_attributes(0)->mutable_value()->set_integer(1);
  another("expression").op.mutable_attributes(2)->mutable_value()->set_expression("tp");
  another("shape").shapes[0] = {8, 6};
  another("element type").dtypes[0] = DType::kFloat64;
  another("axes of an operand").axes[0] = {};
  another("coordinate fixed").fixed[1] = 1;
  another("another coordinate").fixed[1] = 2;
  another("axis of a name").op.mutable_attributes(2)->mutable_value()->set_expression("dp * 2");
  Call& clone = another("operator");
  clone.op.set_op("clone");
  clone.op.clear_attributes();
  return calls;
}

Call Product(const std::string& literal) {
  Call call{literal, {}, {{4}}, {DType::kFloat32}, {{}}, {std::nullopt, std::nullopt}};
  call.op.set_op("mul");
  call.op.add_inputs()->set_tensor("x");
  if (literal == "absent") {
    call.op.set_op("sum");
  } else if (literal.empty()) {
    call.op.add_inputs()->set_tensor("y");
    call.shapes.push_back({4});
    call.dtypes.push_back(DType::kFloat32);
    call.axes.emplace_back();
  } else {
    call.op.add_inputs()->set_literal(literal);
  }
  return call;
}

TEST(LocalCalls, ACallIsWhatItIsByItself) {
  std::vector<Call> calls = Narrows();
  for (const char* literal : {"2", "3", "2.5", "", "absent"}) calls.push_back(Product(literal));
  Call inplace{"relu", {}, {{4}}, {DType::kFloat32}, {{}}, {std::nullopt, std::nullopt}};
  inplace.op.set_op("relu");
  inplace.op.add_inputs()->set_tensor("x");
  calls.push_back(inplace);
  Attribute* flag = inplace.op.add_attributes();
  flag->set_name("inplace");
  flag->mutable_value()->set_boolean(true);
  calls.push_back(inplace);
  CallsOfOneGraph shared;
  std::vector<std::shared_ptr<const LocalCall>> made;
  for (const Call& call : calls) {
    CallsOfOneGraph alone;
    made.push_back(shared.Of(call));
    ASSERT_NE(made.back(), nullptr);
    EXPECT_EQ(TextOfCall(*made.back()), TextOfCall(*alone.Of(call))) << call.name;
    for (size_t k = 0; k + 1 < made.size(); ++k) {
      EXPECT_NE(made[k], made.back()) << call.name << " and " << calls[k].name;
    }
  }
  for (size_t k = 0; k < calls.size(); ++k) EXPECT_EQ(shared.Of(calls[k]), made[k]);
  Call renamed = calls[0];
  renamed.op.mutable_inputs(0)->set_tensor("another");
  renamed.op.set_name("named");
  renamed.op.add_outputs("out");
  EXPECT_EQ(shared.Of(renamed), made[0]) << "names are no part of it";
}

TEST(LocalCalls, ADerivativeIsWhatItIsByItself) {
  const Call product = Product("");
  CallsOfOneGraph shared;
  std::vector<std::string> texts;
  const auto check = [&](const Call& call, const std::vector<int>& wrt,
                         const std::vector<AxisList>& operand_axes, const AxisList& output_axes) {
    CallsOfOneGraph alone;
    texts.push_back(shared.Derivative(call, wrt, {0}, operand_axes, output_axes));
    EXPECT_EQ(texts.back(), alone.Derivative(call, wrt, {0}, operand_axes, output_axes));
  };
  check(product, {0}, {{}, {}, {}}, {});
  check(product, {1}, {{}, {}, {}}, {});
  check(product, {1, 0}, {{}, {}, {}}, {});
  check(Product("2"), {0}, {{}, {}}, {});
  check(Narrow(), {0}, {{0}, {0, 1}}, {0, 1});
  check(Narrow(), {0}, {{0}, {1}}, {0, 1});
  check(Narrow(), {0}, {{}, {1}}, {1});
  const std::set<std::string> different(texts.begin(), texts.end());
  EXPECT_EQ(different.size(), texts.size());
}

// Of collectives that read tensors alike in all but one respect, each is what it is by itself.
TEST(LocalCalls, ACollectiveIsWhatItIsByItself) {
  const auto plan = [](const std::vector<std::string>& operators) {
    std::string list;
    for (size_t k = 0; k < operators.size(); ++k) {
      absl::StrAppend(&list, k == 0 ? "" : ",\n", "{", operators[k], R"(, "out": "r)", k, "\"}");
    }
    return absl::StrCat(R"({"planproof": 1, "specification": {
        "inputs": {"x": [8, 8], "n": "float64[8, 8]", "s": [8]},
        "operators": [{"op": "exp", "in": "x", "out": "y"}],
        "outputs": ["y"]},
      "plan": {"mesh": {"dp": 2, "tp": 2}, "programs": [{
        "inputs": {"x": {}, "n": {}, "s": {}, "v": {"of": "x", "0": "tp"}},
        "operators": [{"op": "exp", "in": "x", "out": "y"}, )",
                        list, "]}]}}");
  };
  const std::vector<std::string> operators = {
      R"("op": "all_reduce", "over": "tp", "in": "x")",
      R"("op": "all_reduce", "over": "tp", "in": "x", "reduce": "max")",
      R"("op": "all_reduce", "over": "dp", "in": "x")",
      R"("op": "all_reduce", "over": "tp", "in": "n")",
      R"("op": "all_reduce", "over": "tp", "in": "v")",
      R"("op": "all_gather", "over": "tp", "in": "x", "dim": 0)",
      R"("op": "all_gather", "over": "tp", "in": "x", "dim": 1)",
      R"("op": "reduce_scatter", "over": "tp", "in": "x", "dim": 1)",
      R"("op": "chunk", "over": "tp", "in": "x", "dim": 1)",
      R"("op": "chunk", "over": "tp", "in": "x", "dim": 0)",
      R"("op": "all_to_all", "over": "tp", "in": "x", "split_dim": 0, "concat_dim": 1)",
      R"("op": "all_to_all", "over": "tp", "in": "x", "split_dim": 1, "concat_dim": 0)",
      R"("op": "broadcast", "over": "tp", "in": "x", "root": 0)",
      R"("op": "broadcast", "over": "tp", "in": "x", "root": 1)",
      R"("op": "permute", "over": "tp", "in": "x", "shift": 1)",
      R"("op": "permute", "over": "tp", "in": "x", "pairs": [[0, 1]])",
      R"("op": "permute", "over": "tp", "in": "x", "pairs": [[1, 0]])"};
  const auto read_all = ReadText(plan(operators));
  ASSERT_TRUE(read_all.ok()) << read_all.status();
  const auto function = [](const lineage::Problem& problem, const std::string& name) {
    for (const sdfg::Tensor& tensor : problem.parallel.tensors) {
      if (tensor.name != name) continue;
      const sdfg::Operator& op = problem.parallel.operators[tensor.producer];
      return op.function->operator_name + op.function->Serialize();
    }
    return std::string("none");
  };
  for (size_t k = 0; k < operators.size(); ++k) {
    const auto alone = ReadText(plan({operators[k]}));
    ASSERT_TRUE(alone.ok()) << operators[k] << alone.status();
    EXPECT_EQ(function(*read_all, absl::StrCat("r", k)), function(*alone, "r0")) << operators[k];
  }
}

}  // namespace
}  // namespace planproof::plan
