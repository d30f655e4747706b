// Arithmetic of integers: element types as PyTorch promotes them, whole numbers by their form, and
// integers at symbolic indices against dense evaluation.
#include "sdfg/whole_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "sdfg/collectives.h"
#include "sdfg/dense_evaluator.h"
#include "sdfg/index_function_check.h"
#include "sdfg/operator_library.h"
#include "sdfg/symbolic_evaluator.h"
#include "tests/solver/term_numeric.h"

namespace planproof::sdfg {
namespace {

using solver::Affine;
using testing::HasSubstr;

Operand TensorOf(DType dtype, Shape shape = {4}) {
  Operand operand;
  operand.shape = std::move(shape);
  operand.dtype = dtype;
  return operand;
}

Operand Number(solver::Rational value) {
  Operand operand;
  operand.kind = Operand::Kind::kLiteral;
  operand.literal = value;
  return operand;
}

std::string TypeOf(const std::string& name, const std::vector<Operand>& operands,
                   const Attributes& attributes = {}) {
  const auto function = OperatorLibrary::BuiltIn().Instantiate(name, operands, attributes);
  return function.ok() ? DTypeName(function->outputs[0].dtype)
                       : std::string(function.status().message());
}

// torch.result_type and the types that the operators return, PyTorch 2.
TEST(WholeNumbers, ResultsHaveTheTypesOfPyTorch) {
  const Operand i64 = TensorOf(DType::kInt64), i32 = TensorOf(DType::kInt32),
                i8 = TensorOf(DType::kInt8);
  const Operand truth = TensorOf(DType::kBool), real = TensorOf(DType::kFloat32);
  const Operand half = TensorOf(DType::kFloat16);
  const Operand two = Number(2), fraction = Number(solver::Rational(1, 2));
  for (const char* name : {"add", "sub", "mul", "maximum", "minimum"}) {
    EXPECT_EQ(TypeOf(name, {i64, i64}), "int64") << name;
    EXPECT_EQ(TypeOf(name, {i32, i64}), "int64") << name;
    EXPECT_EQ(TypeOf(name, {i32, i32}), "int32") << name;
    EXPECT_EQ(TypeOf(name, {i32, two}), "int32") << name;
    EXPECT_EQ(TypeOf(name, {i64, truth}), "int64") << name;
    EXPECT_EQ(TypeOf(name, {i64, real}), "float32") << name;
    EXPECT_EQ(TypeOf(name, {half, i64}), "float16") << name;
    EXPECT_EQ(TypeOf(name, {i64, fraction}), "float32") << name;
  }
  for (const char* name : {"neg", "abs", "relu", "square", "max", "min", "identity"}) {
    EXPECT_EQ(TypeOf(name, {i64}), "int64") << name;
    EXPECT_EQ(TypeOf(name, {i32}), "int32") << name;
  }
  for (const Operand& counted : {i64, i32, i8, truth}) EXPECT_EQ(TypeOf("sum", {counted}), "int64");
  EXPECT_EQ(TypeOf("sum", {half}), "float16");
  EXPECT_EQ(TypeOf("max", {i8}), "int8");
  EXPECT_EQ(TypeOf("max", {truth}), "bool");
  EXPECT_EQ(TypeOf("pow", {i64, two}), "int64");
  EXPECT_EQ(TypeOf("div", {i64, i64}), "float32");
  EXPECT_EQ(TypeOf("div", {i64, two}), "float32");
  EXPECT_EQ(TypeOf("div", {i64, Number(1)}), "float32");
  EXPECT_EQ(TypeOf("exp", {i64}), "float32");
  EXPECT_EQ(TypeOf("lt", {i64, two}), "bool");
  EXPECT_EQ(TypeOf("clamp", {i64}, {{"min", int64_t{0}}}), "int64");
  EXPECT_EQ(TypeOf("clamp", {i64}, {{"min", solver::Rational(1, 2)}}), "float32");
  EXPECT_EQ(TypeOf("where", {truth, i64, i64}), "int64");
  EXPECT_EQ(TypeOf("where", {truth, i64, real}), "float32");
  EXPECT_EQ(TypeOf("add", {truth, two}), "int64");
  EXPECT_EQ(TypeOf("add", {truth, fraction}), "float32");
  EXPECT_EQ(TypeOf("cat", {i64, i64}), "int64");
}

// torch.sqrt(torch.ones(4, dtype=torch.bool)).dtype is float32.
TEST(WholeNumbers, WhatIsRealByItsFormIsComputedInFloat32AlsoOfNarrowTypes) {
  for (const DType dtype : {DType::kBool, DType::kInt8, DType::kUInt8, DType::kInt16}) {
    for (const char* name : {"sqrt", "rsqrt", "exp", "log", "sin", "cos", "reciprocal"}) {
      EXPECT_EQ(TypeOf(name, {TensorOf(dtype)}), "float32") << name;
    }
    EXPECT_EQ(TypeOf("div", {TensorOf(dtype), TensorOf(dtype)}), "float32");
    // What is a whole number on the way would be computed in the narrow type.
    OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
    ASSERT_TRUE(
        library.AddDeclarations("op root_of_sum(x, y) -> z = (x + y) ^ (1 / 2)", "my.op").ok());
    EXPECT_FALSE(library.Instantiate("root_of_sum", {TensorOf(dtype), TensorOf(dtype)}, {}).ok());
  }
}

TEST(WholeNumbers, WhatPyTorchRefusesIsRefused) {
  for (const DType dtype : {DType::kInt64, DType::kInt32, DType::kBool}) {
    EXPECT_THAT(TypeOf("mean", {TensorOf(dtype)}), HasSubstr("the mean of integers is not taken"));
    EXPECT_THAT(TypeOf("mse_loss", {TensorOf(dtype), TensorOf(dtype)}), HasSubstr("the mean"));
  }
  // A share of elements that fulfil a condition is no mean of integers.
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  ASSERT_TRUE(
      library.AddDeclarations("op share(x[k]) -> y[1] = mean(k: [x[k] == 3])", "my.op").ok());
  EXPECT_TRUE(library.Instantiate("share", {TensorOf(DType::kInt64)}, {}).ok());
}

// As a raw plan could have it.
TEST(WholeNumbers, ARealNumberThatMayHaveAFractionIsNoInteger) {
  const auto check = [](const auto& body) {
    IndexFunctionBuilder b("f");
    b.AddInput("x", {4}, DType::kFloat32);
    b.AddInput("n", {4}, DType::kInt64);
    b.AddInput("c", {4}, DType::kBool);
    const int y = b.AddOutput("y", Shape{4}, DType::kInt64);
    const ExprId i = b.Index(b.OutputDims(y)[0]);
    const ExprId n = b.Unary(Op::kPosition, b.IntElement(1, {i}));
    b.SetBody(y, b.Unary(Op::kWhole, body(b, b.Element(0, {i}), n, b.Element(2, {i}))));
    IndexFunction f;
    return b.Finish(&f).ok();
  };
  using B = IndexFunctionBuilder;
  const solver::Rational half(1, 2);
  EXPECT_TRUE(check([](B& b, ExprId, ExprId n, ExprId) { return b.Binary(Op::kMul, n, n); }));
  EXPECT_TRUE(check([](B& b, ExprId, ExprId n, ExprId c) { return b.Binary(Op::kAdd, n, c); }));
  EXPECT_TRUE(check([](B& b, ExprId, ExprId n, ExprId) { return b.Pow(n, 3); }));
  EXPECT_FALSE(check([](B&, ExprId x, ExprId, ExprId) { return x; }));
  EXPECT_FALSE(check([](B& b, ExprId x, ExprId n, ExprId) { return b.Binary(Op::kMul, x, n); }));
  EXPECT_FALSE(check([](B& b, ExprId, ExprId n, ExprId) { return b.Binary(Op::kDiv, n, n); }));
  EXPECT_FALSE(check([&](B& b, ExprId, ExprId n, ExprId) { return b.Pow(n, half); }));
  EXPECT_FALSE(check([](B& b, ExprId, ExprId n, ExprId) { return b.Pow(n, -1); }));
  EXPECT_FALSE(
      check([&](B& b, ExprId, ExprId n, ExprId) { return b.Binary(Op::kMul, b.Real(half), n); }));
  EXPECT_FALSE(check([](B& b, ExprId, ExprId n, ExprId) { return b.Unary(Op::kExp, n); }));
}

TEST(WholeNumbers, CollectivesOfIntegersAreIntegers) {
  for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin}) {
    const auto f = AllReduce({3}, DType::kInt64, 2, kind);
    ASSERT_TRUE(f.ok()) << f.status();
    EXPECT_EQ(SortsOf(*f)[f->outputs[0].body], Sort::kInt);
    const auto values = EvaluateDense(*f, {{{3}, {5, -2, 7}}, {{3}, {1, 4, 7}}});
    ASSERT_TRUE(values.ok()) << values.status();
    const std::vector<double> expected = kind == ReduceKind::kSum   ? std::vector<double>{6, 2, 14}
                                         : kind == ReduceKind::kMax ? std::vector<double>{5, 4, 7}
                                                                    : std::vector<double>{1, -2, 7};
    EXPECT_EQ((*values)[0].data, expected);
  }
  EXPECT_FALSE(AllReduce({3}, DType::kInt64, 2, ReduceKind::kAvg).ok());
}

