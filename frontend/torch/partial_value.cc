#include "frontend/torch/partial_value.h"

#include "sdfg/index_range.h"

namespace planproof::frontend::torch {

using sdfg::Op;
using solver::Rational;

PartialValue::Sort SortOf(const sdfg::Node& node) {
  switch (node.op) {
    case Op::kIntConst:
    case Op::kIndex:
    case Op::kIntAdd:
    case Op::kIntScale:
    case Op::kIntDiv:
    case Op::kIntMod:
    case Op::kWhole:
    case Op::kIntElement:
      return PartialValue::Sort::kInteger;
    case Op::kOpaque:
      return node.int_valued ? PartialValue::Sort::kInteger : PartialValue::Sort::kReal;
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
      return PartialValue::Sort::kCondition;
    default:
      return PartialValue::Sort::kReal;
  }
}

std::optional<Rational> Computed(const sdfg::Node& node, const std::vector<Rational>& args) {
  switch (node.op) {
    case Op::kIntAdd:
    case Op::kAdd:
      return args[0] + args[1];
    case Op::kMul:
      return args[0] * args[1];
    case Op::kIntScale:
      return Rational(node.value) * args[0];
    case Op::kIntDiv:
    case Op::kIntMod: {
      int64_t number = 0;
      if (!args[0].ToInt64(&number)) return std::nullopt;
      const int64_t quotient = sdfg::FloorDiv(number, node.value);
      return Rational(node.op == Op::kIntDiv ? quotient : number - quotient * node.value);
    }
    case Op::kNeg:
      return -args[0];
    case Op::kDiv:
      if (args[1].IsZero()) return std::nullopt;
      return args[0] / args[1];
    case Op::kWhole:
    case Op::kPosition:
    case Op::kIndicator:
      return args[0];
    case Op::kMax:
      return args[0] < args[1] ? args[1] : args[0];
    case Op::kMin:
      return args[1] < args[0] ? args[1] : args[0];
    case Op::kAbs:
      return args[0].Sign() < 0 ? -args[0] : args[0];
    case Op::kIntLess:
    case Op::kRealLess:
      return Rational(args[0] < args[1] ? 1 : 0);
    case Op::kIntLessEq:
    case Op::kRealLessEq:
      return Rational(args[1] < args[0] ? 0 : 1);
    case Op::kIntEq:
    case Op::kRealEq:
      return Rational(args[0] == args[1] ? 1 : 0);
    case Op::kNonzero:
      return Rational(args[0].IsZero() ? 0 : 1);
    case Op::kNot:
      return Rational(args[0].IsZero() ? 1 : 0);
    case Op::kAnd:
      return Rational(args[0].IsZero() || args[1].IsZero() ? 0 : 1);
    case Op::kOr:
      return Rational(args[0].IsZero() && args[1].IsZero() ? 0 : 1);
    default:
      return std::nullopt;
  }
}

}  // namespace planproof::frontend::torch
