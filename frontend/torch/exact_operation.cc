#include "frontend/torch/exact_values.h"
#include "sdfg/index_range.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::Op;
using solver::Rational;
using Maybe = std::optional<Rational>;

constexpr int64_t kMaxExponent = 8;    // of a power, up or down
constexpr size_t kMaxBaseDigits = 64;  // of what is raised to one

Maybe Truth(bool value) { return Rational(value ? 1 : 0); }

Maybe IfInteger(Rational value) {
  int64_t integer = 0;
  if (!value.ToInt64(&integer)) return std::nullopt;
  return value;
}

Maybe IntegerDivision(Op op, const Rational& dividend, int64_t divisor) {
  int64_t integer = 0;
  if (!dividend.ToInt64(&integer)) return std::nullopt;
  const int64_t quotient = sdfg::FloorDiv(integer, divisor);
  return Rational(op == Op::kIntDiv ? quotient : integer - quotient * divisor);
}

Maybe Power(const Rational& base, const Rational& power) {
  int64_t exponent = 0;
  if (!power.ToInt64(&exponent) || exponent > kMaxExponent || exponent < -kMaxExponent ||
      base.Numerator().size() + base.Denominator().size() > kMaxBaseDigits ||
      (exponent < 0 && base.IsZero())) {
    return std::nullopt;
  }
  return base.Power(exponent);
}

}  // namespace

Maybe ExactResult(const sdfg::Node& node, const std::vector<Rational>& args) {
  switch (node.op) {
    case Op::kIntAdd:
      return IfInteger(args[0] + args[1]);
    case Op::kIntScale:
      return IfInteger(Rational(node.value) * args[0]);
    case Op::kWhole:
      return IfInteger(args[0]);
    case Op::kIntDiv:
    case Op::kIntMod:
      return IntegerDivision(node.op, args[0], node.value);
    case Op::kPosition:
    case Op::kIndicator:
      return args[0];
    case Op::kAdd:
      return args[0] + args[1];
    case Op::kMul:
      return args[0] * args[1];
    case Op::kNeg:
      return -args[0];
    case Op::kDiv:
      if (args[1].IsZero()) return std::nullopt;
      return args[0] / args[1];
    case Op::kPow:
      return Power(args[0], node.real);
    case Op::kMax:
      return args[0] < args[1] ? args[1] : args[0];
    case Op::kMin:
      return args[1] < args[0] ? args[1] : args[0];
    case Op::kAbs:
      return args[0].Sign() < 0 ? -args[0] : args[0];
    case Op::kIntLess:
    case Op::kRealLess:
      return Truth(args[0] < args[1]);
    case Op::kIntLessEq:
    case Op::kRealLessEq:
      return Truth(!(args[1] < args[0]));
    case Op::kIntEq:
    case Op::kRealEq:
      return Truth(args[0] == args[1]);
    case Op::kNonzero:
      return Truth(!args[0].IsZero());
    case Op::kNot:
      return Truth(args[0].IsZero());
    case Op::kAnd:
      return Truth(!args[0].IsZero() && !args[1].IsZero());
    case Op::kOr:
      return Truth(!args[0].IsZero() || !args[1].IsZero());
    default:
      return std::nullopt;
  }
}

}  // namespace planproof::frontend::torch
