// Represents values of expressions while a declaration is instantiated: numbers that are still
// constants, and nodes of one of the three sorts. Arithmetic on constants is done here, exactly.
#ifndef PLANPROOF_SDFG_DECLARATION_VALUE_H_
#define PLANPROOF_SDFG_DECLARATION_VALUE_H_

#include <string>

#include "absl/status/statusor.h"
#include "sdfg/index_function.h"
#include "solver/rational.h"

namespace planproof::sdfg {

struct Value {
  enum class Sort : uint8_t {
    kConstant,
    kTruth,
    kNegInf,
    kInt,
    kReal,
    kBool
  } sort = Sort::kConstant;
  solver::Rational constant;  // kConstant
  bool truth = false;         // kTruth
  ExprId id = kNoExpr;        // kInt, kReal, kBool
};

class ValueArithmetic {
 public:
  explicit ValueArithmetic(IndexFunctionBuilder* builder) : builder_(*builder) {}

  static Value Constant(solver::Rational value);
  static Value Truth(bool value);
  static Value NegInf();
  static Value Int(ExprId id) { return {Value::Sort::kInt, {}, false, id}; }
  static Value Real(ExprId id) { return {Value::Sort::kReal, {}, false, id}; }
  static Value Bool(ExprId id) { return {Value::Sort::kBool, {}, false, id}; }

  // Conversions; the message of an error says what was found and expected.
  absl::StatusOr<ExprId> ToInt(const Value& value);
  absl::StatusOr<ExprId> ToReal(const Value& value);
  absl::StatusOr<ExprId> ToBool(const Value& value);  // numbers: nonzero

  // op is one of + - * / // % ^ < <= > >= == != and or.
  absl::StatusOr<Value> Binary(const std::string& op, const Value& a, const Value& b);
  absl::StatusOr<Value> Negate(const Value& a);
  absl::StatusOr<Value> Not(const Value& a);
  absl::StatusOr<Value> Select(const Value& condition, const Value& a, const Value& b);
  absl::StatusOr<Value> Power(const Value& base, const solver::Rational& exponent);
  // exp, log, erf, sin, cos, abs, sqrt, rsqrt, tanh, sigmoid; hyperbolic and logistic functions are
  // written with exp, so that the laws of exp apply to them.
  absl::StatusOr<Value> Function(const std::string& name, const Value& a, TieRule tie);
  absl::StatusOr<Value> Extremum(bool max, const Value& a, const Value& b, TieRule tie);
  static bool IsFunction(const std::string& name);

 private:
  absl::StatusOr<Value> Arithmetic(char op, const Value& a, const Value& b);
  absl::StatusOr<Value> IntegerArithmetic(char op, const Value& a, const Value& b);
  absl::StatusOr<Value> Quotient(bool remainder, const Value& a, const Value& b);
  absl::StatusOr<Value> Compare(const std::string& op, const Value& a, const Value& b);
  absl::StatusOr<Value> Logic(bool conjunction, const Value& a, const Value& b);

  IndexFunctionBuilder& builder_;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DECLARATION_VALUE_H_
