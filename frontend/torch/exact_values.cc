#include "frontend/torch/exact_values.h"

#include <algorithm>
#include <utility>

#include "sdfg/index_function_check.h"
#include "sdfg/index_range.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::ExprId;
using sdfg::FloorDiv;
using sdfg::FunctionInput;
using sdfg::FunctionOutput;
using sdfg::FunctionPremise;
using sdfg::IndexFunction;
using sdfg::Node;
using sdfg::Op;
using sdfg::VarId;
using solver::Rational;

constexpr int kMaxDepth = 1000;      // evaluation recurses along an expression
constexpr int64_t kMaxExponent = 8;  // of a power, up or down
constexpr size_t kMaxDigits = 256;   // of an element

struct Evaluated {
  Rational real;
  int64_t integer = 0;  // sorts I and B
};

class ExactEvaluation {
 public:
  ExactEvaluation(const IndexFunction& function, const std::vector<const ExactElements*>& inputs,
                  int64_t* work)
      : f_(function), inputs_(inputs), sorts_(sdfg::SortsOf(function)), work_(*work) {
    position_.assign(f_.vars.size(), 0);
    std::vector<int> depth;
    for (const Node& node : f_.nodes) {
      int deepest = 0;
      for (ExprId arg : node.args) deepest = std::max(deepest, depth[arg]);
      depth.push_back(deepest + 1);
      failed_ = failed_ || deepest >= kMaxDepth;
    }
  }

  std::optional<ExactElements> Run(int output) {
    for (const FunctionPremise& premise : f_.premises) {
      ForEachIndex(f_.outputs[premise.output], [&] {
        if (Int(premise.condition) == 0) Fail();
      });
    }
    ExactElements elements;
    const FunctionOutput& wanted = f_.outputs[output];
    ForEachIndex(wanted, [&] {
      const bool whole = sorts_[wanted.body] == sdfg::Sort::kInt;
      Rational element = whole ? Rational(Int(wanted.body)) : Real(wanted.body);
      if (element.Numerator().size() + element.Denominator().size() > kMaxDigits) Fail();
      elements.push_back(std::move(element));
    });
    if (failed_) return std::nullopt;
    return elements;
  }

 private:
  template <typename Visit>
  void ForEachIndex(const FunctionOutput& output, Visit visit) {
    for (VarId var : output.dims) {
      position_[var] = 0;
      if (f_.vars[var].extent == 0) return;
    }
    while (!failed_) {
      visit();
      size_t d = output.dims.size();
      while (d > 0 && ++position_[output.dims[d - 1]] == f_.vars[output.dims[d - 1]].extent) {
        position_[output.dims[--d]] = 0;
      }
      if (d == 0) return;
    }
  }

  void Fail() { failed_ = true; }

  Rational Real(ExprId id) { return Evaluate(id).real; }
  int64_t Int(ExprId id) { return Evaluate(id).integer; }

  Rational Element(const Node& node) {
    const FunctionInput& input = f_.inputs[node.input];
    int64_t offset = 0;
    for (size_t d = 0; d < node.args.size(); ++d) {
      const int64_t index = Int(node.args[d]);
      if (failed_ || index < 0 || index >= input.shape[d]) {
        Fail();
        return {};
      }
      offset = offset * input.shape[d] + index;
    }
    if (inputs_[node.input] == nullptr) {
      Fail();
      return {};
    }
    return (*inputs_[node.input])[offset];
  }

  int64_t Whole(const Rational& real) {
    int64_t integer = 0;
    if (!real.ToInt64(&integer)) Fail();
    return integer;
  }

  // A sum, or the largest or smallest of a row that is not empty.
  Rational Fold(const Node& node) {
    const int64_t extent = f_.vars[node.var].extent;
    if (extent == 0 && node.op != Op::kSum) Fail();
    Rational result;
    for (int64_t i = 0; i < extent && !failed_; ++i) {
      position_[node.var] = i;
      const Rational next = Real(node.args[0]);
      if (node.op == Op::kSum) {
        result += next;
      } else if (i == 0 || (node.op == Op::kReduceMax ? result < next : next < result)) {
        result = next;
      }
    }
    return result;
  }

  Rational Power(const Node& node) {
    const Rational base = Real(node.args[0]);
    int64_t exponent = 0;
    if (!node.real.ToInt64(&exponent) || exponent > kMaxExponent || exponent < -kMaxExponent ||
        (exponent < 0 && base.IsZero())) {
      Fail();
      return {};
    }
    return base.Power(exponent);
  }

  Rational Quotient(const Node& node) {
    const Rational divisor = Real(node.args[1]);
    if (divisor.IsZero()) {
      Fail();
      return {};
    }
    return Real(node.args[0]) / divisor;
  }

