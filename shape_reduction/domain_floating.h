// Defines the number domains of the reduced evaluator.
//
// A domain is a set of static functions over its Value: real arithmetic with two additions. -inf is
// a value (a mask), with exp(-inf) = 0. Invalid is a value too: what comes from a violated premise
// (a denominator 0, a logarithm of 0, -inf where it has no meaning). It spreads through arithmetic,
// is dropped by a select that does not choose it, and stands in no result that is reported.
#ifndef PLANPROOF_SHAPE_REDUCTION_DOMAIN_FLOATING_H_
#define PLANPROOF_SHAPE_REDUCTION_DOMAIN_FLOATING_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "solver/rational.h"

namespace planproof::shape_reduction {

// Of a boolean: undecided where intervals overlap, invalid where an operand is.
enum class Truth : uint8_t { kFalse, kTrue, kUndecided, kInvalid };

// Round-to-nearest floating point: fast, proves nothing.
template <typename Real>
struct FloatingDomain {
  using Value = Real;
  static constexpr bool kExact = false;

  static Value FromInt(int64_t value) { return static_cast<Value>(value); }
  static Value FromDouble(double value) { return value; }
  static Value FromRational(const solver::Rational& value) {
    const double nearest = value.ToDouble();
    if (sizeof(Real) == sizeof(double) || !std::isfinite(nearest)) return nearest;
    const double rest = (value - solver::Rational::FromDouble(nearest)).ToDouble();
    return static_cast<Value>(nearest) + rest;
  }
  static Value NegInf() { return -std::numeric_limits<Value>::infinity(); }
  static Value TwoOverSqrtPi() { return static_cast<Value>(1.12837916709551257389615890312L); }
  static Value Invalid() { return std::numeric_limits<Value>::quiet_NaN(); }
  static bool IsInvalid(Value x) { return std::isnan(x); }
  static double Lower(Value x) { return static_cast<double>(x); }
  static double Upper(Value x) { return static_cast<double>(x); }

  static Value Add(Value a, Value b) { return a + b; }
  static Value Mul(Value a, Value b) { return a * b; }
  static Value Neg(Value a) { return -a; }
  static Value Div(Value a, Value b) { return b == 0 ? Invalid() : a / b; }
  static Value Exp(Value a) { return std::exp(a); }
  static Value Log(Value a) { return a > 0 ? std::log(a) : Invalid(); }
  static Value Erf(Value a) { return std::erf(a); }
  static Value Sin(Value a) { return std::sin(a); }
  static Value Cos(Value a) { return std::cos(a); }
  static Value Abs(Value a) { return std::fabs(a); }
  static Value Max(Value a, Value b) { return std::isnan(a) || a > b ? a : b; }
  static Value Min(Value a, Value b) { return std::isnan(a) || a < b ? a : b; }
  static Value Pow(Value a, const solver::Rational& exponent) {
    int64_t k;
    if (exponent.ToInt64(&k)) {
      if (k == 2) return a * a;
      if (k < 0 && a == 0) return Invalid();
      return std::pow(a, static_cast<Value>(k));
    }
    if (a < 0 || (a == 0 && exponent.Sign() < 0)) return Invalid();
    const Value p = FromRational(exponent);
    if (p == Value(0.5)) return std::sqrt(a);
    if (p == Value(-0.5)) return 1 / std::sqrt(a);
    return std::pow(a, p);
  }
  static Value Hull(Value a, Value) { return a; }
  static Truth Less(Value a, Value b) { return Compare(a, b, a < b); }
  static Truth LessEq(Value a, Value b) { return Compare(a, b, a <= b); }
  static Truth Eq(Value a, Value b) { return Compare(a, b, a == b); }

 private:
  static Truth Compare(Value a, Value b, bool result) {
    if (std::isnan(a) || std::isnan(b)) return Truth::kInvalid;
    return result ? Truth::kTrue : Truth::kFalse;
  }
};

using DoubleDomain = FloatingDomain<double>;
// Eleven more bits shrink rounding errors about 2000 times and leave real differences as they are:
// they tell rounding noise from differences before intervals are tried.
using LongDoubleDomain = FloatingDomain<long double>;

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_DOMAIN_FLOATING_H_
