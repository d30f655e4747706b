// Computes with intervals of multiple-precision numbers: the second step of confirming a
// counterexample, for values that double intervals are too wide for.
#ifndef PLANPROOF_SHAPE_REDUCTION_DOMAIN_MPFI_H_
#define PLANPROOF_SHAPE_REDUCTION_DOMAIN_MPFI_H_

#include <mpfi.h>

#include <cstdint>
#include <string>

#include "shape_reduction/domain_floating.h"
#include "solver/rational.h"

namespace planproof::shape_reduction {

class MpfiValue {
 public:
  MpfiValue();  // 0
  MpfiValue(const MpfiValue& other);
  MpfiValue(MpfiValue&& other) noexcept;
  MpfiValue& operator=(const MpfiValue& other);
  MpfiValue& operator=(MpfiValue&& other) noexcept;
  ~MpfiValue();
  mpfi_srcptr get() const { return value_; }
  mpfi_ptr get() { return value_; }
  // "[0.249999999, 0.250000001]": an enclosure of the value with so many digits.
  std::string ToString(int digits = 17) const;

 private:
  mpfi_t value_;
};

struct MpfiDomain {
  using Value = MpfiValue;
  static constexpr bool kExact = true;
  // Bits of every value made from now on, in this thread.
  static thread_local mpfr_prec_t precision;

  static MpfiValue FromInt(int64_t value);
  static MpfiValue FromDouble(double value);
  static MpfiValue FromRational(const solver::Rational& value);
  static MpfiValue NegInf();
  static MpfiValue TwoOverSqrtPi();
  static MpfiValue Invalid();
  static bool IsInvalid(const MpfiValue& x);
  static double Lower(const MpfiValue& x);
  static double Upper(const MpfiValue& x);

  static MpfiValue Add(const MpfiValue& a, const MpfiValue& b);
  static MpfiValue Mul(const MpfiValue& a, const MpfiValue& b);
  static MpfiValue Neg(const MpfiValue& a);
  static MpfiValue Div(const MpfiValue& a, const MpfiValue& b);
  static MpfiValue Exp(const MpfiValue& a);
  static MpfiValue Log(const MpfiValue& a);
  static MpfiValue Erf(const MpfiValue& a);
  static MpfiValue Sin(const MpfiValue& a);
  static MpfiValue Cos(const MpfiValue& a);
  static MpfiValue Abs(const MpfiValue& a);
  static MpfiValue Max(const MpfiValue& a, const MpfiValue& b);
  static MpfiValue Min(const MpfiValue& a, const MpfiValue& b);
  static MpfiValue Pow(const MpfiValue& a, const solver::Rational& exponent);
  static MpfiValue Hull(const MpfiValue& a, const MpfiValue& b);
  static Truth Less(const MpfiValue& a, const MpfiValue& b);
  static Truth LessEq(const MpfiValue& a, const MpfiValue& b);
  static Truth Eq(const MpfiValue& a, const MpfiValue& b);
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_DOMAIN_MPFI_H_
