#include "solver/rational.h"

#include <gmpxx.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "solver/check.h"

namespace planproof::solver {

// Canonical form: a value whose reduced numerator and denominator both fit in int64_t is always
// small, any other value is always big. So equality compares representations.
struct Rational::Big {
  mpq_class value;
};

namespace {

using Int128 = __int128;

constexpr Int128 kMin64 = std::numeric_limits<int64_t>::min();
constexpr Int128 kMax64 = std::numeric_limits<int64_t>::max();
// Longest text and largest decimal exponent that Parse accepts: inputs are untrusted.
constexpr size_t kMaxTextLength = 10000;
constexpr int64_t kMaxDecimalExponent = 5000;

static_assert(sizeof(long) == 8, "GMP's long interface is used for int64_t");

unsigned __int128 Magnitude(Int128 value) {
  return value < 0 ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
}

uint64_t Magnitude64(int64_t value) {
  return value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

unsigned __int128 Gcd(unsigned __int128 a, unsigned __int128 b) {
  while (b != 0) {
    if ((a >> 64) == 0 && (b >> 64) == 0) {
      return std::gcd(static_cast<uint64_t>(a), static_cast<uint64_t>(b));
    }
    const unsigned __int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

mpz_class ToMpz(Int128 value) {
  const unsigned __int128 magnitude = Magnitude(value);
  mpz_class result = static_cast<unsigned long>(magnitude >> 64);
  result <<= 64;
  result += static_cast<unsigned long>(magnitude);
  return value < 0 ? mpz_class(-result) : result;
}

uint64_t MixBits(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

uint64_t HashInteger(const mpz_class& value) {
  uint64_t hash = static_cast<uint64_t>(sgn(value) + 1);
  const size_t limbs = mpz_size(value.get_mpz_t());
  for (size_t i = 0; i < limbs; ++i) {
    hash = MixBits(hash ^ mpz_getlimbn(value.get_mpz_t(), i)) + 0x9e3779b97f4a7c15ull;
  }
  return hash;
}

// Reads digits at *at; returns false if there are none.
bool ReadDigits(const std::string& text, size_t* at, std::string* digits) {
  const size_t start = *at;
  while (*at < text.size() && text[*at] >= '0' && text[*at] <= '9')
    digits->push_back(text[(*at)++]);
  return *at > start;
}

}  // namespace

Rational Rational::FromBig(const Big& big) {
  Rational result;
  if (big.value.get_num().fits_slong_p() && big.value.get_den().fits_slong_p()) {
    result.num_ = big.value.get_num().get_si();
    result.den_ = big.value.get_den().get_si();
  } else {
    result.big_ = std::make_shared<const Big>(big);
  }
  return result;
}

Rational::Big Rational::ToBig() const {
  if (big_) return *big_;
  return Big{mpq_class(mpz_class(static_cast<long>(num_)), mpz_class(static_cast<long>(den_)))};
}

Rational::Rational(int64_t num, int64_t den) {
  Check(den != 0, "rational with denominator 0");
  const uint64_t divisor = std::gcd(Magnitude64(num), Magnitude64(den));
  Int128 n = num / static_cast<Int128>(divisor);
  Int128 d = den / static_cast<Int128>(divisor);
  if (d < 0) {
    n = -n;
    d = -d;
  }
  if (n <= kMax64 && d <= kMax64) {
    num_ = static_cast<int64_t>(n);
    den_ = static_cast<int64_t>(d);
  } else {
    *this = FromBig(Big{mpq_class(ToMpz(n), ToMpz(d))});
  }
}

Rational Rational::FromDouble(double value) {
  Check(std::isfinite(value), "rational from a number that is not finite");
  return FromBig(Big{mpq_class(value)});  // mpq_set_d is exact
}

bool Rational::Parse(const std::string& text, Rational* out) {
  if (text.size() > kMaxTextLength) return false;
  size_t at = 0;
  bool negative = false;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) negative = text[at++] == '-';
  std::string digits;
  const bool has_integer = ReadDigits(text, &at, &digits);
  mpq_class value;
  if (at < text.size() && text[at] == '/') {
    std::string denominator;
    ++at;
    if (!has_integer || !ReadDigits(text, &at, &denominator) || at != text.size()) return false;
    const mpz_class den(denominator, 10);
    if (den == 0) return false;
    value = mpq_class(mpz_class(digits, 10), den);
    value.canonicalize();
  } else {
    int64_t exponent = 0;
    bool has_fraction = false;
    if (at < text.size() && text[at] == '.') {
      const size_t before = ++at;
      has_fraction = ReadDigits(text, &at, &digits);
      exponent = -static_cast<int64_t>(at - before);
    }
    if (!has_integer && !has_fraction) return false;
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
      bool down = false;
      if (++at < text.size() && (text[at] == '-' || text[at] == '+')) down = text[at++] == '-';
      std::string scale;
      if (!ReadDigits(text, &at, &scale) || scale.size() > 6) return false;
      exponent += (down ? -1 : 1) * std::stoll(scale);
    }
    if (at != text.size()) return false;
    if (exponent > kMaxDecimalExponent ||
        exponent < -kMaxDecimalExponent - static_cast<int64_t>(kMaxTextLength)) {
      return false;
    }
    mpz_class power;
    mpz_ui_pow_ui(power.get_mpz_t(), 10, static_cast<unsigned long>(std::abs(exponent)));
    const mpz_class mantissa(digits, 10);
    value = exponent < 0 ? mpq_class(mantissa, power) : mpq_class(mpz_class(mantissa * power));
    value.canonicalize();
  }
  if (negative) value = -value;
  *out = FromBig(Big{std::move(value)});
  return true;
}

bool Rational::IsInteger() const { return big_ ? big_->value.get_den() == 1 : den_ == 1; }

int Rational::Sign() const {
  if (big_) return sgn(big_->value);
  return num_ < 0 ? -1 : (num_ > 0 ? 1 : 0);
}

bool Rational::ToInt64(int64_t* out) const {
  if (big_ || den_ != 1) return false;
  *out = num_;
  return true;
}

double Rational::ToDouble() const {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (!big_ && num_ >= -kExact && num_ <= kExact && den_ <= kExact) {
    return static_cast<double>(num_) / static_cast<double>(den_);
  }
  return ToBig().value.get_d();  // rounds toward zero
}

std::string Rational::ToString() const {
  return IsInteger() ? Numerator() : Numerator() + "/" + Denominator();
}

std::string Rational::Numerator() const {
  return big_ ? big_->value.get_num().get_str() : std::to_string(num_);
}

std::string Rational::Denominator() const {
  return big_ ? big_->value.get_den().get_str() : std::to_string(den_);
}

Rational Rational::operator-() const {
  if (!big_ && num_ != kMin64) {
    Rational result = *this;
    result.num_ = -num_;
    return result;
  }
  return FromBig(Big{-ToBig().value});
}

Rational Rational::Inverse() const {
  Check(!IsZero(), "inverse of 0");
  if (!big_) return Rational(den_, num_);
  return FromBig(Big{1 / big_->value});
}

Rational Rational::Power(int64_t exponent) const {
  if (exponent < 0) {
    Check(exponent != kMin64, "exponent out of range");
    return Inverse().Power(-exponent);
  }
  Rational result(1);
  Rational square = *this;
  for (;; exponent >>= 1) {
    if (exponent & 1) result *= square;
    if (exponent <= 1) return result;
    square *= square;
  }
}

bool Rational::Modulo(uint64_t p, uint64_t* out) const {
  uint64_t num = 0;
  uint64_t den = 0;
  if (big_) {
    num = mpz_fdiv_ui(big_->value.get_num().get_mpz_t(), p);
    den = mpz_fdiv_ui(big_->value.get_den().get_mpz_t(), p);
  } else {
    num = Magnitude64(num_) % p;
    if (num_ < 0 && num != 0) num = p - num;
    den = static_cast<uint64_t>(den_) % p;
  }
  if (den == 0) return false;
  // Fermat: den^(p-2) is the inverse, p being prime.
  const auto multiply = [p](uint64_t a, uint64_t b) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % p);
  };
  if (den != 1) {
    for (uint64_t exponent = p - 2; exponent != 0; exponent >>= 1) {
      if (exponent & 1) num = multiply(num, den);
      den = multiply(den, den);
    }
  }
  *out = num;
  return true;
}

uint64_t Rational::HashBits() const {
  if (!big_) {
    return MixBits(static_cast<uint64_t>(num_) * 0x9e3779b97f4a7c15ull +
                   MixBits(static_cast<uint64_t>(den_)));
  }
  return HashInteger(big_->value.get_num()) * 31 + HashInteger(big_->value.get_den());
}

Rational operator+(const Rational& a, const Rational& b) {
  if (!a.big_ && !b.big_) {
    if (a.den_ == 1 && b.den_ == 1) {
      int64_t sum = 0;
      if (!__builtin_add_overflow(a.num_, b.num_, &sum)) return Rational(sum);
    }
    // |each product| < 2^126, so the sum fits.
    const Int128 num = static_cast<Int128>(a.num_) * b.den_ + static_cast<Int128>(b.num_) * a.den_;
    const Int128 den = static_cast<Int128>(a.den_) * b.den_;
    const Int128 divisor = static_cast<Int128>(Gcd(Magnitude(num), Magnitude(den)));
    const Int128 n = num / divisor;
    const Int128 d = den / divisor;
    if (n >= kMin64 && n <= kMax64 && d <= kMax64) {
      Rational result;
      result.num_ = static_cast<int64_t>(n);
      result.den_ = static_cast<int64_t>(d);
      return result;
    }
  }
  return Rational::FromBig(Rational::Big{a.ToBig().value + b.ToBig().value});
}

Rational operator-(const Rational& a, const Rational& b) { return a + (-b); }

Rational operator*(const Rational& a, const Rational& b) {
  if (!a.big_ && !b.big_) {
    const uint64_t left = std::gcd(Magnitude64(a.num_), static_cast<uint64_t>(b.den_));
    const uint64_t right = std::gcd(Magnitude64(b.num_), static_cast<uint64_t>(a.den_));
    const Int128 n = (static_cast<Int128>(a.num_) / static_cast<Int128>(left)) *
                     (static_cast<Int128>(b.num_) / static_cast<Int128>(right));
    const Int128 d = (static_cast<Int128>(a.den_) / static_cast<Int128>(right)) *
                     (static_cast<Int128>(b.den_) / static_cast<Int128>(left));
    if (n >= kMin64 && n <= kMax64 && d <= kMax64) {
      Rational result;
      result.num_ = static_cast<int64_t>(n);
      result.den_ = static_cast<int64_t>(d);
      return result;
    }
  }
  return Rational::FromBig(Rational::Big{a.ToBig().value * b.ToBig().value});
}

Rational operator/(const Rational& a, const Rational& b) { return a * b.Inverse(); }

bool operator==(const Rational& a, const Rational& b) {
  if (!a.big_ && !b.big_) return a.num_ == b.num_ && a.den_ == b.den_;
  return a.big_ && b.big_ && (a.big_ == b.big_ || a.big_->value == b.big_->value);
}

bool operator<(const Rational& a, const Rational& b) {
  if (!a.big_ && !b.big_) {
    return static_cast<Int128>(a.num_) * b.den_ < static_cast<Int128>(b.num_) * a.den_;
  }
  return a.ToBig().value < b.ToBig().value;
}

std::vector<std::pair<Rational, int64_t>> TrialDivision(Rational whole) {
  constexpr int64_t kLimit = 4096;
  std::vector<std::pair<Rational, int64_t>> factors;
  for (int64_t p = 2; p < kLimit && !whole.IsOne(); p += p == 2 ? 1 : 2) {
    int64_t count = 0;
    for (Rational q = whole / p; q.IsInteger(); q = whole / p) {
      whole = q;
      ++count;
    }
    if (count > 0) factors.emplace_back(p, count);
    int64_t small;
    if (whole.ToInt64(&small) && small < p * p) break;  // a prime, or 1
  }
  if (!whole.IsOne()) factors.emplace_back(std::move(whole), 1);
  return factors;
}

}  // namespace planproof::solver
