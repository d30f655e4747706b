#include "solver/rational.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace planproof::solver {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

mpq_class Reference(const Rational& r) {
  return mpq_class(mpz_class(r.Numerator(), 10), mpz_class(r.Denominator(), 10));
}

// Small, extreme and random values, and some that need more than 64 bits.
std::vector<Rational> Samples() {
  std::vector<Rational> samples = {0,
                                   1,
                                   -1,
                                   2,
                                   -7,
                                   kMin,
                                   kMax,
                                   kMin + 1,
                                   Rational(1, kMax),
                                   Rational(kMin, kMax),
                                   Rational(kMin, 3),
                                   Rational(1, kMin),
                                   Rational(kMin, kMin),
                                   Rational(-6, -4),
                                   Rational(6, -4)};
  std::mt19937_64 random(1);
  for (int i = 0; i < 30; ++i) {
    const int shift = static_cast<int>(random() % 63);
    const int64_t num = static_cast<int64_t>(random()) >> shift;
    const int64_t den = static_cast<int64_t>(random()) >> (random() % 63);
    samples.push_back(Rational(num, den == 0 ? 1 : den));
  }
  for (int i = 0; i < 10; ++i) samples.push_back(samples[20 + i] * samples[30 + i]);
  return samples;
}

TEST(RationalTest, ArithmeticAgreesWithGmp) {
  const std::vector<Rational> samples = Samples();
  for (const Rational& a : samples) {
    EXPECT_EQ(Reference(-a), -Reference(a));
    for (const Rational& b : samples) {
      EXPECT_EQ(Reference(a + b), Reference(a) + Reference(b));
      EXPECT_EQ(Reference(a - b), Reference(a) - Reference(b));
      EXPECT_EQ(Reference(a * b), Reference(a) * Reference(b));
      if (!b.IsZero()) {
        EXPECT_EQ(Reference(a / b), mpq_class(Reference(a) / Reference(b)));
      }
      EXPECT_EQ(a < b, Reference(a) < Reference(b));
      EXPECT_EQ(a == b, Reference(a) == Reference(b));
    }
  }
}

TEST(RationalTest, EqualValuesHaveOneRepresentation) {
  const std::vector<Rational> samples = Samples();
  for (const Rational& a : samples) {
    for (const Rational& b : samples) {
      const Rational back = (a + b) - b;  // may pass through a big value
      EXPECT_TRUE(back == a);
      EXPECT_EQ(back.HashBits(), a.HashBits());
      EXPECT_EQ(back.ToString(), a.ToString());
    }
  }
  EXPECT_TRUE((Rational(kMin) - 1 + 1) == Rational(kMin));
  EXPECT_TRUE(-(-Rational(kMin)) == Rational(kMin));
  EXPECT_TRUE((Rational(kMax) + 1 - Rational(kMax) - 1).IsZero());
}

TEST(RationalTest, DoublesAreExact) {
  Rational expected;
  ASSERT_TRUE(Rational::Parse("6369051672525773/562949953421312", &expected));
  EXPECT_TRUE(Rational::FromDouble(11.313708498984761) == expected);
  for (double value : {0.0, -0.5, 1e300, 4.9e-324, 0.1, -1e-5, 123456789.25}) {
    EXPECT_EQ(Rational::FromDouble(value).ToDouble(), value);
  }
}

TEST(RationalTest, DecimalsAreExactPowersOfTen) {
  Rational value;
  ASSERT_TRUE(Rational::Parse("1e-5", &value));
  EXPECT_EQ(value.ToString(), "1/100000");
  ASSERT_TRUE(Rational::Parse("-2.50", &value));
  EXPECT_EQ(value.ToString(), "-5/2");
  ASSERT_TRUE(Rational::Parse("1.5E+2", &value));
  EXPECT_EQ(value.ToString(), "150");
  ASSERT_TRUE(Rational::Parse("007", &value));
  EXPECT_EQ(value.ToString(), "7");
  ASSERT_TRUE(Rational::Parse("6/-4", &value) == false);
  ASSERT_TRUE(Rational::Parse("6/4", &value));
  EXPECT_EQ(value.ToString(), "3/2");
  for (const Rational& sample : Samples()) {
    ASSERT_TRUE(Rational::Parse(sample.ToString(), &value));
    EXPECT_TRUE(value == sample);
  }
}

TEST(RationalTest, MalformedTextIsRejected) {
  Rational value;
  for (const char* text : {"", "-", ".", "1/0", "1/", "/2", "1e", "e5", "1e999999999", "nan", "inf",
                           "0x10", "1 ", " 1", "1.5/2", "--1", "1e5/3", "1e6000"}) {
    EXPECT_FALSE(Rational::Parse(text, &value)) << text;
  }
  EXPECT_FALSE(Rational::Parse(std::string(100000, '9'), &value));
}

TEST(RationalTest, PowersMultiplyOut) {
  EXPECT_EQ(Rational(-2, 3).Power(3).ToString(), "-8/27");
  EXPECT_EQ(Rational(-2, 3).Power(-3).ToString(), "-27/8");
  EXPECT_EQ(Rational(5).Power(0).ToString(), "1");
  EXPECT_EQ(Rational(10).Power(30).ToString(), "1" + std::string(30, '0'));
}

TEST(RationalTest, ModuloIsARingHomomorphism) {
  const uint64_t p = 1152926491387723919ull;
  const auto modulo = [](const Rational& r) {
    uint64_t result = 0;
    EXPECT_TRUE(r.Modulo(p, &result));
    return result;
  };
  const std::vector<Rational> samples = Samples();
  for (const Rational& a : samples) {
    for (const Rational& b : samples) {
      EXPECT_EQ(modulo(a + b), (modulo(a) + modulo(b)) % p);
      EXPECT_EQ(modulo(a * b),
                static_cast<uint64_t>(static_cast<unsigned __int128>(modulo(a)) * modulo(b) % p));
    }
  }
  uint64_t result = 0;
  EXPECT_FALSE(Rational(1, 7).Modulo(7, &result));
}

TEST(RationalTest, TrialDivisionGivesPrimesWithMultiplicities) {
  for (int64_t n = 1; n < 5000; ++n) {
    Rational product(1);
    int64_t last = 1;
    for (const auto& [factor, count] : TrialDivision(n)) {
      int64_t prime;
      ASSERT_TRUE(factor.ToInt64(&prime));
      EXPECT_GT(prime, last) << n;
      for (int64_t d = 2; d * d <= prime; ++d) EXPECT_NE(prime % d, 0) << n;
      product *= factor.Power(count);
      last = prime;
    }
    EXPECT_TRUE(product == n) << n;
  }
  // 4093 is the last prime below the limit; those above stay together.
  const auto large = TrialDivision(Rational(4099) * 4111 * 4093 * 8);
  ASSERT_EQ(large.size(), 3);
  EXPECT_TRUE(large[0] == std::pair(Rational(2), int64_t{3}));
  EXPECT_TRUE(large[1] == std::pair(Rational(4093), int64_t{1}));
  EXPECT_TRUE(large[2] == std::pair(Rational(4099 * 4111), int64_t{1}));
}

}  // namespace
}  // namespace planproof::solver