// --- Integers at a symbolic index
// -----------------------------------------------------------------

constexpr int64_t kRange = 24;

class UnknownIntegers : public RepresentationPolicy {
 public:
  explicit UnknownIntegers(const Graph& graph) : graph_(graph) {}
  Representation Of(TensorRef t) override {
    Representation r;
    if (graph_.tensors[t.tensor].producer != kNone) return r;
    r.kind = Representation::Kind::kAtom;
    r.tag = solver::kIntegerTag + static_cast<uint32_t>(t.tensor);
    r.int_range = {0, solver::kIntegerTagMax};
    return r;
  }

 private:
  const Graph& graph_;
};

class RandomIntegers : public testing::Test {
 protected:
  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string Expression(int depth) {
    if (depth == 0) {
      static const char* const kLeaves[] = {"n[i]", "m[i]", "2", "i", "1", "n[i]"};
      return kLeaves[Pick(6)];
    }
    const auto inner = [&] { return Expression(depth - 1); };
    switch (Pick(8)) {
      case 0:
        return "(" + inner() + " - " + inner() + ")";
      case 1:
        return "max(" + inner() + ", " + inner() + ")";
      case 2:
        return "min(" + inner() + ", " + inner() + ")";
      case 3:
        return "where(" + inner() + " < " + inner() + ", " + inner() + ", " + inner() + ")";
      case 4:
        return "(" + inner() + ") ^ 2";
      case 5: {
        const std::string k = "k" + std::to_string(++binders_);
        return "sum(" + k + " < 3: " + inner() + " * " + k + ")";
      }
      default:
        return "(" + inner() + ") * (" + inner() + ")";
    }
  }
  int binders_ = 0;
  std::mt19937_64 random_{17};
};

