// Of a selection only the branch taken has to be defined: its value is that of the branch, and its
// premises hold exactly where the branch that is taken is defined, forward and in derivatives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sdfg/dense_evaluator.h"
#include "sdfg/differentiate.h"
#include "sdfg/operator_library.h"
#include "sdfg/symbolic_evaluator.h"
#include "tests/solver/term_numeric.h"

namespace planproof::sdfg {
namespace {

using solver::Affine;
using solver::PremiseKind;

constexpr int64_t kColumns = 60;

// Every tensor is an unknown value, but for what operators make.
class UnknownBranches : public RepresentationPolicy {
 public:
  explicit UnknownBranches(const Graph& graph) : graph_(graph) {}
  Representation Of(TensorRef t) override {
    Representation r;
    const Tensor& tensor = graph_.tensors[t.tensor];
    if (tensor.producer != kNone) return r;
    r.kind = Representation::Kind::kAtom;
    r.tag = TagOf(t.tensor);
    r.int_range = {0, solver::kIntegerTagMax};
    return r;
  }
  bool MayBeInfinite(TensorRef) override { return false; }
  uint32_t TagOf(TensorId t) const {
    return IsInteger(graph_.tensors[t].dtype) ? solver::kIntegerTag : static_cast<uint32_t>(t);
  }

 private:
  const Graph& graph_;
};

// The value of an elementwise expression at one index, by the rule of this test: nothing where an
// operation that counts is not defined. Conditions are 0 and 1.
class Reference {
 public:
  Reference(const IndexFunction& function, const std::map<TensorId, DenseTensor>& inputs,
            int64_t at)
      : f_(function), inputs_(inputs), at_(at) {}

  std::optional<double> At(ExprId id) const {
    const Node& n = f_.nodes[id];
    const auto both = [&](auto apply) -> std::optional<double> {
      const std::optional<double> a = At(n.args[0]), b = At(n.args[1]);
      if (!a || !b) return std::nullopt;
      return apply(*a, *b);
    };
    const auto one = [&](auto apply) -> std::optional<double> {
      const std::optional<double> a = At(n.args[0]);
      return a ? apply(*a) : a;
    };
    switch (n.op) {
      case Op::kElement:
      case Op::kIntElement:
        return inputs_.at(n.input).data[at_];
      case Op::kPosition:
      case Op::kIndicator:
        return At(n.args[0]);
      case Op::kIntConst:
        return static_cast<double>(n.value);
      case Op::kReal:
        return n.real.ToDouble();
      case Op::kNegInf:
        return -INFINITY;
      case Op::kAdd:
      case Op::kIntAdd:
        return both([](double a, double b) { return a + b; });
      case Op::kMul:
        return both([](double a, double b) { return a * b; });
      case Op::kMax:
        return both([](double a, double b) { return std::max(a, b); });
      case Op::kNeg:
        return one([](double a) { return -a; });
      case Op::kIntScale:
        return one([&](double a) { return static_cast<double>(n.value) * a; });
      case Op::kDiv:
        return both([](double a, double b) { return b == 0 ? kNothing : std::optional(a / b); });
      case Op::kLog:
        return one([](double a) { return a > 0 ? std::optional(std::log(a)) : kNothing; });
      case Op::kPow:
        return one([&](double a) {
          const bool defined = n.real.IsInteger()  ? n.real.Sign() > 0 || a != 0
                               : n.real.Sign() > 0 ? a >= 0
                                                   : a > 0;
          return defined ? std::optional(std::pow(a, n.real.ToDouble())) : kNothing;
        });
      case Op::kSelect: {
        const std::optional<double> c = At(n.args[0]);
        return c ? At(n.args[*c != 0 ? 1 : 2]) : c;
      }
      case Op::kIntLess:
      case Op::kRealLess:
        return both([](double a, double b) { return a < b ? 1.0 : 0.0; });
      case Op::kIntLessEq:
      case Op::kRealLessEq:
        return both([](double a, double b) { return a <= b ? 1.0 : 0.0; });
      case Op::kIntEq:
      case Op::kRealEq:
        return both([](double a, double b) { return a == b ? 1.0 : 0.0; });
      case Op::kNonzero:
        return one([](double a) { return a != 0 ? 1.0 : 0.0; });
      case Op::kNot:
        return one([](double a) { return a == 0 ? 1.0 : 0.0; });
      case Op::kAnd:
      case Op::kOr: {
        const std::optional<double> a = At(n.args[0]);
        if (!a || (*a != 0) == (n.op == Op::kOr)) return a;
        return At(n.args[1]);
      }
      default:
        ADD_FAILURE() << "unexpected node in " << ToString(f_);
        return std::nullopt;
    }
  }

