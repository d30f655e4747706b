// The executor against the dense evaluator, which shares no code with it.
#include "runtime_check/executor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "frontend/load_problem.h"
#include "runtime_check/opaque_values.h"
#include "sdfg/dense_evaluator.h"
#include "sdfg/differentiate.h"
#include "sdfg/operator_library.h"
#include "tests/runtime_check/operator_cases.h"

namespace planproof::runtime_check {
namespace {

using sdfg::DType;

absl::StatusOr<double> Concrete(const sdfg::OpaqueCall& call) {
  return OpaqueValue(OpaqueNamed(call.name), call.int_valued, call.row, call.scalars);
}

// Runs the function on random inputs both ways; `tolerance` is relative to 1 + |value|. False if
// the dense evaluator refuses the inputs, and then so must the executor.
bool ExpectSame(const sdfg::IndexFunction& function, DType arithmetic, int64_t id_range,
                double tolerance, uint64_t seed) {
  const std::vector<Values> inputs = RandomOperands(function, id_range, arithmetic, seed);
  std::vector<sdfg::DenseTensor> dense;
  for (const Values& values : inputs) {
    sdfg::DenseTensor& same = dense.emplace_back(sdfg::DenseTensor{values.shape, {}});
    for (int64_t i = 0; i < values.size(); ++i) same.data.push_back(values.At(i));
  }
  const auto expected = sdfg::EvaluateDense(function, dense, Concrete);
  const auto actual = RunFunction(function, arithmetic, inputs);
  EXPECT_EQ(expected.ok(), actual.ok()) << expected.status() << "\n" << actual.status();
  if (!expected.ok() || !actual.ok()) return false;
  for (size_t o = 0; o < expected->size(); ++o) {
    const sdfg::DenseTensor& wanted = (*expected)[o];
    const Values& found = (*actual)[o];
    EXPECT_EQ(found.shape, wanted.shape);
    EXPECT_EQ(found.size(), static_cast<int64_t>(wanted.data.size()));
    for (int64_t i = 0; i < found.size(); ++i) {
      const double a = found.At(i), b = wanted.data[i];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      EXPECT_NEAR(a, b, tolerance * (1 + std::fabs(b))) << "element " << i << " of output " << o;
      if (testing::Test::HasFailure()) return false;
    }
  }
  return true;
}

TEST(Executor, EveryOperatorEqualsTheDenseEvaluation) {
  int checked = 0;
  for (const OperatorCase& c : OperatorCases()) {
    SCOPED_TRACE(c.name);
    for (uint64_t seed = 0; seed < 3; ++seed)
      checked += ExpectSame(c.function, DType::kFloat64, c.id_range, 1e-12, seed) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(checked, 300);
}

TEST(Executor, EveryDerivativeEqualsTheDenseEvaluation) {
  int checked = 0;
  for (const OperatorCase& c : DerivativesOf(OperatorCases())) {
    SCOPED_TRACE(c.name);
    checked += ExpectSame(c.function, DType::kFloat64, c.id_range, 1e-11, 1) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(checked, 60);
}

// Rows, whole strips and a strip that is not full.
TEST(Executor, LargeOperandsEqualTheDenseEvaluation) {
  const auto tensor = [](sdfg::Shape shape, DType dtype = DType::kFloat32) {
    sdfg::Operand operand;
    operand.shape = std::move(shape);
    operand.dtype = dtype;
    return operand;
  };
  struct Call {
    const char* name;
    std::vector<sdfg::Operand> operands;
    sdfg::Attributes attributes;
  };
  const std::vector<Call> calls = {
      {"linear", {tensor({3, 5, 70}), tensor({150, 70})}, {}},
      {"softmax", {tensor({2, 3, 130})}, {{"dim", int64_t{-1}}}},
      {"layer_norm",
       {tensor({4, 200}), tensor({200}), tensor({200})},
       {{"normalized_shape", std::vector<int64_t>{200}}}},
      {"layer_norm",
       {tensor({9, 20}), tensor({20}), tensor({20})},
       {{"normalized_shape", std::vector<int64_t>{20}}}},
      {"embedding", {tensor({7, 3}, DType::kInt64), tensor({11, 65})}, {}},
      {"transpose", {tensor({9, 31})}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}}},
      {"add", {tensor({3, 1, 65}), tensor({4, 1})}, {}},
      {"sum", {tensor({3, 300})}, {}},
  };
  int checked = 0;
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    const auto function =
        sdfg::OperatorLibrary::BuiltIn().Instantiate(call.name, call.operands, call.attributes);
    ASSERT_TRUE(function.ok()) << function.status();
    EXPECT_TRUE(ExpectSame(*function, DType::kFloat64, 11, 1e-12, 1));
    EXPECT_TRUE(ExpectSame(*function, DType::kFloat32, 11, 1e-5, 1));
    std::vector<int> wrt;
    for (size_t i = 0; i < function->inputs.size(); ++i) {
      if (!sdfg::IsInteger(function->inputs[i].dtype)) wrt.push_back(static_cast<int>(i));
    }
    const auto backward = sdfg::Differentiate(*function, wrt, {0});
    ASSERT_TRUE(backward.ok()) << backward.status();
    EXPECT_TRUE(ExpectSame(*backward, DType::kFloat64, 11, 1e-12, 1));
    ++checked;
  }
  EXPECT_EQ(checked, 8);
}

// Coordinates, collectives, moves between programs, microbatches: all tensors of whole plans.
TEST(Executor, GraphsEqualTheDenseEvaluation) {
  int64_t compared = 0;
  for (const char* file : {"llama_dp2_pp2_tp2_mb2.json", "moe_dp2_ep2.json", "pipeline_1f1b.json",
                           "rotary_sp2.json", "recurrent_loop.json"}) {
    SCOPED_TRACE(file);
    const auto problem = frontend::LoadProblem(
        {std::string(PLANPROOF_SOURCE_DIR) + "/examples/" + file}, frontend::LoadOptions());
    ASSERT_TRUE(problem.ok()) << problem.status();
    for (const sdfg::Graph* graph : {&problem->logical, &problem->parallel}) {
      std::mt19937_64 random(1);
      std::map<sdfg::TensorId, sdfg::DenseTensor> dense;
      std::vector<Values> tensors(graph->tensors.size());
      for (size_t t = 0; t < tensors.size(); ++t) {
        const sdfg::Tensor& tensor = graph->tensors[t];
        if (tensor.producer != sdfg::kNone || tensor.role == sdfg::TensorRole::kOne) continue;
        tensors[t] = Values::Zeros(tensor.shape, tensor.dtype, DType::kFloat64);
        sdfg::DenseTensor& same = dense[static_cast<sdfg::TensorId>(t)];
        same.shape = tensor.shape;
        for (int64_t i = 0; i < tensors[t].size(); ++i) {
          const auto draw = static_cast<double>(random() % 1024 + 1);
          tensors[t].Set(i, sdfg::IsInteger(tensor.dtype) ? std::fmod(draw, 2) : draw / 1024);
          same.data.push_back(tensors[t].At(i));
        }
      }
      const auto expected = sdfg::EvaluateDenseGraph(*graph, dense, Concrete);
      ASSERT_TRUE(expected.ok()) << expected.status();
      Programs programs;
      const absl::Status status = RunGraph(*graph, {}, &programs, &tensors);
      ASSERT_TRUE(status.ok()) << status;
      for (size_t t = 0; t < tensors.size(); ++t) {
        const std::vector<double>& wanted = (*expected)[t].data;
        ASSERT_EQ(tensors[t].size(), static_cast<int64_t>(wanted.size()));
        for (size_t i = 0; i < wanted.size(); ++i, ++compared) {
          const double found = tensors[t].At(static_cast<int64_t>(i));
          if (found == wanted[i]) continue;  // infinities of masks
          ASSERT_NEAR(found, wanted[i], 1e-9 * (1 + std::fabs(wanted[i])))
              << graph->tensors[t].name << " element " << i;
        }
      }
    }
  }
  EXPECT_GT(compared, 10'000);
}

Values Numbers(sdfg::Shape shape, DType dtype, DType arithmetic,
               const std::vector<double>& elements) {
  Values values = Values::Zeros(std::move(shape), dtype, arithmetic);
  for (size_t i = 0; i < elements.size(); ++i) values.Set(static_cast<int64_t>(i), elements[i]);
  return values;
}

Values RunBuiltIn(const std::string& name, const std::vector<Values>& inputs,
                  const std::vector<DType>& types, DType arithmetic) {
  std::vector<sdfg::Operand> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    operands.emplace_back();
    operands.back().shape = inputs[i].shape;
    operands.back().dtype = types[i];
  }
  const auto function = sdfg::OperatorLibrary::BuiltIn().Instantiate(name, operands, {});
  EXPECT_TRUE(function.ok()) << function.status();
  const auto result = RunFunction(*function, arithmetic, inputs);
  EXPECT_TRUE(result.ok()) << result.status();
  return result->at(0);
}

TEST(Executor, EachOperatorsResultIsRoundedOnce) {
  constexpr DType kType = DType::kBFloat16;
  // Added up in bfloat16 one by one, ones would stay at 256; rounded once, 257 would be 256.
  std::vector<double> ones(257, 1);
  ones[0] = 1 + 0x1p-7;
  const Values x = Numbers({1, 257}, kType, kType, ones);
  const Values w = Numbers({1, 257}, kType, kType, std::vector<double>(257, 1));
  EXPECT_EQ(RunBuiltIn("linear", {x, w}, {kType, kType}, kType).At(0), 258) << "257 + 1/128";
  const Values more = Numbers({1, 259}, kType, kType, std::vector<double>(259, 1));
  EXPECT_EQ(RunBuiltIn("linear", {more, more}, {kType, kType}, kType).At(0), 260);
  EXPECT_EQ(RunBuiltIn("linear", {more, more}, {kType, kType}, DType::kFloat32).At(0), 259);
}

TEST(Executor, SinglesAreComputedInSingles) {
  constexpr DType kType = DType::kFloat32;
  const Values x = Numbers({1}, kType, kType, {1.0 / 3}), y = Numbers({1}, kType, kType, {1e-3});
  const float a = 1.0f / 3, b = 1e-3f;
  EXPECT_EQ(RunBuiltIn("div", {x, y}, {kType, kType}, kType).floats[0], a / b);
  EXPECT_EQ(RunBuiltIn("add", {x, y}, {kType, kType}, kType).floats[0], a + b);
  EXPECT_EQ(RunBuiltIn("exp", {x}, {kType}, kType).floats[0], std::exp(a));
}

TEST(Executor, IntegersAreNeverRounded) {
  for (const DType type : {DType::kFloat32, DType::kBFloat16, DType::kFloat8E4M3}) {
    const Values x = Numbers({2}, DType::kInt64, type, {123'456'789, -7});
    const Values y = Numbers({2}, DType::kInt64, type, {1'000'000'007, 3});
    const Values sum = RunBuiltIn("add", {x, y}, {DType::kInt64, DType::kInt64}, type);
    EXPECT_EQ(sum.integers, (std::vector<int64_t>{1'123'456'796, -4}));
  }
}

// Two ranks add 1 to what each has: each rounds with a scale of its own, and what is only gathered
// stays as it is.
TEST(Executor, EachDeviceScalesItsOwnPart) {
  constexpr DType kType = DType::kFloat8E4M3;
  sdfg::Graph graph;
  graph.axes = {{"tp", 2}};
  graph.axis_device_stride = {1};
  sdfg::Operand part;
  part.shape = {2};
  sdfg::Tensor x;
  x.name = "x";
  x.shape = {2, 2};
  x.axes = {0};
  x.dtype = DType::kFloat32;
  x.role = sdfg::TensorRole::kInput;
  const sdfg::TensorId in = graph.AddTensor(x);
  x.role = sdfg::TensorRole::kIntermediate;
  const sdfg::TensorId out = graph.AddTensor(x);
  sdfg::Operator op;
  op.name = "neg";
  op.function = graph.Intern(*sdfg::OperatorLibrary::BuiltIn().Instantiate("neg", {part}, {}));
  op.inputs = {in};
  op.outputs = {out};
  graph.AddOperator(op);
  ASSERT_TRUE(graph.Check().ok());
  std::vector<Values> tensors(2);
  // With the scale of 448 the smallest number is 2^-9.
  tensors[in] = Numbers({2, 2}, kType, kType, {448, 0x1p-11, 1.01, 0x1p-11});
  Programs programs;
  ASSERT_TRUE(RunGraph(graph, {.arithmetic = kType}, &programs, &tensors).ok());
  EXPECT_EQ(tensors[out].floats, (std::vector<float>{-448, 0, -1, -0x1p-11f}));
}

TEST(Executor, WhatIsMovedIsNotRounded) {
  constexpr DType kType = DType::kFloat8E4M3;
  const Values x = Numbers({1, 2}, kType, kType, {448, 0x1p-11});  // of two devices
  const auto move = sdfg::OperatorLibrary::BuiltIn().Instantiate(
      "transpose", {{.shape = {1, 2}, .dtype = DType::kFloat32}},
      {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
  ASSERT_TRUE(move.ok()) << move.status();
  const auto moved = RunFunction(*move, kType, {x});
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ((*moved)[0].floats, (std::vector<float>{448, 0x1p-11f}));
  EXPECT_EQ(RunBuiltIn("neg", {x}, {kType}, kType).floats, (std::vector<float>{-448, 0}));
}

TEST(Executor, WhatIsNotKeptIsFreedAfterItsLastUse) {
  const auto problem = frontend::LoadProblem(
      {std::string(PLANPROOF_SOURCE_DIR) + "/examples/mlp_tp2.json"}, frontend::LoadOptions());
  ASSERT_TRUE(problem.ok()) << problem.status();
  const sdfg::Graph& graph = problem->logical;
  std::vector<Values> tensors(graph.tensors.size());
  for (size_t t = 0; t < tensors.size(); ++t) {
    const sdfg::Tensor& tensor = graph.tensors[t];
    if (tensor.producer == sdfg::kNone && tensor.role != sdfg::TensorRole::kOne)
      tensors[t] = Values::Zeros(tensor.shape, tensor.dtype, DType::kFloat64);
  }
  std::vector<bool> keep(tensors.size(), false);
  const auto loss = graph.FindTensor("loss");
  ASSERT_TRUE(loss.ok());
  keep[*loss] = true;
  int produced = 0;
  RunOptions options{.keep = &keep};
  options.produced = [&](sdfg::TensorId id) {
    EXPECT_NE(tensors[id].storage, Values::Storage::kNone);
    ++produced;
    return absl::OkStatus();
  };
  Programs programs;
  ASSERT_TRUE(RunGraph(graph, options, &programs, &tensors).ok());
  EXPECT_GT(produced, 6);
  for (size_t t = 0; t < tensors.size(); ++t) {
    EXPECT_EQ(tensors[t].storage == Values::Storage::kNone, !keep[t]) << graph.tensors[t].name;
  }
}

}  // namespace
}  // namespace planproof::runtime_check
