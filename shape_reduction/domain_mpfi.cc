#include "shape_reduction/domain_mpfi.h"

#include <mpfi_io.h>

#include <cmath>
#include <limits>
#include <utility>

namespace planproof::shape_reduction {

thread_local mpfr_prec_t MpfiDomain::precision = 128;

MpfiValue::MpfiValue() {
  mpfi_init2(value_, MpfiDomain::precision);
  mpfi_set_si(value_, 0);
}
MpfiValue::MpfiValue(const MpfiValue& other) {
  mpfi_init2(value_, MpfiDomain::precision);
  mpfi_set(value_, other.value_);
}
MpfiValue::MpfiValue(MpfiValue&& other) noexcept {
  mpfi_init2(value_, MPFR_PREC_MIN);
  mpfi_swap(value_, other.value_);
}
MpfiValue& MpfiValue::operator=(const MpfiValue& other) {
  if (this != &other) mpfi_set(value_, other.value_);
  return *this;
}
MpfiValue& MpfiValue::operator=(MpfiValue&& other) noexcept {
  mpfi_swap(value_, other.value_);
  return *this;
}
MpfiValue::~MpfiValue() { mpfi_clear(value_); }

std::string MpfiValue::ToString(int digits) const {
  char* low = nullptr;
  char* high = nullptr;
  mpfr_asprintf(&low, "%.*RDg", digits, &value_->left);
  mpfr_asprintf(&high, "%.*RUg", digits, &value_->right);
  std::string text = std::string("[") + low + ", " + high + "]";
  mpfr_free_str(low);
  mpfr_free_str(high);
  return text;
}

namespace {

template <typename F>
MpfiValue Apply(const MpfiValue& a, F f) {
  MpfiValue result;
  f(result.get(), a.get());
  return result;
}

MpfiValue IntegerPower(const MpfiValue& a, int64_t k) {
  if (k == 0) return MpfiDomain::FromInt(1);
  // An odd power is x times an even one; an even one is monotone in |x|.
  MpfiValue result = k % 2 == 1 ? a : MpfiDomain::FromInt(1);
  MpfiValue base = MpfiDomain::Abs(a);
  for (k -= k % 2; k > 0; k /= 2) {
    if (k % 2 == 1) mpfi_mul(result.get(), result.get(), base.get());
    if (k > 1) mpfi_sqr(base.get(), base.get());
  }
  return result;
}

}  // namespace

MpfiValue MpfiDomain::FromInt(int64_t value) {
  MpfiValue result;
  mpfi_set_si(result.get(), value);
  return result;
}
MpfiValue MpfiDomain::FromDouble(double value) {
  MpfiValue result;
  mpfi_set_d(result.get(), value);
  return result;
}
MpfiValue MpfiDomain::FromRational(const solver::Rational& value) {
  mpq_t q;
  mpq_init(q);
  mpq_set_str(q, (value.Numerator() + "/" + value.Denominator()).c_str(), 10);
  MpfiValue result;
  mpfi_set_q(result.get(), q);
  mpq_clear(q);
  return result;
}
MpfiValue MpfiDomain::NegInf() { return FromDouble(-std::numeric_limits<double>::infinity()); }
MpfiValue MpfiDomain::TwoOverSqrtPi() {
  MpfiValue pi;
  mpfi_const_pi(pi.get());
  return Div(FromInt(2), Apply(pi, mpfi_sqrt));
}
MpfiValue MpfiDomain::Invalid() { return FromDouble(std::numeric_limits<double>::quiet_NaN()); }
bool MpfiDomain::IsInvalid(const MpfiValue& x) { return mpfi_nan_p(x.get()) != 0; }
double MpfiDomain::Lower(const MpfiValue& x) { return mpfr_get_d(&x.get()->left, MPFR_RNDD); }
double MpfiDomain::Upper(const MpfiValue& x) { return mpfr_get_d(&x.get()->right, MPFR_RNDU); }

MpfiValue MpfiDomain::Add(const MpfiValue& a, const MpfiValue& b) {
  MpfiValue result;
  mpfi_add(result.get(), a.get(), b.get());
  return result;
}
MpfiValue MpfiDomain::Mul(const MpfiValue& a, const MpfiValue& b) {
  // 0 * -inf has no meaning here, whatever the library makes of it.
  if (mpfi_inf_p(a.get()) || mpfi_inf_p(b.get())) {
    if (mpfi_has_zero(a.get()) || mpfi_has_zero(b.get())) return Invalid();
  }
  MpfiValue result;
  mpfi_mul(result.get(), a.get(), b.get());
  return result;
}
MpfiValue MpfiDomain::Neg(const MpfiValue& a) { return Apply(a, mpfi_neg); }
MpfiValue MpfiDomain::Div(const MpfiValue& a, const MpfiValue& b) {
  if (IsInvalid(a) || IsInvalid(b) || mpfi_has_zero(b.get())) return Invalid();
  MpfiValue result;
  mpfi_div(result.get(), a.get(), b.get());
  return result;
}
MpfiValue MpfiDomain::Exp(const MpfiValue& a) { return Apply(a, mpfi_exp); }
MpfiValue MpfiDomain::Log(const MpfiValue& a) {
  if (IsInvalid(a) || mpfr_sgn(&a.get()->left) <= 0) return Invalid();
  return Apply(a, mpfi_log);
}
MpfiValue MpfiDomain::Erf(const MpfiValue& a) {
  if (IsInvalid(a)) return a;
  MpfiValue result;
  mpfr_erf(&result.get()->left, &a.get()->left, MPFR_RNDD);
  mpfr_erf(&result.get()->right, &a.get()->right, MPFR_RNDU);
  return result;
}
MpfiValue MpfiDomain::Sin(const MpfiValue& a) { return Apply(a, mpfi_sin); }
MpfiValue MpfiDomain::Cos(const MpfiValue& a) { return Apply(a, mpfi_cos); }
MpfiValue MpfiDomain::Abs(const MpfiValue& a) { return Apply(a, mpfi_abs); }
MpfiValue MpfiDomain::Max(const MpfiValue& a, const MpfiValue& b) {
  if (IsInvalid(a) || IsInvalid(b)) return Invalid();
  MpfiValue result;
  mpfr_max(&result.get()->left, &a.get()->left, &b.get()->left, MPFR_RNDD);
  mpfr_max(&result.get()->right, &a.get()->right, &b.get()->right, MPFR_RNDU);
  return result;
}
MpfiValue MpfiDomain::Min(const MpfiValue& a, const MpfiValue& b) {
  if (IsInvalid(a) || IsInvalid(b)) return Invalid();
  MpfiValue result;
  mpfr_min(&result.get()->left, &a.get()->left, &b.get()->left, MPFR_RNDD);
  mpfr_min(&result.get()->right, &a.get()->right, &b.get()->right, MPFR_RNDU);
  return result;
}
MpfiValue MpfiDomain::Pow(const MpfiValue& a, const solver::Rational& exponent) {
  if (IsInvalid(a)) return a;
  int64_t k;
  if (exponent.ToInt64(&k)) {
    if (k >= 0) return IntegerPower(a, k);
    return Div(FromInt(1), IntegerPower(a, k == INT64_MIN ? INT64_MAX : -k));
  }
  const int sign = mpfr_sgn(&a.get()->left);
  if (sign < 0 || (sign == 0 && exponent.Sign() < 0)) return Invalid();
  const solver::Rational half(1, 2);
  if (exponent == half || exponent == -half) {
    MpfiValue root = Apply(a, mpfi_sqrt);
    return exponent == half ? root : Div(FromInt(1), root);
  }
  return Exp(Mul(Apply(a, mpfi_log), FromRational(exponent)));
}
MpfiValue MpfiDomain::Hull(const MpfiValue& a, const MpfiValue& b) {
  if (IsInvalid(a) || IsInvalid(b)) return Invalid();
  MpfiValue result = a;
  mpfi_put(result.get(), b.get());
  return result;
}
Truth MpfiDomain::Less(const MpfiValue& a, const MpfiValue& b) {
  if (IsInvalid(a) || IsInvalid(b)) return Truth::kInvalid;
  if (mpfr_less_p(&a.get()->right, &b.get()->left)) return Truth::kTrue;
  return mpfr_greaterequal_p(&a.get()->left, &b.get()->right) ? Truth::kFalse : Truth::kUndecided;
}
Truth MpfiDomain::LessEq(const MpfiValue& a, const MpfiValue& b) {
  if (IsInvalid(a) || IsInvalid(b)) return Truth::kInvalid;
  if (mpfr_lessequal_p(&a.get()->right, &b.get()->left)) return Truth::kTrue;
  return mpfr_greater_p(&a.get()->left, &b.get()->right) ? Truth::kFalse : Truth::kUndecided;
}
Truth MpfiDomain::Eq(const MpfiValue& a, const MpfiValue& b) {
  if (IsInvalid(a) || IsInvalid(b)) return Truth::kInvalid;
  if (mpfr_less_p(&a.get()->right, &b.get()->left) ||
      mpfr_less_p(&b.get()->right, &a.get()->left)) {
    return Truth::kFalse;
  }
  return mpfr_equal_p(&a.get()->left, &a.get()->right) &&
                 mpfr_equal_p(&b.get()->left, &b.get()->right)
             ? Truth::kTrue
             : Truth::kUndecided;
}

}  // namespace planproof::shape_reduction
