// Operators written in NumPy against the executor, which shares no code with them but the index
// functions.
#include "runtime_check/numpy_source.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime_check/executor.h"
#include "sdfg/differentiate.h"
#include "tests/numpy_python.h"
#include "tests/runtime_check/operator_cases.h"
#include "tests/shape_reduction/small_problem.h"
#include "tests/temporary_directory.h"
#include "witness/npz_file.h"

namespace planproof::runtime_check {
namespace {

using sdfg::DType;

// A script that computes operators in NumPy, and compares them with what the executor gave.
class Scripts {
 public:
  // False if it cannot be written, or has no value on these operands.
  bool Add(const sdfg::IndexFunction& function, int64_t id_range) {
    const std::vector<Values> inputs = RandomOperands(function, id_range, DType::kFloat64, 1);
    const auto outputs = RunFunction(function, DType::kFloat64, inputs);
    if (!outputs.ok()) return false;
    sdfg::Graph graph;
    sdfg::Operator op;
    op.function = std::make_shared<const sdfg::IndexFunction>(function);
    std::vector<std::string> names;
    const auto tensor = [&](const Values& values, const std::string& name) {
      names.push_back(name);
      Save(name, values);
      return graph.AddTensor({.name = name, .shape = values.shape});
    };
    for (const Values& values : inputs) op.inputs.push_back(tensor(values, Name("x")));
    for (const Values& values : *outputs) op.outputs.push_back(tensor(values, Name("y")));
    const sdfg::Operator& added = graph.operators[graph.AddOperator(op)];
    std::string own;
    for (size_t i = 0; i < inputs.size(); ++i)
      absl::StrAppend(&own, names[i], " = given['", names[i], "']\n");
    for (size_t o = 0; o < outputs->size(); ++o) {
      const auto lines = NumpySource(graph, added, static_cast<int>(o), names);
      if (!lines) return false;
      for (const std::string& line : *lines) absl::StrAppend(&own, line, "\n");
      const std::string& name = names[inputs.size() + o];
      absl::StrAppend(&own, "check('", name, "', ", name, ")  # ", function.operator_name, "\n");
    }
    script_ += own;
    return true;
  }

  // The exit code of Python, which prints what differs.
  int Run(const std::string& python) {
    const TemporaryDirectory directory("numpy_source");
    const auto bytes = witness::ToNpz(arrays_);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    std::ofstream(directory.path() + "s.npz", std::ios::binary) << *bytes;
    std::ofstream(directory.path() + "s.py") << R"(import math, sys
import numpy as np
np.seterr(all='ignore')
given = np.load(__file__.removesuffix('.py') + '.npz')
wrong = 0
def check(name, value):
    global wrong
    same = value.shape == given[name].shape and np.allclose(value, given[name], 1e-9, 1e-9, equal_nan=True)
    if not same: print(name, 'differs')
    wrong += not same
)" << kNumpyChoiceSource << script_ << "sys.exit(wrong != 0)\n";
    return std::system(("'" + python + "' " + directory.path() + "s.py").c_str());
  }

 private:
  std::string Name(const char* prefix) { return absl::StrCat(prefix, ++named_); }
  void Save(const std::string& name, const Values& values) {
    arrays_.push_back({name, values.shape, values.storage == Values::Storage::kInteger,
                       values.doubles, values.integers});
  }

