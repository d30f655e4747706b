// Numbers and element types: what PyTorch 2.15 computes, or that nothing is said. Values were
// printed by PyTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/problem_of_traces.h"
#include "frontend/torch/trace.h"
#include "nlohmann/json.hpp"
#include "sdfg/dense_evaluator.h"
#include "tests/frontend/torch/one_process.h"

namespace planproof::frontend::torch {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using Shape = std::vector<int64_t>;
using Numbers = std::vector<double>;

json DType(const std::string& name) { return {{"dtype", name}}; }

// A program of one process, and what its last result holds.
class TypedProgram {
 public:
  int Input(const std::string& dtype, const Shape& shape, const Numbers& values) {
    const int tensor = process_.Add(dtype, shape);
    const std::string name = absl::StrCat("x", tensor);
    json input = {{"role", "input"}, {"name", name}, {"tensor", tensor}};
    inputs_.push_back(std::move(input));
    values_[name] = values;
    return tensor;
  }
  int Apply(const std::string& op, const std::vector<json>& arguments, const std::string& dtype,
            const Shape& shape, const json& named = json::object()) {
    result_ = process_.Add(dtype, shape);
    operators_.push_back({{"op", op},
                          {"args", arguments},
                          {"kwargs", named},
                          {"out", json::array({TensorAt(result_)})}});
    return result_;
  }
  void Write(const std::string& op, int tensor, std::vector<json> arguments) {
    result_ = tensor;
    arguments.insert(arguments.begin(), TensorAt(tensor));
    operators_.push_back({{"op", op},
                          {"args", arguments},
                          {"out", json::array({TensorAt(tensor)})},
                          {"writes", json::array({tensor})}});
  }
  void WriteInto(const std::string& op, int tensor, const std::vector<json>& arguments) {
    result_ = tensor;
    operators_.push_back({{"op", op},
                          {"args", arguments},
                          {"kwargs", {{"out", TensorAt(tensor)}}},
                          {"out", json::array({TensorAt(tensor)})},
                          {"writes", json::array({tensor})}});
  }
  int Full(const std::string& dtype, const Shape& shape, const json& number) {
    return Apply("aten.full.default", {shape, number}, dtype, shape, {{"dtype", DType(dtype)}});
  }

  absl::StatusOr<Numbers> Result() const {
    const auto trace = ParseTrace(process_.Trace(inputs_, operators_, result_).dump(), "program");
    if (!trace.ok()) return trace.status();
    lineage::ProblemBuilder problem;
    Relations relations(&problem, {});
    std::set<std::string> decided;
    const absl::Status added = AddReference(*trace, sdfg::OperatorLibrary::BuiltIn(), &problem,
                                            &relations, false, &decided);
    if (!added.ok()) return added;
    std::map<sdfg::TensorId, sdfg::DenseTensor> inputs;
    for (const auto& [name, tensor] : relations.inputs()) {
      inputs[tensor] = {problem.logical.tensors[tensor].shape, values_.at(name)};
    }
    const auto values = sdfg::EvaluateDenseGraph(problem.logical, inputs);
    if (!values.ok()) return values.status();
    for (const auto& [key, tensor] : relations.results()) {
      if (key.first == ResultKind::kOutput) return (*values)[tensor].data;
    }
    return absl::NotFoundError("no result");
  }

 private:
  OneProcess process_;
  json inputs_ = json::array(), operators_ = json::array();
  std::map<std::string, Numbers> values_;
  int result_ = -1;
};

void ExpectResult(const TypedProgram& program, const Numbers& expected) {
  const auto result = program.Result();
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(*result, expected) << absl::StrJoin(*result, " ");
}

// UNKNOWN, and what the message names.
void ExpectNotDeclared(const TypedProgram& program, const std::string& what) {
  const auto result = program.Result();
  ASSERT_FALSE(result.ok()) << absl::StrJoin(*result, " ");
  EXPECT_EQ(result.status().code(), absl::StatusCode::kUnimplemented) << result.status().message();
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(what));
}

