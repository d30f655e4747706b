// Number domains of the reduced evaluator.
//
// A domain is a set of static functions over its Value: real arithmetic with two additions. -inf is
// a value (a mask), with exp(-inf) = 0. Invalid is a value too: what comes from a violated premise
// (a denominator 0, a logarithm of 0, -inf where it has no meaning). It spreads through arithmetic,
// is dropped by a select that does not choose it, and stands in no result that is reported.
#ifndef PLANPROOF_SHAPE_REDUCTION_DOMAIN_DOUBLE_H_
#define PLANPROOF_SHAPE_REDUCTION_DOMAIN_DOUBLE_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "solver/rational.h"

namespace planproof::shape_reduction {

// Of a boolean: undecided where intervals overlap, invalid where an operand is.
enum class Truth : uint8_t { kFalse, kTrue, kUndecided, kInvalid };

// Round-to-nearest floating point: fast, proves nothing.
struct DoubleDomain {
  using Value = double;
  static constexpr bool kExact = false;

  static double FromInt(int64_t value) { return static_cast<double>(value); }
  static double FromDouble(double value) { return value; }
  static double FromRational(const solver::Rational& value) { return value.ToDouble(); }
  static double NegInf() { return -std::numeric_limits<double>::infinity(); }
  static double TwoOverSqrtPi() { return 1.1283791670955126; }
  static double Invalid() { return std::numeric_limits<double>::quiet_NaN(); }
  static bool IsInvalid(double x) { return std::isnan(x); }
  static double Lower(double x) { return x; }
  static double Upper(double x) { return x; }

  static double Add(double a, double b) { return a + b; }
  static double Mul(double a, double b) { return a * b; }
  static double Neg(double a) { return -a; }
  static double Div(double a, double b) { return b == 0 ? Invalid() : a / b; }
  static double Exp(double a) { return std::exp(a); }
  static double Log(double a) { return a > 0 ? std::log(a) : Invalid(); }
  static double Erf(double a) { return std::erf(a); }
  static double Sin(double a) { return std::sin(a); }
  static double Cos(double a) { return std::cos(a); }
  static double Abs(double a) { return std::fabs(a); }
  static double Max(double a, double b) { return std::isnan(a) || a > b ? a : b; }
  static double Min(double a, double b) { return std::isnan(a) || a < b ? a : b; }
  static double Pow(double a, const solver::Rational& exponent) {
    int64_t k;
    if (exponent.ToInt64(&k)) {
      if (k == 2) return a * a;
      if (k < 0 && a == 0) return Invalid();
      return std::pow(a, static_cast<double>(k));
    }
    if (a < 0 || (a == 0 && exponent.Sign() < 0)) return Invalid();
    const double p = exponent.ToDouble();
    if (p == 0.5) return std::sqrt(a);
    if (p == -0.5) return 1 / std::sqrt(a);
    return std::pow(a, p);
  }
  static double Hull(double a, double) { return a; }
  static Truth Less(double a, double b) {
    return std::isnan(a) || std::isnan(b) ? Truth::kInvalid : a < b ? Truth::kTrue : Truth::kFalse;
  }
  static Truth LessEq(double a, double b) {
    return std::isnan(a) || std::isnan(b) ? Truth::kInvalid : a <= b ? Truth::kTrue : Truth::kFalse;
  }
  static Truth Eq(double a, double b) {
    return std::isnan(a) || std::isnan(b) ? Truth::kInvalid : a == b ? Truth::kTrue : Truth::kFalse;
  }
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_DOMAIN_DOUBLE_H_
