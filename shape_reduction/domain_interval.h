// Computes with intervals of doubles, rounded outward: the first step of confirming a
// counterexample.
#ifndef PLANPROOF_SHAPE_REDUCTION_DOMAIN_INTERVAL_H_
#define PLANPROOF_SHAPE_REDUCTION_DOMAIN_INTERVAL_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "shape_reduction/domain_floating.h"
#include "solver/rational.h"

namespace planproof::shape_reduction {

// The real value lies in [lo, hi]; NaN in lo: invalid. Then a number in hi (UndefinedBy) says that
// there certainly is no value: an operation was applied where it is not defined for any number
// that its operand can be. NaN in hi: there may be none.
struct Interval {
  double lo = 0, hi = 0;
};

enum class UndefinedBy : uint8_t {
  kNothing,
  kRootOfNegative,
  kLogarithm,
  kDivisionByZero,
  kMaskTimesZero,       // exactly 0 times exactly -inf, which stands for masked elements, or inf
  kBothInfinities,      // exactly inf plus exactly -inf
  kInfinityByInfinity,  // their quotient
};

struct IntervalDomain {
  using Value = Interval;
  static constexpr bool kExact = true;

  static Interval FromInt(int64_t value) {
    const double x = static_cast<double>(value);
    if (std::fabs(x) <= 9007199254740992.0) return {x, x};
    return {Down(x), Up(x)};
  }
  static Interval FromDouble(double value) { return {value, value}; }
  static Interval FromRational(const solver::Rational& value) {
    const double x = value.ToDouble();
    if (!std::isfinite(x)) return Whole();
    if (solver::Rational::FromDouble(x) == value) return {x, x};
    return {Down(Down(x)), Up(Up(x))};
  }
  static Interval NegInf() { return {-kInf, -kInf}; }
  static Interval TwoOverSqrtPi() { return {Down(1.1283791670955126), Up(1.1283791670955126)}; }
  static Interval Invalid() { return {kNaN, kNaN}; }
  static bool IsInvalid(Interval x) { return std::isnan(x.lo); }
  // What makes the value undefined on all numbers that the intervals enclose. Only select takes the
  // state away, and a product whose other factor may be 0 (a mask) leaves it open.
  static UndefinedBy CertainlyUndefined(Interval x) {
    return std::isnan(x.lo) && !std::isnan(x.hi) ? static_cast<UndefinedBy>(x.hi)
                                                 : UndefinedBy::kNothing;
  }
  static double Lower(Interval x) { return x.lo; }
  static double Upper(Interval x) { return x.hi; }