void ExpectMalformed(const TypedProgram& program, const std::string& what) {
  const auto result = program.Result();
  ASSERT_FALSE(result.ok()) << absl::StrJoin(*result, " ");
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument)
      << result.status().message();
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(what));
}

struct Filled {
  const char* dtype;
  json number;
  double held;
};

TEST(NumbersMeetTypes, WhereTensorsAreFilled) {
  for (const Filled& each : std::vector<Filled>{{"int64", 2.75, 2},
                                                {"int64", -2.75, -2},
                                                {"int32", 2.75, 2},
                                                {"uint8", -1, 255},
                                                {"bool", 0.5, 1},
                                                {"bool", 2, 1},
                                                {"bool", 0.0, 0},
                                                {"bool", true, 1},
                                                {"float32", 2.75, 2.75}}) {
    for (const Shape& shape : {Shape{}, Shape{3}}) {
      const Numbers held(shape.empty() ? 1 : 3, each.held);
      TypedProgram full;
      full.Full(each.dtype, shape, each.number);
      ExpectResult(full, held);

      TypedProgram written;
      written.Write("aten.fill_.Scalar", written.Full(each.dtype, shape, 0), {each.number});
      ExpectResult(written, held);

      TypedProgram like;
      const int zeros = like.Full(each.dtype, shape, 0);
      like.Apply("aten.full_like.default", {TensorAt(zeros), each.number}, each.dtype, shape);
      ExpectResult(like, held);

      TypedProgram other;
      const int of_other_type = other.Full("float64", shape, 0);
      other.Apply("aten.new_full.default", {TensorAt(of_other_type), shape, each.number},
                  each.dtype, shape, {{"dtype", DType(each.dtype)}});
      ExpectResult(other, held);
    }
  }
}

TEST(NumbersMeetTypes, WhereTheyAreCopied) {
  struct Copied {
    const char *from, *to;
    json number;
    double held;
  };
  for (const Copied& each : std::vector<Copied>{{"float64", "int64", 2.7, 2},
                                                {"float32", "int32", -2.5, -2},
                                                {"float64", "bool", 3.0, 1},
                                                {"int64", "bool", 2, 1},
                                                {"int64", "int8", 300, 44},
                                                {"int64", "uint8", -1, 255},
                                                {"int64", "int16", 40000, -25536},
                                                {"int8", "uint8", -3, 253},
                                                {"bool", "int64", true, 1},
                                                {"int64", "float32", 3, 3}}) {
    for (const Shape& shape : {Shape{}, Shape{2}}) {
      const Numbers held(shape.empty() ? 1 : 2, each.held);
      TypedProgram copy;
      copy.Apply("aten._to_copy.default", {TensorAt(copy.Full(each.from, shape, each.number))},
                 each.to, shape, {{"dtype", DType(each.to)}});
      ExpectResult(copy, held);

      TypedProgram written;
      const int source = written.Full(each.from, shape, each.number);
      written.Write("aten.copy_.default", written.Full(each.to, shape, 0), {TensorAt(source)});
      ExpectResult(written, held);
    }
  }
}

TEST(NumbersMeetTypes, WhatIsNotDefinedIsNotDeclared) {
  const auto converted = [](const char* from, const json& number, const char* to) {
    TypedProgram program;
    program.Apply("aten._to_copy.default", {TensorAt(program.Full(from, {}, number))}, to, {});
    return program;
  };
  ExpectNotDeclared(converted("float64", 1e20, "int64"), "as int64");
  ExpectNotDeclared(converted("float64", 300.5, "int8"), "as int8");
  ExpectNotDeclared(converted("float64", -1.5, "uint8"), "as uint8");
  ExpectNotDeclared(converted("float64", 1e39, "float32"), "as float32");
  ExpectNotDeclared(converted("float32", 70000.0, "float16"), "as float16");
  // (1 / 49) 49 is 0.9999999999999999 in double precision.
  TypedProgram rounded;
  const int one = rounded.Full("float64", {}, 1.0), many = rounded.Full("float64", {}, 49.0);
  const int inverse =
      rounded.Apply("aten.div.Tensor", {TensorAt(one), TensorAt(many)}, "float64", {});
  const int product =
      rounded.Apply("aten.mul.Tensor", {TensorAt(inverse), TensorAt(many)}, "float64", {});
  rounded.Apply("aten._to_copy.default", {TensorAt(product)}, "int64", {});
  ExpectNotDeclared(rounded, "as int64");
}

