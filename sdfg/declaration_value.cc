#include "sdfg/declaration_value.h"

#include <array>
#include <utility>

#include "absl/status/status.h"

namespace planproof::sdfg {
namespace {

using ValueSort = Value::Sort;
using solver::Rational;

bool IsInteger(const Value& value) {
  return value.sort == ValueSort::kInt ||
         (value.sort == ValueSort::kConstant && value.constant.IsInteger());
}

bool IsConstant(const Value& value) { return value.sort == ValueSort::kConstant; }

bool IsNumber(const Value& value, int64_t number) {
  return IsConstant(value) && value.constant == Rational(number);
}

absl::Status Error(const std::string& message) { return absl::InvalidArgumentError(message); }

}  // namespace

Value ValueArithmetic::Constant(Rational value) {
  return {ValueSort::kConstant, std::move(value), false, kNoExpr};
}
Value ValueArithmetic::Truth(bool value) { return {ValueSort::kTruth, {}, value, kNoExpr}; }
Value ValueArithmetic::NegInf() { return {ValueSort::kNegInf, {}, false, kNoExpr}; }

absl::StatusOr<ExprId> ValueArithmetic::ToInt(const Value& value) {
  if (value.sort == ValueSort::kInt) return value.id;
  int64_t integer = 0;
  if (IsConstant(value) && value.constant.ToInt64(&integer)) return builder_.Int(integer);
  return Error("expected an integer: an index, an element of an integer tensor or a whole number");
}

absl::StatusOr<ExprId> ValueArithmetic::ToReal(const Value& value) {
  switch (value.sort) {
    case ValueSort::kConstant:
      return builder_.Real(value.constant);
    case ValueSort::kNegInf:
      return builder_.NegInf();
    case ValueSort::kInt:
      return builder_.Unary(Op::kPosition, value.id);
    case ValueSort::kReal:
      return value.id;
    default:
      return Error("found a condition; expected a number (write [condition] for 1 or 0)");
  }
}

absl::StatusOr<ExprId> ValueArithmetic::ToBool(const Value& value) {
  const auto known = [this](bool truth) {
    return builder_.Binary(Op::kIntEq, builder_.Int(truth ? 0 : 1), builder_.Int(0));
  };
  switch (value.sort) {
    case ValueSort::kBool:
      return value.id;
    case ValueSort::kInt:
    case ValueSort::kReal:
      return builder_.Unary(Op::kNonzero, value.id);
    case ValueSort::kTruth:
      return known(value.truth);
    case ValueSort::kConstant:
      return known(!value.constant.IsZero());
    default:
      return Error("found -inf; expected a condition");
  }
}

absl::StatusOr<Value> ValueArithmetic::Binary(const std::string& op, const Value& a,
                                              const Value& b) {
  if (op == "and" || op == "or") return Logic(op == "and", a, b);
  if (op == "//" || op == "%") return Quotient(op == "%", a, b);
  if (op == "^") {
    if (!IsConstant(b)) return Error("the exponent of ^ must be a constant number");
    return Power(a, b.constant);
  }
  if (op.size() == 1 && std::string("+-*/").find(op[0]) != std::string::npos) {
    return Arithmetic(op[0], a, b);
  }
  return Compare(op, a, b);
}

absl::StatusOr<Value> ValueArithmetic::IntegerArithmetic(char op, const Value& a, const Value& b) {
  if (op == '*') {
    const Value& factor = IsConstant(a) ? a : b;
    int64_t value = 0;
    if (!IsConstant(factor) || !factor.constant.ToInt64(&value)) {
      return Error("an integer can only be multiplied by a constant");
    }
    return Int(builder_.IntScale(value, (&factor == &a ? b : a).id));
  }
  absl::StatusOr<ExprId> left = ToInt(a);
  absl::StatusOr<ExprId> right = ToInt(b);
  if (!left.ok()) return left.status();
  if (!right.ok()) return right.status();
  return Int(op == '+' ? builder_.IntAdd(*left, *right) : builder_.IntSub(*left, *right));
}

absl::StatusOr<Value> ValueArithmetic::Arithmetic(char op, const Value& a, const Value& b) {
  if (IsConstant(a) && IsConstant(b)) {
    if (op == '+') return Constant(a.constant + b.constant);
    if (op == '-') return Constant(a.constant - b.constant);
    if (op == '*') return Constant(a.constant * b.constant);
    if (b.constant.IsZero()) return Error("division by zero");
    return Constant(a.constant / b.constant);
  }
  bool integers = IsInteger(a) && IsInteger(b);
  bool linear = op == '+' || op == '-' || (op == '*' && (IsConstant(a) || IsConstant(b)));
  if (integers && linear) return IntegerArithmetic(op, a, b);
  if (b.sort == ValueSort::kReal || a.sort == ValueSort::kReal) {
    const Value& other = a.sort == ValueSort::kReal ? b : a;
    const Value& self = a.sort == ValueSort::kReal ? a : b;
    bool other_is_right = &other == &b;
    if (op == '+' && IsNumber(other, 0)) return self;
    if (op == '*' && IsNumber(other, 1)) return self;
    if ((op == '-' || op == '/') && other_is_right && IsNumber(other, op == '-' ? 0 : 1)) {
      return self;
    }
    if (op == '-' && !other_is_right && IsNumber(other, 0)) return Negate(self);
  }
  if (op == '/' && IsConstant(b) && b.constant.IsZero()) return Error("division by zero");
  // A quotient of integers is no integer, whatever its value.
  if (op == '/' && IsConstant(b) && a.sort != ValueSort::kInt) {
    return Arithmetic('*', a, Constant(b.constant.Inverse()));
  }
  absl::StatusOr<ExprId> left = ToReal(a);
  absl::StatusOr<ExprId> right = ToReal(b);
  if (!left.ok()) return left.status();
  if (!right.ok()) return right.status();
  switch (op) {
    case '+':
      return Real(builder_.Binary(Op::kAdd, *left, *right));
    case '-':
      return Real(builder_.Binary(Op::kAdd, *left, builder_.Unary(Op::kNeg, *right)));
    case '*':
      return Real(builder_.Binary(Op::kMul, *left, *right));
    default:
      return Real(builder_.Binary(Op::kDiv, *left, *right));
  }
}

absl::StatusOr<Value> ValueArithmetic::Quotient(bool remainder, const Value& a, const Value& b) {
  int64_t divisor = 0;
  if (!IsConstant(b) || !b.constant.ToInt64(&divisor) || divisor <= 0) {
    return Error("the divisor of // and % must be a positive whole number");
  }
  absl::StatusOr<ExprId> value = ToInt(a);
  if (!value.ok()) return value.status();
  return Int(remainder ? builder_.IntMod(*value, divisor) : builder_.IntDiv(*value, divisor));
}

absl::StatusOr<Value> ValueArithmetic::Compare(const std::string& op, const Value& a,
                                               const Value& b) {
  if (op == ">") return Compare("<", b, a);
  if (op == ">=") return Compare("<=", b, a);
  if (op == "!=") {
    absl::StatusOr<Value> equal = Compare("==", a, b);
    if (!equal.ok()) return equal;
    return Not(*equal);
  }
  if (IsConstant(a) && IsConstant(b)) {
    bool less = a.constant < b.constant;
    bool equal = a.constant == b.constant;
    return Truth(op == "<" ? less : op == "<=" ? less || equal : equal);
  }
  if (IsInteger(a) && IsInteger(b)) {
    absl::StatusOr<ExprId> left = ToInt(a);
    absl::StatusOr<ExprId> right = ToInt(b);
    if (!left.ok()) return left.status();
    if (!right.ok()) return right.status();
    Op node = op == "<" ? Op::kIntLess : op == "<=" ? Op::kIntLessEq : Op::kIntEq;
    return Bool(builder_.Binary(node, *left, *right));
  }
  if (a.sort == ValueSort::kNegInf || b.sort == ValueSort::kNegInf) {
    return Error("-inf cannot be compared");
  }
  absl::StatusOr<ExprId> left = ToReal(a);
  absl::StatusOr<ExprId> right = ToReal(b);
  if (!left.ok()) return left.status();
  if (!right.ok()) return right.status();
  Op node = op == "<" ? Op::kRealLess : op == "<=" ? Op::kRealLessEq : Op::kRealEq;
  return Bool(builder_.Binary(node, *left, *right));
}

absl::StatusOr<Value> ValueArithmetic::Logic(bool conjunction, const Value& a, const Value& b) {
  for (const Value* fixed : {&a, &b}) {
    if (fixed->sort != ValueSort::kTruth) continue;
    if (fixed->truth != conjunction) return *fixed;
    const Value& other = fixed == &a ? b : a;
    if (other.sort == ValueSort::kTruth) return other;
    absl::StatusOr<ExprId> condition = ToBool(other);
    if (!condition.ok()) return condition.status();
    return Bool(*condition);
  }
  absl::StatusOr<ExprId> left = ToBool(a);
  absl::StatusOr<ExprId> right = ToBool(b);
  if (!left.ok()) return left.status();
  if (!right.ok()) return right.status();
  return Bool(builder_.Binary(conjunction ? Op::kAnd : Op::kOr, *left, *right));
}

absl::StatusOr<Value> ValueArithmetic::Negate(const Value& a) {
  if (IsConstant(a)) return Constant(-a.constant);
  if (a.sort == ValueSort::kInt) return Int(builder_.IntScale(-1, a.id));
  absl::StatusOr<ExprId> value = ToReal(a);
  if (!value.ok()) return value.status();
  return Real(builder_.Unary(Op::kNeg, *value));
}

absl::StatusOr<Value> ValueArithmetic::Not(const Value& a) {
  if (a.sort == ValueSort::kTruth) return Truth(!a.truth);
  absl::StatusOr<ExprId> value = ToBool(a);
  if (!value.ok()) return value.status();
  return Bool(builder_.Unary(Op::kNot, *value));
}

absl::StatusOr<Value> ValueArithmetic::Select(const Value& condition, const Value& a,
                                              const Value& b) {
  if (condition.sort == ValueSort::kTruth) return condition.truth ? a : b;
  absl::StatusOr<ExprId> test = ToBool(condition);
  if (!test.ok()) return test.status();
  bool integers = IsInteger(a) && IsInteger(b) && !(IsConstant(a) && IsConstant(b));
  absl::StatusOr<ExprId> left = integers ? ToInt(a) : ToReal(a);
  absl::StatusOr<ExprId> right = integers ? ToInt(b) : ToReal(b);
  if (!left.ok()) return left.status();
  if (!right.ok()) return right.status();
  ExprId id = builder_.Select(*test, *left, *right);
  return integers ? Int(id) : Real(id);
}

absl::StatusOr<Value> ValueArithmetic::Power(const Value& base, const Rational& exponent) {
  if (exponent.IsZero()) return Constant(1);
  if (exponent.IsOne()) return base;
  int64_t integer = 0;
  if (IsConstant(base) && exponent.ToInt64(&integer) && integer >= -64 && integer <= 64 &&
      (integer > 0 || !base.constant.IsZero())) {
    return Constant(base.constant.Power(integer));
  }
  absl::StatusOr<ExprId> value = ToReal(base);
  if (!value.ok()) return value.status();
  return Real(builder_.Pow(*value, exponent));
}

bool ValueArithmetic::IsFunction(const std::string& name) {
  static constexpr std::array<const char*, 10> kNames = {"exp", "log",  "erf",   "sin",  "cos",
                                                         "abs", "sqrt", "rsqrt", "tanh", "sigmoid"};
  for (const char* known : kNames) {
    if (name == known) return true;
  }
  return false;
}

absl::StatusOr<Value> ValueArithmetic::Function(const std::string& name, const Value& a,
                                                TieRule tie) {
  if (name == "sqrt") return Power(a, Rational(1, 2));
  if (name == "rsqrt") return Power(a, Rational(-1, 2));
  if (a.sort == ValueSort::kNegInf && name != "exp") {
    return Error("-inf is only a value under exp and max");
  }
  absl::StatusOr<ExprId> argument = ToReal(a);
  if (!argument.ok()) return argument.status();
  ExprId x = *argument;
  ExprId one = builder_.Real(1);
  if (name == "sigmoid") {  // 1 / (1 + exp(-x))
    ExprId e = builder_.Unary(Op::kExp, builder_.Unary(Op::kNeg, x));
    return Real(builder_.Binary(Op::kDiv, one, builder_.Binary(Op::kAdd, one, e)));
  }
  if (name == "tanh") {  // 1 - 2 / (exp(2x) + 1)
    ExprId e = builder_.Unary(Op::kExp, builder_.Binary(Op::kMul, builder_.Real(2), x));
    ExprId quotient =
        builder_.Binary(Op::kDiv, builder_.Real(2), builder_.Binary(Op::kAdd, e, one));
    return Real(builder_.Binary(Op::kAdd, one, builder_.Unary(Op::kNeg, quotient)));
  }
  if (name == "abs") return Real(builder_.Unary(Op::kAbs, x, tie));
  Op op = name == "exp"   ? Op::kExp
          : name == "log" ? Op::kLog
          : name == "erf" ? Op::kErf
          : name == "sin" ? Op::kSin
                          : Op::kCos;
  return Real(builder_.Unary(op, x));
}

absl::StatusOr<Value> ValueArithmetic::Extremum(bool max, const Value& a, const Value& b,
                                                TieRule tie) {
  if (IsConstant(a) && IsConstant(b)) {
    return Constant((a.constant < b.constant) == max ? b.constant : a.constant);
  }
  absl::StatusOr<ExprId> left = ToReal(a);
  absl::StatusOr<ExprId> right = ToReal(b);
  if (!left.ok()) return left.status();
  if (!right.ok()) return right.status();
  return Real(builder_.Binary(max ? Op::kMax : Op::kMin, *left, *right, tie));
}

}  // namespace planproof::sdfg