 private:
  static constexpr std::optional<double> kNothing = std::nullopt;
  const IndexFunction& f_;
  const std::map<TensorId, DenseTensor>& inputs_;
  int64_t at_;
};

struct Outcome {
  int defined = 0, undefined = 0;
  std::vector<std::string> premises;
  std::string value;
};

// Element i of the function's first output at a symbolic i, against dense evaluation at each i.
Outcome Check(const IndexFunction& function) {
  Outcome outcome;
  Graph graph;
  std::map<TensorId, DenseTensor> inputs;
  UnknownBranches policy(graph);
  Operator op;
  for (const FunctionInput& input : function.inputs) {
    Tensor t;
    t.name = input.name;
    t.shape = input.shape;
    t.dtype = input.dtype;
    t.role = TensorRole::kInput;
    const TensorId id = graph.AddTensor(std::move(t));
    op.inputs.push_back(id);
    DenseTensor& dense = inputs[id];
    dense.shape = input.shape;
    for (int64_t i = 0; i < ElementCount(input.shape); ++i) {
      const uint32_t tag = policy.TagOf(id);
      dense.data.push_back(IsInteger(input.dtype)
                               ? static_cast<double>(solver::IntegerValue(tag, {i}))
                               : static_cast<double>(solver::ElementValue(tag, {i})));
    }
  }
  for (const FunctionOutput& output : function.outputs) {
    Tensor made;
    made.name = output.name;
    made.shape = output.shape(function.vars);
    made.dtype = DType::kFloat32;
    op.outputs.push_back(graph.AddTensor(std::move(made)));
  }
  const TensorId result = op.outputs[0];
  op.function = graph.Intern(function);
  graph.AddOperator(std::move(op));
  solver::Arena arena;
  arena.ResetExhausted(300'000);
  SymbolicEvaluator evaluator(&arena, {&graph}, &policy);
  evaluator.SetExactBranches(true);
  const solver::Symbol i = arena.NewFree(0, kColumns - 1);
  const auto value = evaluator.Element({0, result}, {Affine::Of(i)});
  if (!value || arena.exhausted()) return outcome;
  outcome.value = arena.ToString(value->value, 2000);
  for (const solver::Premise& p : arena.premises()) {
    outcome.premises.push_back(arena.ToString(p.poly) + (p.kind == PremiseKind::kNonZero ? " != 0"
                                                         : p.kind == PremiseKind::kPositive
                                                             ? " > 0"
                                                             : " >= 0"));
  }
  for (int64_t at = 0; at < kColumns; ++at) {
    const std::optional<double> truth =
        Reference(function, inputs, at).At(function.outputs[0].body);
    bool holds = true, close = false;
    for (const solver::Premise& p : arena.premises()) {
      const solver::Approximate left = solver::Evaluate(arena, p.poly, {{i, at}});
      const bool zero = solver::IsZeroValue(left);
      close = close || (zero && left.scale > 0 && p.kind != PremiseKind::kNonZero);
      holds = holds && std::isfinite(left.value) &&
              (p.kind == PremiseKind::kNonZero    ? !zero
               : p.kind == PremiseKind::kPositive ? !zero && left.value > 0
                                                  : zero || left.value > 0);
    }
    if (close || (truth && std::fabs(*truth) > 1e9)) continue;
    EXPECT_EQ(holds, truth.has_value())
        << ToString(function) << "\nat " << at << ", value " << truth.value_or(NAN) << "; premises "
        << testing::PrintToString(outcome.premises);
    ++(holds ? outcome.defined : outcome.undefined);
    if (!holds || !truth) continue;
    const solver::Approximate found = solver::Evaluate(arena, value->value, {{i, at}});
    // sqrt(n n y) is |n| sqrt(y): of 0 times the root of a negative number numbers say nothing.
    if (!std::isfinite(found.value) || found.scale > 1e9L) continue;
    EXPECT_NEAR(static_cast<double>(found.value), *truth,
                1e-8 * (1 + std::fabs(*truth) + static_cast<double>(found.scale)))
        << ToString(function) << "\nat " << at << ": " << outcome.value;
  }
  return outcome;
}

Operand Vector(DType dtype) {
  Operand operand;
  operand.shape = {kColumns};
  operand.dtype = dtype;
  return operand;
}

// "op f(x, y, n) -> z = BODY", n of integers.
IndexFunction Declared(const std::string& body) {
  OperatorLibrary library = OperatorLibrary::CopyOfBuiltIn();
  const absl::Status status = library.AddDeclarations(
      "op f(x[i], y[i], n[i]: int) ties even let vx = x[i] let vy = y[i] let vn = n[i] "
      "-> z[i]: like x = " +
          body,
      "my.op");
  EXPECT_TRUE(status.ok()) << status << "\n" << body;
  const auto function = library.Instantiate(
      "f", {Vector(DType::kFloat32), Vector(DType::kFloat32), Vector(DType::kInt64)}, {});
  // A constant expression may divide by zero.
  EXPECT_TRUE(function.ok() || absl::IsInvalidArgument(function.status())) << function.status();
  return function.ok() ? *function : IndexFunction();
}

IndexFunction DerivativeOf(const IndexFunction& function) {
  const auto derivative = Differentiate(function, {0}, {0});
  EXPECT_TRUE(derivative.ok()) << derivative.status();
  return derivative.ok() ? *derivative : IndexFunction();
}

// Nothing is said of what it is at some places, nor of what a premise takes for a number.
TEST(Branches, MinusInfinityIsLessThanEveryNumberAndEqualToItself) {
  const std::string all = "where(vn >= 0, -inf, vx)", some = "where(vn == 0, -inf, vx)";
  for (const std::string compare : {"<", "<=", ">", ">=", "==", "!="}) {
    const auto chosen = [&](const std::string& x, const std::string& y) {
      return Check(Declared("where(" + x + compare + y + ", vx, vy + 3)"));
    };
    for (const Outcome& told : {chosen(all, "vx"), chosen("vx", all), chosen(all, all)})
      EXPECT_EQ(told.defined, kColumns) << compare;
    for (const Outcome& open : {chosen(some, "vy"), chosen(all, some), chosen(some, some),
                                chosen(all, "max(" + some + ", vy)")}) {
      EXPECT_EQ(open.defined, 0) << compare;
    }
  }
}

TEST(Branches, WhatItsConditionMakesDefinedHasNoPremise) {
  for (const char* body :
       {"where(vx > 0, log(vx), 0)", "where(vx >= 0, sqrt(vx), 0)", "where(vx != 0, 1 / vx, 7)",
        "where(vx > 0, rsqrt(vx), vx)", "where(vx > 1, log(vx), 0)", "where(vx < 0, 1 / vx, vx)",
        "where(vx > 0, where(vy > 0, log(vx * vy), vx), vy)",
        "where(vx > 0 and vy > 0, log(3 * vx * vy), 0)", "where(vx > 0, 0, log(1 - vx))",
        "where(vx <= 0, 0, log(2 * vx))", "where(vn != 0, vx / vn, 0)",
        "where(vn >= 1, log(vn), 0)", "where(not (vx <= 0), log(vx) ^ 2, 0)",
        "where(vx > 0 and log(vx) < 1, vx, vy)", "where(vx <= 0 or log(vx) < 1, vx, vy)",
        "where(vx != 0, vx ^ (-2), 1)", "where(vx > vy, log(vx - vy), log(1 + vy - vx))",
        "where(vx > 0, log(vx), 0) + where(vx > 0, 1 / vx, vy)"}) {
    const Outcome outcome = Check(Declared(body));
    EXPECT_TRUE(outcome.premises.empty()) << body << ": " << outcome.premises.front();
    EXPECT_EQ(outcome.defined, kColumns) << body;
    const Outcome derivative = Check(DerivativeOf(Declared(body)));
    const bool at_the_root_itself = std::string(body) == "where(vx >= 0, sqrt(vx), 0)";
    EXPECT_EQ(derivative.premises.empty(), !at_the_root_itself) << body;
    EXPECT_GE(derivative.defined, kColumns - 1) << body;
  }
}

TEST(Branches, WhatItsConditionDoesNotMakeDefinedKeepsItsPremise) {
  for (const char* body :
       {"where(vx > 0, log(vy), 0)", "where(vx < 0, log(vx), 0)", "where(vx >= 0, log(vx), 0)",
        "where(vx > -1, log(vx), 0)", "where(vx != 0, log(vx), 0)", "where(vx > 0, 0, log(vx))",
        "where(vx > 0 or vy > 0, log(vx), 0)", "where(vn != 1, vx / vn, 0)",
        "where(vx > 0, log(vx), log(vy))", "where(vx > 0, 1, 0) * log(vx)", "[vx > 0] * log(vx)",
        "log(where(vx > 0, vx, vy))", "where(vx > 0, log(vx - 1), 0)"}) {
    const Outcome outcome = Check(Declared(body));
    EXPECT_FALSE(outcome.premises.empty()) << body;
    // Both kinds of points have been compared; elements that are exactly 0 are none.
    const bool zeros_only = std::string(body).find(">= 0") != std::string::npos;
    EXPECT_GT(outcome.defined, 0) << body;
    EXPECT_TRUE(zeros_only || outcome.undefined > 0) << body;
  }
}

TEST(Branches, ADerivativeDividesWithinTheChoice) {
  const IndexFunction f = Declared("where(vx > 0, log(vx), 0)");
  EXPECT_THAT(ToString(DerivativeOf(f)),
              testing::HasSubstr("where(0 < x[j0], d_z[j0] / x[j0], 0)"));
}

TEST(Branches, TheUseOutsideABranchIsAPremiseAgain) {
  const Outcome outcome = Check(Declared("where(vx > 0, log(vx), 0) + log(vx)"));
  EXPECT_EQ(outcome.premises, std::vector<std::string>{"t0[i0] > 0"}) << outcome.value;
}

// One tensor is read in two branches: what it is in the first is not what it is in the second.
TEST(Branches, WhatIsRememberedInABranchIsNotTakenInAnother) {
  const OperatorLibrary& library = OperatorLibrary::BuiltIn();
  OperatorLibrary own = OperatorLibrary::CopyOfBuiltIn();
  ASSERT_TRUE(own.AddDeclarations("op pick(x[i], y[i], t[i]) ties even -> z[i]: like x = "
                                  "where(x[i] > 0, t[i], 0) + where(y[i] > 0, t[i], 0)",
                                  "my.op")
                  .ok());
  Graph graph;
  const auto add = [&](TensorRole role) {
    Tensor t;
    t.shape = {kColumns};
    t.dtype = DType::kFloat32;
    t.role = role;
    return graph.AddTensor(std::move(t));
  };
  const auto apply = [&](const IndexFunction& f, std::vector<TensorId> inputs) {
    Operator op;
    op.inputs = std::move(inputs);
    op.outputs = {add(TensorRole::kIntermediate)};
    op.function = graph.Intern(f);
    const TensorId result = op.outputs[0];
    graph.AddOperator(std::move(op));
    return result;
  };
  const TensorId x = add(TensorRole::kInput), y = add(TensorRole::kInput);
  const Operand v = Vector(DType::kFloat32);
  const TensorId logarithm = apply(*library.Instantiate("log", {v}, {}), {x});
  const TensorId sum = apply(*own.Instantiate("pick", {v, v, v}, {}), {x, y, logarithm});
  UnknownBranches policy(graph);
  solver::Arena arena;
  arena.ResetExhausted(300'000);
  SymbolicEvaluator evaluator(&arena, {&graph}, &policy);
  evaluator.SetExactBranches(true);
  const solver::Symbol i = evaluator.symbols()->OfDimension(0, {0, kColumns});
  const auto value = evaluator.Element({0, sum}, {Affine::Of(i)});
  ASSERT_TRUE(value.has_value());
  // log x is defined where x > 0, but not where y > 0 alone.
  int met = 0, not_met = 0;
  for (int64_t at = 0; at < kColumns; ++at) {
    const double vx = static_cast<double>(solver::ElementValue(policy.TagOf(x), {at})),
                 vy = static_cast<double>(solver::ElementValue(policy.TagOf(y), {at}));
    bool holds = true;
    for (const solver::Premise& p : arena.premises())
      holds = holds && solver::Evaluate(arena, p.poly, {{i, at}}).value > 0;
    EXPECT_EQ(holds, vx > 0 || vy <= 0) << at;
    ++(holds ? met : not_met);
    if (!holds) continue;
    const double truth = ((vx > 0) + (vy > 0)) * (vx > 0 ? std::log(vx) : 0);
    EXPECT_NEAR(static_cast<double>(solver::Evaluate(arena, value->value, {{i, at}}).value), truth,
                1e-9);
  }
  EXPECT_GT(met, 0);
  EXPECT_GT(not_met, 0);
}

class RandomBranches : public testing::Test {
 protected:
  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string Total(int depth) {
    if (depth == 0) {
      static const char* const kLeaves[] = {"vx", "vy", "vn", "1", "2", "vx"};
      return kLeaves[Pick(6)];
    }
    switch (Pick(5)) {
      case 0:
        return "(" + Total(depth - 1) + " + " + Total(depth - 1) + ")";
      case 1:
        return "(" + Total(depth - 1) + " - " + Total(depth - 1) + ")";
      case 2:
        return Total(depth - 1) + " * " + Total(depth - 1);
      case 3:
        return "max(" + Total(depth - 1) + ", " + Total(depth - 1) + ")";
      default:
        return Total(0);
    }
  }
  std::string Condition(int depth) {
    static const char* const kComparisons[] = {" > ", " < ", " >= ", " <= ", " != ", " == "};
    switch (depth == 0 ? 0 : Pick(6)) {
      case 4:
        return "(" + Condition(depth - 1) + " and " + Condition(depth - 1) + ")";
      case 5:
        return "(" + Condition(depth - 1) + " or " + Condition(depth - 1) + ")";
      case 3:
        return "not (" + Condition(depth - 1) + ")";
      case 2:
        return "vn" + std::string(kComparisons[Pick(6)]) + std::to_string(Pick(4));
      default: {
        const char* zero = Pick(2) == 0 ? "0" : "vy";
        return Total(1) + kComparisons[Pick(4)] + zero;
      }
    }
  }
  std::string Expression(int depth) {
    if (depth == 0) return Total(1);
    switch (Pick(9)) {
      case 0:
        return "log(" + Expression(depth - 1) + ")";
      case 1:
        return "sqrt(" + Expression(depth - 1) + ")";
      case 2:
        return "1 / (" + Expression(depth - 1) + ")";
      case 3:
        return "(" + Expression(depth - 1) + " + " + Expression(depth - 1) + ")";
      case 4:
        return "(" + Expression(depth - 1) + ") * (" + Expression(depth - 1) + ")";
      default:
        return "where(" + Condition(1) + ", " + Expression(depth - 1) + ", " +
               Expression(depth - 1) + ")";
    }
  }
  std::mt19937_64 random_{11};
};

TEST_F(RandomBranches, PremisesHoldWhereTheBranchTakenIsDefinedAndNowhereElse) {
  int defined = 0, undefined = 0, without = 0;
  for (int round = 0; round < 1500; ++round) {
    const std::string body = Expression(2 + Pick(2));
    SCOPED_TRACE(body);
    const IndexFunction function = Declared(body);
    if (function.outputs.empty()) continue;
    const Outcome outcome = Check(function);
    defined += outcome.defined;
    undefined += outcome.undefined;
    without +=
        outcome.defined > 0 && outcome.premises.empty() && body.find("log") != std::string::npos;
    if (HasFailure()) return;
  }
  EXPECT_GT(defined, 20000);
  EXPECT_GT(undefined, 5000);
  std::cout << defined << " points defined, " << undefined << " not; " << without
            << " expressions with logarithms without premises\n";
}

// The derivative by x against central differences, where the function is defined.
TEST_F(RandomBranches, DerivativesAreDefinedWhereTheBranchTakenHasOne) {
  int compared = 0, branches = 0;
  for (int round = 0; round < 1500; ++round) {
    const std::string body = Expression(2 + Pick(2));
    SCOPED_TRACE(body);
    const IndexFunction function = Declared(body);
    if (function.outputs.empty()) continue;
    const IndexFunction derivative = DerivativeOf(function);
    std::map<TensorId, DenseTensor> inputs;
    for (TensorId t = 0; t < 4; ++t) {
      const uint32_t tag = t == 2 ? solver::kIntegerTag : static_cast<uint32_t>(t);
      inputs[t].shape = {kColumns};
      for (int64_t i = 0; i < kColumns; ++i) {
        inputs[t].data.push_back(t == 2 ? static_cast<double>(solver::IntegerValue(tag, {i}))
                                        : static_cast<double>(solver::ElementValue(tag, {i})));
      }
    }
    const auto at = [&](double step, int64_t i) {
      std::map<TensorId, DenseTensor> moved = inputs;
      moved[0].data[i] += step;
      return Reference(function, moved, i).At(function.outputs[0].body);
    };
    for (int64_t i = 0; i < 12; ++i) {
      const auto difference = [&](double step) -> std::optional<double> {
        const std::optional<double> right = at(step, i), left = at(-step, i);
        return right && left ? std::optional((*right - *left) / (2 * step)) : std::nullopt;
      };
      const std::optional<double> rough = difference(2e-6), fine = difference(1e-6);
      if (!rough || !fine || !at(0, i)) continue;
      if (std::fabs(*rough - *fine) > 1e-5 * (1 + std::fabs(*fine)) || std::fabs(*fine) > 1e4) {
        continue;  // too steep to say
      }
      const std::optional<double> value =
          Reference(derivative, inputs, i).At(derivative.outputs[0].body);
      // A root of 0 has no derivative, as in PyTorch, where it is infinite, also times 0.
      if (!value && body.find("sqrt") != std::string::npos) continue;
      ASSERT_TRUE(value.has_value()) << ToString(function) << "\n" << ToString(derivative);
      ASSERT_NEAR(*value / inputs[3].data[i], *fine, 1e-3 * (1 + std::fabs(*fine)))
          << ToString(derivative);
      ++compared;
      branches += body.find("where") != std::string::npos;
    }
  }
  EXPECT_GT(compared, 8000);
  EXPECT_GT(branches, 4000);
}

}  // namespace
}  // namespace planproof::sdfg