TEST(NumbersMeetTypes, WhereElementsAreReplaced) {
  const Numbers whole = {3, 5}, mask = {1, 0};
  struct Replaced {
    const char* dtype;
    json number;
    Numbers held;
  };
  for (const Replaced& each : std::vector<Replaced>{{"int64", 2.7, {2, 5}}, {"int64", 4, {4, 5}}}) {
    TypedProgram fill;
    const int x = fill.Input(each.dtype, {2}, whole), m = fill.Input("bool", {2}, mask);
    fill.Apply("aten.masked_fill.Scalar", {TensorAt(x), TensorAt(m), each.number}, each.dtype, {2});
    ExpectResult(fill, each.held);

    TypedProgram padded;
    const int row = padded.Input(each.dtype, {2}, whole);
    padded.Apply("aten.constant_pad_nd.default", {TensorAt(row), {1, 0}, each.number}, each.dtype,
                 {3});
    ExpectResult(padded, {each.held[0], 3, 5});

    TypedProgram scattered;
    const int zeros = scattered.Full(each.dtype, {3}, 0);
    const int index = scattered.Full("int64", {1}, 1);
    scattered.Apply("aten.scatter.value", {TensorAt(zeros), 0, TensorAt(index), each.number},
                    each.dtype, {3});
    ExpectResult(scattered, {0, each.held[0], 0});
  }
  TypedProgram chosen;  // here PyTorch promotes
  const int x = chosen.Input("int64", {2}, whole), m = chosen.Input("bool", {2}, mask);
  chosen.Apply("aten.where.ScalarOther", {TensorAt(m), TensorAt(x), 2.75}, "float32", {2});
  ExpectResult(chosen, {3, 2.75});
  TypedProgram truth;
  const int t = truth.Input("bool", {2}, mask);
  truth.Apply("aten.masked_fill.Scalar", {TensorAt(t), TensorAt(t), 2}, "bool", {2});
  ExpectResult(truth, {1, 0});
}

TEST(NumbersMeetTypes, WhereTheyAreFactorsOrLimits) {
  const Numbers whole = {3, 5};
  const auto of_three = [&](const char* op, const json& named) {
    TypedProgram program;
    const int x = program.Input("int64", {2}, whole);
    program.Apply(op, {TensorAt(x), TensorAt(x), TensorAt(x)}, "int64", {2}, named);
    return program;
  };
  ExpectResult(of_three("aten.addcmul.default", {{"value", 1.5}}), {12, 30});
  ExpectResult(of_three("aten.addcmul.default", {{"value", 2}}), {21, 55});
  TypedProgram limited;
  const int x = limited.Input("int64", {2}, whole);
  limited.Apply("aten.threshold_backward.default", {TensorAt(x), TensorAt(x), 3.5}, "int64", {2});
  ExpectResult(limited, {0, 5});
  TypedProgram clamped;
  const int y = clamped.Input("int64", {2}, whole);
  clamped.Apply("aten.clamp.default", {TensorAt(y), 0.5, 4.5}, "float32", {2});
  ExpectResult(clamped, {3, 4.5});
}