TEST_F(RandomIntegers, HaveTheValueAndTheBoundsThatDenseEvaluationGives) {
  int compared = 0, bounded = 0;
  for (int round = 0; round < 800; ++round) {
    const std::string body = Expression(1 + Pick(3));
    SCOPED_TRACE(body);
    OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
    ASSERT_TRUE(library
                    .AddDeclarations(
                        "op f(n[i]: int, m[i]: int) ties even -> y[i]: int64 = " + body, "my.op")
                    .ok());
    const Operand ids = TensorOf(DType::kInt64, {kRange});
    const auto function = library.Instantiate("f", {ids, ids}, {});
    ASSERT_TRUE(function.ok()) << function.status();
    Graph graph;
    std::map<TensorId, DenseTensor> inputs;
    for (const char* name : {"n", "m"}) {
      sdfg::Tensor t;
      t.name = name;
      t.shape = {kRange};
      t.dtype = DType::kInt64;
      t.role = TensorRole::kInput;
      const TensorId id = graph.AddTensor(std::move(t));
      inputs[id].shape = {kRange};
      for (int64_t i = 0; i < kRange; ++i) {
        inputs[id].data.push_back(static_cast<double>(
            solver::IntegerValue(solver::kIntegerTag + static_cast<uint32_t>(id), {i})));
      }
    }
    sdfg::Tensor y;
    y.name = "y";
    y.shape = {kRange};
    y.dtype = DType::kInt64;
    Operator op;
    op.inputs = {0, 1};
    op.outputs = {graph.AddTensor(std::move(y))};
    const TensorId made = op.outputs[0];
    op.function = graph.Intern(*function);
    graph.AddOperator(std::move(op));
    const auto dense = EvaluateDenseGraph(graph, inputs);
    ASSERT_TRUE(dense.ok()) << dense.status();
    UnknownIntegers policy(graph);
    solver::Arena arena;
    arena.ResetExhausted(300'000);
    SymbolicEvaluator evaluator(&arena, {&graph}, &policy);
    for (int64_t low = 0; low < kRange; ++low) {  // a decision on the index needs a narrow range
      const solver::Symbol s = arena.NewFree(low, low);
      evaluator.ClearFailure();
      const auto value = evaluator.IntegerElement({0, made}, {Affine(low)});
      if (!value || value->overflow || arena.exhausted()) break;
      const double truth = (*dense).at(made).data[low];
      const solver::Approximate found = solver::Evaluate(arena, arena.Position(*value), {{s, low}});
      ASSERT_NEAR(static_cast<double>(found.value), truth, 1e-6 * (1 + std::abs(truth)))
          << "at " << low << ": " << arena.ToString(*value);
      const solver::IntRange range = arena.RangeOf(*value);
      ASSERT_LE(range.low, truth) << arena.ToString(*value);
      ASSERT_GE(range.high, truth) << arena.ToString(*value);
      ++compared;
      bounded += range.IsBounded();
    }
  }
  EXPECT_GT(compared, 15000);
  EXPECT_GT(bounded, 5000);
}

}  // namespace
}  // namespace planproof::sdfg