  Evaluated Evaluate(ExprId id) {
    const Node& node = f_.nodes[id];
    if (failed_ || --work_ < 0) {
      Fail();
      return {};
    }
    switch (node.op) {
      case Op::kIntConst:
      case Op::kIndex:
      case Op::kIntAdd:
      case Op::kIntScale:
      case Op::kIntDiv:
      case Op::kIntMod:
      case Op::kWhole:
      case Op::kIntElement:
        return {{}, Integer(node)};
      case Op::kSelect:
        return Evaluate(node.args[Int(node.args[0]) != 0 ? 1 : 2]);
      case Op::kIntLess:
      case Op::kIntLessEq:
      case Op::kIntEq:
      case Op::kRealLess:
      case Op::kRealLessEq:
      case Op::kRealEq:
      case Op::kNonzero:
      case Op::kAnd:
      case Op::kOr:
      case Op::kNot:
        return {{}, Holds(node) ? 1 : 0};
      default:
        return {Number(node), 0};
    }
  }

  int64_t Integer(const Node& node) {
    int64_t result = 0;
    switch (node.op) {
      case Op::kIntConst:
        return node.value;
      case Op::kIndex:
        return position_[node.var];
      case Op::kIntAdd:
        if (__builtin_add_overflow(Int(node.args[0]), Int(node.args[1]), &result)) Fail();
        return result;
      case Op::kIntScale:
        if (__builtin_mul_overflow(node.value, Int(node.args[0]), &result)) Fail();
        return result;
      case Op::kIntDiv:
        return FloorDiv(Int(node.args[0]), node.value);
      case Op::kIntMod: {
        const int64_t value = Int(node.args[0]);
        return value - node.value * FloorDiv(value, node.value);
      }
      case Op::kWhole:
        return Whole(Real(node.args[0]));
      default:
        return Whole(Element(node));
    }
  }

  bool Holds(const Node& node) {
    const auto integer = [&](size_t i) { return Int(node.args[i]); };
    const auto real = [&](size_t i) { return Real(node.args[i]); };
    switch (node.op) {
      case Op::kIntLess:
        return integer(0) < integer(1);
      case Op::kIntLessEq:
        return integer(0) <= integer(1);
      case Op::kIntEq:
        return integer(0) == integer(1);
      case Op::kRealLess:
        return real(0) < real(1);
      case Op::kRealLessEq:
        return !(real(1) < real(0));
      case Op::kRealEq:
        return real(0) == real(1);
      case Op::kNonzero:
        return sorts_[node.args[0]] == sdfg::Sort::kInt ? integer(0) != 0 : !real(0).IsZero();
      case Op::kAnd:
        return integer(0) != 0 && integer(1) != 0;
      case Op::kOr:
        return integer(0) != 0 || integer(1) != 0;
      default:
        return integer(0) == 0;
    }
  }

  Rational Number(const Node& node) {
    switch (node.op) {
      case Op::kReal:
        return node.real;
      case Op::kElement:
        return Element(node);
      case Op::kPosition:
        return Int(node.args[0]);
      case Op::kIndicator:
        return Int(node.args[0]) != 0 ? 1 : 0;
      case Op::kAdd:
        return Real(node.args[0]) + Real(node.args[1]);
      case Op::kMul:
        return Real(node.args[0]) * Real(node.args[1]);
      case Op::kNeg:
        return -Real(node.args[0]);
      case Op::kDiv:
        return Quotient(node);
      case Op::kPow:
        return Power(node);
      case Op::kAbs: {
        const Rational value = Real(node.args[0]);
        return value < 0 ? -value : value;
      }
      case Op::kMax:
      case Op::kMin: {
        const Rational a = Real(node.args[0]), b = Real(node.args[1]);
        return (a < b) == (node.op == Op::kMax) ? b : a;
      }
      case Op::kSum:
      case Op::kReduceMax:
      case Op::kReduceMin:
        return Fold(node);
      default:
        Fail();
        return {};
    }
  }

  const IndexFunction& f_;
  const std::vector<const ExactElements*>& inputs_;
  const std::vector<sdfg::Sort> sorts_;
  int64_t& work_;
  std::vector<int64_t> position_;  // per variable
  bool failed_ = false;
};

}  // namespace

std::optional<ExactElements> EvaluateExactly(const sdfg::IndexFunction& function, int output,
                                             const std::vector<const ExactElements*>& inputs,
                                             int64_t* work) {
  return ExactEvaluation(function, inputs, work).Run(output);
}

}  // namespace planproof::frontend::torch