TEST(NumbersMeetTypes, WhereKnownNumbersAreComputedWith) {
  struct Computed {
    const char *op, *type;
    json left, right;
    double result;
  };
  for (const Computed& each : std::vector<Computed>{{"add", "int8", 100, 100, -56},
                                                    {"mul", "int8", 100, 3, 44},
                                                    {"sub", "uint8", 1, 2, 255},
                                                    {"add", "bool", true, true, 1},
                                                    {"mul", "bool", true, false, 0},
                                                    {"add", "int64", 3, 4, 7}}) {
    TypedProgram program;
    const int x = program.Full(each.type, {}, each.left);
    const int y = program.Full(each.type, {}, each.right);
    program.Apply(absl::StrCat("aten.", each.op, ".Tensor"), {TensorAt(x), TensorAt(y)}, each.type,
                  {});
    ExpectResult(program, {each.result});
  }
}

TEST(NumbersMeetTypes, NarrowIntegersAreComparedInTheirType) {
  const auto compared = [](const char* dtype, const char* op, const json& number) {
    TypedProgram program;
    const int x = program.Input(dtype, {2}, {100, 3});
    program.Apply(op, {TensorAt(x), number}, "bool", {2});
    return program;
  };
  ExpectNotDeclared(compared("uint8", "aten.eq.Scalar", -1), "-1 beside uint8");
  ExpectNotDeclared(compared("int8", "aten.lt.Scalar", 300), "300 beside int8");
  ExpectNotDeclared(compared("int32", "aten.lt.Scalar", int64_t{1} << 40), "beside int32");
  ExpectResult(compared("int64", "aten.gt.Scalar", 3.5), {1, 0});
  ExpectResult(compared("int64", "aten.gt.Scalar", 3), {1, 0});
  TypedProgram known;
  const int x = known.Full("uint8", {}, 255);
  known.Apply("aten.eq.Scalar", {TensorAt(x), -1}, "bool", {});
  ExpectNotDeclared(known, "-1 beside uint8");
}

TEST(Bits, AreThoseOfIntegers) {
  const Numbers x = {0, 1, 6, -7}, y = {3, -1, 5, 12};
  struct Combined {
    const char* op;
    Numbers of_two, with_six;
  };
  for (const Combined& each : std::vector<Combined>{{"and", {0, 1, 4, 8}, {0, 0, 6, 0}},
                                                    {"or", {3, -1, 7, -3}, {6, 7, 6, -1}},
                                                    {"xor", {3, -2, 3, -11}, {6, 7, 0, -1}}}) {
    for (const char* dtype : {"int64", "int32", "int8"}) {
      TypedProgram two;
      const int a = two.Input(dtype, {4}, x), b = two.Input(dtype, {4}, y);
      two.Apply(absl::StrCat("aten.bitwise_", each.op, ".Tensor"), {TensorAt(a), TensorAt(b)},
                dtype, {4});
      ExpectResult(two, each.of_two);

      TypedProgram one;
      const int c = one.Input(dtype, {4}, x);
      one.Apply(absl::StrCat("aten.__", each.op, "__.Scalar"), {TensorAt(c), 6}, dtype, {4});
      ExpectResult(one, each.with_six);
    }
  }
  TypedProgram inverted;
  inverted.Apply("aten.bitwise_not.default", {TensorAt(inverted.Input("int64", {4}, x))}, "int64",
                 {4});
  ExpectResult(inverted, {-1, -2, -7, 6});
  TypedProgram without_sign;
  without_sign.Apply("aten.bitwise_not.default",
                     {TensorAt(without_sign.Input("uint8", {2}, {255, 3}))}, "uint8", {2});
  ExpectResult(without_sign, {0, 252});
  TypedProgram known;
  const int six = known.Full("int64", {}, 6), five = known.Full("int64", {}, 5);
  known.Apply("aten.bitwise_and.Tensor", {TensorAt(six), TensorAt(five)}, "int64", {});
  ExpectResult(known, {4});
}

