// Represents an exact rational number.
//
// Every literal of a plan is kept as the exact value that its bits denote (11.3137... is the dyadic
// rational of that double, not the root of 128), and every coefficient of a normal form is exact: a
// proof never rounds. Small values live in two 64-bit words; larger ones fall back to GMP.
#ifndef PLANPROOF_SOLVER_RATIONAL_H_
#define PLANPROOF_SOLVER_RATIONAL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace planproof::solver {

class Rational {
 public:
  Rational() = default;
  Rational(int64_t value) : num_(value) {}  // NOLINT: integers are rationals
  // num / den in lowest terms; den must not be 0.
  Rational(int64_t num, int64_t den);
  // The exact value of a finite double; CHECK-fails on infinities and NaN.
  static Rational FromDouble(double value);
  // Parses "-12", "3/4" or a decimal such as "1e-5" (exactly 1/100000). Returns false if malformed.
  static bool Parse(const std::string& text, Rational* out);

  bool IsZero() const { return !big_ && num_ == 0; }
  bool IsOne() const { return !big_ && num_ == 1 && den_ == 1; }
  bool IsInteger() const;
  int Sign() const;
  // The value as int64 if it is an integer in range.
  bool ToInt64(int64_t* out) const;
  double ToDouble() const;
  std::string ToString() const;

  Rational operator-() const;
  Rational Inverse() const;  // of a nonzero value
  // this^exponent for an integer exponent; a negative exponent needs a nonzero value.
  Rational Power(int64_t exponent) const;
  // Numerator and denominator in decimal, the denominator positive.
  std::string Numerator() const;
  std::string Denominator() const;
  // The value modulo the prime p (p < 2^62). Returns false if p divides the denominator.
  bool Modulo(uint64_t p, uint64_t* out) const;

  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  friend Rational operator/(const Rational& a, const Rational& b);
  friend bool operator==(const Rational& a, const Rational& b);
  // A total order (numeric).
  friend bool operator<(const Rational& a, const Rational& b);
  Rational& operator+=(const Rational& b) { return *this = *this + b; }
  Rational& operator*=(const Rational& b) { return *this = *this * b; }

  template <typename H>
  friend H AbslHashValue(H h, const Rational& r) {
    return H::combine(std::move(h), r.HashBits());
  }
  uint64_t HashBits() const;

 private:
  struct Big;  // an mpq that does not fit
  int64_t num_ = 0;
  int64_t den_ = 1;
  std::shared_ptr<const Big> big_;
  static Rational FromBig(const Big& big);
  Big ToBig() const;
};

// The factors of a positive integer with their multiplicities: its primes below 4096, and what is
// left, prime or not, as one factor.
std::vector<std::pair<Rational, int64_t>> TrialDivision(Rational whole);

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_RATIONAL_H_