  std::vector<witness::NpzArray> arrays_;
  std::string script_;
  int named_ = 0;
};

TEST(NumpySource, EveryOperatorComputesWhatTheExecutorDoes) {
  const std::string python = NumpyPython();
  if (python.empty()) GTEST_SKIP() << "no Python with NumPy: apt-get install python3-numpy";
  Scripts scripts;
  int written = 0, cases = 0;
  for (const OperatorCase& c : OperatorCases()) {
    ++cases;
    written += scripts.Add(c.function, c.id_range) ? 1 : 0;
  }
  EXPECT_GT(written, cases * 9 / 10) << cases;
  EXPECT_EQ(scripts.Run(python), 0);
}

TEST(NumpySource, EveryDerivativeComputesWhatTheExecutorDoes) {
  const std::string python = NumpyPython();
  if (python.empty()) GTEST_SKIP() << "no Python with NumPy: apt-get install python3-numpy";
  Scripts scripts;
  int written = 0;
  for (const OperatorCase& c : OperatorCases()) {
    std::vector<int> wrt, gradients;
    for (size_t i = 0; i < c.function.inputs.size(); ++i) {
      if (!sdfg::IsInteger(c.function.inputs[i].dtype)) wrt.push_back(static_cast<int>(i));
    }
    for (size_t o = 0; o < c.function.outputs.size(); ++o) {
      if (!sdfg::IsInteger(c.function.outputs[o].dtype)) gradients.push_back(static_cast<int>(o));
    }
    const auto backward = sdfg::Differentiate(c.function, wrt, gradients);
    if (backward.ok()) written += scripts.Add(*backward, c.id_range) ? 1 : 0;
  }
  EXPECT_GT(written, 60);
  EXPECT_EQ(scripts.Run(python), 0);
}

// What the lines look like.
TEST(NumpySource, WellKnownFormsAreReadable) {
  const auto lines = [](const std::string& name, const std::vector<sdfg::Shape>& shapes) {
    const sdfg::IndexFunction function = shape_reduction::Instantiate(name, shapes);
    sdfg::Graph graph;
    sdfg::Operator op;
    op.function = std::make_shared<const sdfg::IndexFunction>(function);
    for (const sdfg::Shape& shape : shapes) op.inputs.push_back(graph.AddTensor({.shape = shape}));
    op.outputs.push_back(graph.AddTensor({.shape = function.outputs[0].shape(function.vars)}));
    return NumpySource(graph, op, 0, {"a", "b", "c"}).value_or(std::vector<std::string>{});
  };
  EXPECT_EQ(lines("linear", {{2, 3}, {4, 3}}),
            std::vector<std::string>{"c = np.einsum(\"ik,jk->ij\", a, b)"});
  EXPECT_EQ(lines("mul", {{2, 3}, {2, 3}}), std::vector<std::string>{"c = a * b"});
  EXPECT_EQ(lines("mul", {{2, 3}, {3}}),
            (std::vector<std::string>{"i, j = np.ogrid[:2, :3]", "c = a * b[j]"}));
}

// Coordinates of ranks at which a function is applied are axes like any other.
TEST(NumpySource, LiftedOperatorsReadEachOperandAtItsOwnCoordinates) {
  sdfg::IndexFunctionBuilder builder("scaled");
  const int x = builder.AddInput("x", {3}, DType::kFloat32),
            s = builder.AddInput("s", {}, DType::kFloat32);
  const int y = builder.AddOutput("y", sdfg::Shape{3}, DType::kFloat32);
  const sdfg::ExprId i = builder.Index(builder.OutputDims(y)[0]);
  builder.SetBody(y,
                  builder.Binary(sdfg::Op::kMul, builder.Element(x, {i}), builder.Element(s, {})));
  sdfg::Graph graph;
  graph.axes = {{"dp", 2}, {"tp", 4}};
  sdfg::Operator op;
  op.function = std::make_shared<const sdfg::IndexFunction>(builder.function());
  op.inputs = {graph.AddTensor({.shape = {2, 3}, .axes = {0}}),
               graph.AddTensor({.shape = {4}, .axes = {1}})};
  op.outputs = {graph.AddTensor({.shape = {2, 4, 3}, .axes = {0, 1}})};
  EXPECT_EQ(NumpySource(graph, op, 0, {"x", "s", "y"}),
            (std::vector<std::string>{"i, j, k = np.ogrid[:2, :4, :3]", "y = x[i, k] * s[j]"}));
}

TEST(NumpySource, WhatHasNoMeaningOrNoRoomIsNotWritten) {
  const auto source = [](int64_t extent, bool opaque) {
    sdfg::IndexFunctionBuilder builder("f");
    const int x = builder.AddInput("x", {extent}, DType::kFloat32);
    const int y = builder.AddOutput("y", sdfg::Shape{extent}, DType::kFloat32);
    const sdfg::VarId v = builder.AddVar("v", extent);
    const sdfg::ExprId i = builder.Index(builder.OutputDims(y)[0]);
    const sdfg::ExprId term =
        builder.Unary(sdfg::Op::kExp, builder.Binary(sdfg::Op::kMul, builder.Element(x, {i}),
                                                     builder.Element(x, {builder.Index(v)})));
    builder.SetBody(y, opaque ? builder.Opaque("mystery", false, -1, {builder.Element(x, {i})})
                              : builder.Reduce(sdfg::Op::kSum, v, term));
    sdfg::Graph graph;
    sdfg::Operator op;
    op.function = std::make_shared<const sdfg::IndexFunction>(builder.function());
    op.inputs = {graph.AddTensor({.shape = {extent}})};
    op.outputs = {graph.AddTensor({.shape = {extent}})};
    return NumpySource(graph, op, 0, {"x", "y"});
  };
  EXPECT_TRUE(source(100, false).has_value());
  EXPECT_FALSE(source(100'000, false).has_value());
  EXPECT_FALSE(source(100, true).has_value());
}

}  // namespace
}  // namespace planproof::runtime_check