TEST(Bits, OfTruthValuesAreLogic) {
  const Numbers x = {0, 0, 1, 1}, y = {0, 1, 0, 1};
  for (const auto& [op, expected] : std::map<std::string, Numbers>{
           {"and", {0, 0, 0, 1}}, {"or", {0, 1, 1, 1}}, {"xor", {0, 1, 1, 0}}}) {
    TypedProgram program;
    const int a = program.Input("bool", {4}, x), b = program.Input("bool", {4}, y);
    program.Apply(absl::StrCat("aten.bitwise_", op, ".Tensor"), {TensorAt(a), TensorAt(b)}, "bool",
                  {4});
    ExpectResult(program, expected);
  }
  // A truth value beside an integer is 0 or 1.
  TypedProgram mixed;
  const int a = mixed.Input("bool", {2}, {1, 0}), b = mixed.Input("int64", {2}, {3, 5});
  mixed.Apply("aten.bitwise_and.Tensor", {TensorAt(a), TensorAt(b)}, "int64", {2});
  ExpectResult(mixed, {1, 0});
  TypedProgram number;
  number.Apply("aten.bitwise_and.Scalar", {TensorAt(number.Input("bool", {2}, {1, 0})), 2}, "int64",
               {2});
  ExpectResult(number, {0, 0});
}

TEST(Overloads, AreFunctionsOfTheirOwn) {
  const Numbers x = {1, 4, 3, 2};
  TypedProgram larger;
  const int a = larger.Input("float64", {4}, x), b = larger.Input("float64", {4}, {2, 2, 2, 5});
  larger.Apply("aten.max.other", {TensorAt(a), TensorAt(b)}, "float64", {4});
  ExpectResult(larger, {2, 4, 3, 5});
  TypedProgram largest;
  largest.Apply("aten.max.default", {TensorAt(largest.Input("float64", {4}, x))}, "float64", {});
  ExpectResult(largest, {4});
  for (const char* op : {"aten.any.dims", "aten.all.dims"}) {
    TypedProgram none;
    const int m = none.Input("bool", {2, 2}, {1, 0, 0, 0});
    none.Apply(op, {TensorAt(m), json::array()}, "bool", {2, 2});
    ExpectResult(none, {1, 0, 0, 0});
    TypedProgram all;
    const int n = all.Input("bool", {2, 2}, {1, 0, 0, 0});
    all.Apply(op, {TensorAt(n), nullptr}, "bool", {});
    ExpectResult(all, {std::string(op) == "aten.any.dims" ? 1.0 : 0.0});
  }
  TypedProgram sum;
  sum.Apply("aten.sum.dim_IntList", {TensorAt(sum.Input("float64", {2, 2}, x)), json::array()},
            "float64", {});
  ExpectResult(sum, {10});
}

TEST(Overloads, ThatAreNotInTheTableHaveNoMeaning) {
  TypedProgram repeated;
  repeated.Apply("aten.repeat_interleave.self_int",
                 {TensorAt(repeated.Input("float64", {2}, {1, 2})), 2}, "float64", {4});
  ExpectNotDeclared(repeated, "aten.repeat_interleave.self_int");
  TypedProgram wide;
  wide.Apply("aten.view_copy.dtype", {TensorAt(wide.Input("int64", {2}, {1, 2})), DType("float64")},
             "float64", {2});
  ExpectNotDeclared(wide, "aten.view_copy.dtype");
}

TEST(Overloads, ViewsOfAnotherTypeReadBits) {
  TypedProgram view;
  view.Apply("aten.view_copy.dtype",
             {TensorAt(view.Input("bfloat16", {2}, {1, 3})), DType("float16")}, "float16", {2});
  ExpectResult(view, {1.875, 2.125});
  // PyTorch refuses memory of another type, so the result's type is the one that was asked for.
  TypedProgram into;
  const int x = into.Input("bfloat16", {2}, {1, 3});
  into.WriteInto("aten.view_copy.dtype_out", into.Full("bfloat16", {2}, 0),
                 {TensorAt(x), DType("float16")});
  ExpectMalformed(into, "no tensor of float16");
}