  static Interval Add(Interval a, Interval b) {
    const double lo = a.lo + b.lo, hi = a.hi + b.hi;
    if (Bounded({lo, hi})) {  // without branches: rounding goes either way half of the time
      const double under = SumError(a.lo, b.lo, lo) < 0 ? Slack(lo) : 0.0;
      const double over = SumError(a.hi, b.hi, hi) > 0 ? Slack(hi) : 0.0;
      return {lo - under, hi + over};
    }
    if (ExactlyInfinite(a) && ExactlyInfinite(b)) {
      return a.lo == b.lo ? a : Undefined(UndefinedBy::kBothInfinities);
    }
    if (ExactlyInfinite(a) && Bounded(b)) return a;
    if (ExactlyInfinite(b) && Bounded(a)) return b;
    const Interval sum = {SumDown(a.lo, b.lo), SumUp(a.hi, b.hi)};
    return std::isnan(sum.lo) || std::isnan(sum.hi) ? EitherUndefined(a, b) : sum;
  }
  static Interval Neg(Interval a) { return IsInvalid(a) ? a : Interval{-a.hi, -a.lo}; }
  static Interval Mul(Interval a, Interval b) {
    if (Bounded(a) && Bounded(b)) return MulBounded(a, b);
    if (ExactlyInfinite(a) && IsNotZero(b)) return b.lo > 0 ? a : Neg(a);
    if (ExactlyInfinite(b) && IsNotZero(a)) return a.lo > 0 ? b : Neg(b);
    if ((ExactlyInfinite(a) && ExactlyZero(b)) || (ExactlyZero(a) && ExactlyInfinite(b)))
      return Undefined(UndefinedBy::kMaskTimesZero);
    if (a.lo >= 0 && b.lo >= 0) return Valid({MulDown(a.lo, b.lo), MulUp(a.hi, b.hi)});
    const double d0 = MulDown(a.lo, b.lo), d1 = MulDown(a.lo, b.hi), d2 = MulDown(a.hi, b.lo),
                 d3 = MulDown(a.hi, b.hi);
    const double u0 = MulUp(a.lo, b.lo), u1 = MulUp(a.lo, b.hi), u2 = MulUp(a.hi, b.lo),
                 u3 = MulUp(a.hi, b.hi);
    if (std::isnan(d0) || std::isnan(d1) || std::isnan(d2) || std::isnan(d3)) {
      return UndefinedProduct(a, b);
    }
    return {std::fmin(std::fmin(d0, d1), std::fmin(d2, d3)),
            std::fmax(std::fmax(u0, u1), std::fmax(u2, u3))};
  }
  static Interval Div(Interval a, Interval b) {
    if (ExactlyZero(b)) return Undefined(UndefinedBy::kDivisionByZero);
    if (IsInvalid(a) || IsInvalid(b)) return UndefinedProduct(a, b);
    if (!(b.lo > 0 || b.hi < 0)) return Invalid();
    if (ExactlyInfinite(a) && Bounded(b)) return b.lo > 0 ? a : Neg(a);
    if (ExactlyInfinite(a) && ExactlyInfinite(b))
      return Undefined(UndefinedBy::kInfinityByInfinity);
    if (Bounded(a) && ExactlyInfinite(b)) return {0, 0};
    const double q0 = a.lo / b.lo, q1 = a.lo / b.hi, q2 = a.hi / b.lo, q3 = a.hi / b.hi;
    if (std::isnan(q0) || std::isnan(q1) || std::isnan(q2) || std::isnan(q3)) return Invalid();
    const double lo = std::fmin(std::fmin(q0, q1), std::fmin(q2, q3));
    const double hi = std::fmax(std::fmax(q0, q1), std::fmax(q2, q3));
    if (lo == hi && std::fmod(a.lo, b.lo) == 0 && std::fabs(lo) < 1e15) return {lo, hi};
    return Valid({Down(lo), Up(hi)});
  }
  // The C library's exp, log, erf are off by less than one unit in the last place; two are added.
  static Interval Exp(Interval a) {
    if (IsInvalid(a) || (ExactlyInfinite(a) && a.lo > 0)) return a;
    const double lo = a.lo == 0 ? 1 : std::fmax(0.0, Down(Down(std::exp(a.lo))));
    const double hi = a.hi == -kInf ? 0 : a.hi == 0 ? 1 : Up(Up(std::exp(a.hi)));
    return {lo, hi};
  }
  static Interval Log(Interval a) {
    if (IsInvalid(a)) return a;
    if (a.hi <= 0) return Undefined(UndefinedBy::kLogarithm);
    if (!(a.lo > 0)) return Invalid();
    return Valid(
        {a.lo == 1 ? 0 : Down(Down(std::log(a.lo))), a.hi == 1 ? 0 : Up(Up(std::log(a.hi)))});
  }
  static Interval Erf(Interval a) {
    if (IsInvalid(a)) return a;
    return {a.lo == 0 ? 0 : std::fmax(-1.0, Down(Down(Down(std::erf(a.lo))))),
            a.hi == 0 ? 0 : std::fmin(1.0, Up(Up(Up(std::erf(a.hi)))))};
  }
  static Interval Sin(Interval a) {
    return Periodic(a, [](double x) { return std::sin(x); });
  }
  static Interval Cos(Interval a) {
    return Periodic(a, [](double x) { return std::cos(x); });
  }
  static Interval Abs(Interval a) {
    if (a.lo >= 0) return a;
    if (a.hi <= 0) return Neg(a);
    return IsInvalid(a) ? a : Interval{0, std::fmax(-a.lo, a.hi)};
  }
  static Interval Max(Interval a, Interval b) {
    if (IsInvalid(a) || IsInvalid(b)) return EitherUndefined(a, b);
    return {std::fmax(a.lo, b.lo), std::fmax(a.hi, b.hi)};
  }
  static Interval Min(Interval a, Interval b) {
    if (IsInvalid(a) || IsInvalid(b)) return EitherUndefined(a, b);
    return {std::fmin(a.lo, b.lo), std::fmin(a.hi, b.hi)};
  }
  static Interval Pow(Interval a, const solver::Rational& exponent) {
    int64_t k;
    const bool whole = exponent.ToInt64(&k);
    if (IsInvalid(a)) return whole && k == 0 ? Invalid() : a;
    if (whole) {
      if (k < 0) return Div({1, 1}, IntegerPower(a, k == INT64_MIN ? INT64_MAX : -k));
      return IntegerPower(a, k);
    }
    if (a.hi < 0) return Undefined(UndefinedBy::kRootOfNegative);
    if (a.hi == 0 && exponent.Sign() < 0) return Undefined(UndefinedBy::kDivisionByZero);
    if (a.lo < 0 || (a.lo == 0 && exponent.Sign() < 0)) return Invalid();
    const solver::Rational half(1, 2);
    if (exponent == half || exponent == -half) {
      const double lo = std::sqrt(a.lo), hi = std::sqrt(a.hi);
      const Interval root = {std::fma(lo, lo, -a.lo) == 0 ? lo : std::fmax(0.0, Down(lo)),
                             std::fma(hi, hi, -a.hi) == 0 ? hi : Up(hi)};
      return exponent == half ? root : Div({1, 1}, root);
    }
    if (a.lo == 0) {
      const Interval upper = Exp(Mul(Log({a.hi, a.hi}), FromRational(exponent)));
      return a.hi == 0 ? Interval{0, 0} : Interval{0, upper.hi};
    }
    return Exp(Mul(Log(a), FromRational(exponent)));
  }
  // One of the two, it is not known which.
  static Interval Hull(Interval a, Interval b) {
    if (IsInvalid(a) || IsInvalid(b)) {
      const bool both = CertainlyUndefined(a) != UndefinedBy::kNothing &&
                        CertainlyUndefined(b) != UndefinedBy::kNothing;
      return both ? a : Invalid();
    }
    return {std::fmin(a.lo, b.lo), std::fmax(a.hi, b.hi)};
  }
  static Truth Less(Interval a, Interval b) {
    if (IsInvalid(a) || IsInvalid(b)) return Truth::kInvalid;
    return a.hi < b.lo ? Truth::kTrue : a.lo >= b.hi ? Truth::kFalse : Truth::kUndecided;
  }
  static Truth LessEq(Interval a, Interval b) {
    if (IsInvalid(a) || IsInvalid(b)) return Truth::kInvalid;
    return a.hi <= b.lo ? Truth::kTrue : a.lo > b.hi ? Truth::kFalse : Truth::kUndecided;
  }
  static Truth Eq(Interval a, Interval b) {
    if (IsInvalid(a) || IsInvalid(b)) return Truth::kInvalid;
    if (a.hi < b.lo || b.hi < a.lo) return Truth::kFalse;
    return a.lo == a.hi && b.lo == b.hi ? Truth::kTrue : Truth::kUndecided;
  }