TEST(Overloads, DivisionThatRoundsIsFoldedWhereItIsKnown) {
  TypedProgram rounding;
  rounding.Apply("aten.div.Tensor_mode", {TensorAt(rounding.Input("float64", {2}, {1, 2})), 2},
                 "float64", {2}, {{"rounding_mode", "floor"}});
  ExpectResult(rounding, {0, 1});
}

TEST(Arguments, AreOfTheKindsOfTheSignature) {
  const auto sum = [](const std::vector<json>& arguments, const json& named, const Shape& shape) {
    TypedProgram program;
    std::vector<json> all = arguments;
    all.insert(all.begin(), TensorAt(program.Input("float64", {2, 2}, {1, 2, 3, 4})));
    program.Apply("aten.sum.dim_IntList", all, "float64", shape, named);
    return program;
  };
  ExpectResult(sum({json::array({1})}, json::object(), {2}), {3, 7});
  ExpectResult(sum({1}, json::object(), {2}), {3, 7});
  ExpectMalformed(sum({TensorAt(0)}, json::object(), {2}),
                  "the argument dim of aten.sum.dim_IntList is no");
  ExpectMalformed(sum({json::array({1.5})}, json::object(), {2}), "the argument dim");
  ExpectMalformed(sum({}, json::object(), {}), "is missing");
  ExpectMalformed(sum({json::array({1})}, {{"dim", json::array({1})}}, {2}), "given twice");
  ExpectMalformed(sum({json::array({1})}, {{"dtype", DType("float32")}}, {2}),
                  "is no tensor of float32");
}

TEST(Results, AreBroadcastOnlyByCopies) {
  TypedProgram sum;
  const int x = sum.Input("float64", {2}, {1, 2});
  sum.Apply("aten.mul.Tensor", {TensorAt(x), 2}, "float64", {3, 2});
  ExpectMalformed(sum, "has the shape [3, 2]");
  TypedProgram number;
  number.Apply(
      "aten.mul.Tensor",
      {TensorAt(number.Full("float64", {}, 2.0)), TensorAt(number.Full("float64", {}, 3.0))},
      "float64", {4});
  ExpectMalformed(number, "has the shape [4]");
  TypedProgram copy;
  const int row = copy.Input("float64", {2}, {1, 2});
  copy.Write("aten.copy_.default", copy.Full("float64", {2, 2}, 0.0), {TensorAt(row)});
  ExpectResult(copy, {1, 2, 1, 2});
}

// The hook by which tests make the reader a mistaken one.
TEST(Overloads, CanBeMistakenForEachOther) {
  const auto added = [] {
    TypedProgram program;
    const int x = program.Input("float64", {2}, {3, 5});
    program.Apply("aten.add.Tensor", {TensorAt(x), 2}, "float64", {2});
    return program;
  };
  const auto exchange = [](AtenTable* table) {
    std::swap(table->operators["aten.add.Tensor"].run, table->operators["aten.mul.Tensor"].run);
  };
  ExpectResult(added(), {5, 7});
  ChangeAtenTable(exchange);
  ExpectResult(added(), {6, 10});
  ChangeAtenTable(exchange);
  ExpectResult(added(), {5, 7});
}

TEST(Constants, AreNumbersOfTheirType) {
  for (const auto& [dtype, number] : std::vector<std::pair<std::string, json>>{
           {"int64", 2.5}, {"int8", 200}, {"uint8", -1}, {"bool", 2}}) {
    OneProcess process;
    const int constant = process.Add(dtype, {2});
    json trace = process.Trace(json::array(), json::array(), constant);
    trace["storages"][0]["uniform"] = number;
    EXPECT_FALSE(ParseTrace(trace.dump(), "constant").ok()) << dtype;
    trace["storages"][0].erase("uniform");
    trace["storages"][0]["values"] = {0, number};
    EXPECT_FALSE(ParseTrace(trace.dump(), "constant").ok()) << dtype;
    trace["storages"][0]["values"] = {0, 1};
    EXPECT_TRUE(ParseTrace(trace.dump(), "constant").ok()) << dtype;
  }
}

}  // namespace
}  // namespace planproof::frontend::torch