 private:
  static constexpr double kInf = std::numeric_limits<double>::infinity();
  static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

  static Interval Undefined(UndefinedBy by) { return {kNaN, static_cast<double>(by)}; }
  // Of an operation that needs both.
  static Interval EitherUndefined(Interval a, Interval b) {
    if (CertainlyUndefined(a) != UndefinedBy::kNothing) return a;
    return CertainlyUndefined(b) != UndefinedBy::kNothing ? b : Invalid();
  }
  // The same, but a product with 0 may stand for a choice: nothing is concluded from it.
  static Interval UndefinedProduct(Interval a, Interval b) {
    const auto counts = [](Interval x) {
      return x.lo > 0 || x.hi < 0 || CertainlyUndefined(x) != UndefinedBy::kNothing;
    };
    return counts(a) && counts(b) ? EitherUndefined(a, b) : Invalid();
  }
  static Interval Whole() { return {-kInf, kInf}; }
  static Interval Valid(Interval x) { return std::isnan(x.lo) || std::isnan(x.hi) ? Invalid() : x; }
  // Certainly, and defined.
  static bool IsNotZero(Interval x) { return x.lo > 0 || x.hi < 0; }
  static bool ExactlyZero(Interval x) { return x.lo == 0 && x.hi == 0; }
  static bool ExactlyInfinite(Interval x) { return x.lo == x.hi && std::isinf(x.lo); }
  static bool Bounded(Interval x) {
    // False for NaN, too.
    return std::fabs(x.lo) <= std::numeric_limits<double>::max() &&
           std::fabs(x.hi) <= std::numeric_limits<double>::max();
  }
  // Of bounded intervals, by their signs.
  static Interval MulBounded(Interval a, Interval b) {
    if (b.lo >= 0 || (a.lo < 0 && a.hi > 0)) std::swap(a, b);
    if (a.lo >= 0)
      return {MulDown(b.lo >= 0 ? a.lo : a.hi, b.lo), MulUp(b.hi >= 0 ? a.hi : a.lo, b.hi)};
    if (a.hi <= 0)
      return {MulDown(b.hi >= 0 ? a.lo : a.hi, b.hi), MulUp(b.lo >= 0 ? a.hi : a.lo, b.lo)};
    return {std::fmin(MulDown(a.lo, b.hi), MulDown(a.hi, b.lo)),
            std::fmax(MulUp(a.lo, b.lo), MulUp(a.hi, b.hi))};
  }
  // At least one unit in the last place.
  static double Slack(double x) { return std::fabs(x) * 0x1p-52 + 0x1p-1074; }
  // At least one unit in the last place further out.
  static double Down(double x) {
    if (!std::isfinite(x)) return x == kInf ? std::numeric_limits<double>::max() : x;
    return x - Slack(x);
  }
  static double Up(double x) { return -Down(-x); }
  // The rounding error of s = a + b is representable (TwoSum) and tells the direction.
  static double SumError(double a, double b, double s) {
    const double bb = s - a;
    return (a - (s - bb)) + (b - bb);
  }
  static double SumDown(double a, double b) {
    const double s = a + b;
    if (!std::isfinite(s)) return s == kInf ? std::numeric_limits<double>::max() : s;
    return SumError(a, b, s) < 0 ? Down(s) : s;
  }
  static double SumUp(double a, double b) {
    const double s = a + b;
    if (!std::isfinite(s)) {
      const bool overflow = s == -kInf && std::isfinite(a) && std::isfinite(b);
      return overflow ? -std::numeric_limits<double>::max() : s;
    }
    return SumError(a, b, s) > 0 ? Up(s) : s;
  }
  static double MulDown(double a, double b) {
    const double p = a * b;
    if (!std::isfinite(p)) return p == kInf ? std::numeric_limits<double>::max() : p;
    if (std::fabs(p) < 1e-280) return a == 0 || b == 0 ? 0 : Down(p);
    return p - (std::fma(a, b, -p) < 0 ? Slack(p) : 0.0);
  }
  static double MulUp(double a, double b) { return -MulDown(-a, b); }

  // x^k, k >= 0, by squaring of an interval that does not change sign.
  static Interval IntegerPower(Interval x, int64_t k) {
    if (k % 2 == 0) x = Abs(x);
    Interval result = {1, 1}, base = x;
    if (k % 2 == 1 && k > 1) {
      result = x;
      base = Abs(x);
      --k;
    }
    for (; k > 0; k /= 2) {
      if (k % 2 == 1) result = Mul(result, base);
      if (k > 1) base = Mul(base, base);
    }
    return result;
  }
  // A function with Lipschitz constant 1 into [-1, 1].
  template <typename F>
  static Interval Periodic(Interval a, F f) {
    if (IsInvalid(a) || !std::isfinite(a.lo) || !std::isfinite(a.hi)) {
      return IsInvalid(a) ? a : a.lo == a.hi ? Invalid() : Interval{-1, 1};
    }
    const double middle = a.lo + (a.hi - a.lo) / 2;
    const double radius = Up(std::fmax(Up(a.hi - middle), Up(middle - a.lo)));
    const double value = f(middle);
    return {std::fmax(-1.0, Down(Down(Down(value)) - radius)),
            std::fmin(1.0, Up(Up(Up(value)) + radius))};
  }
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_DOMAIN_INTERVAL_H_
