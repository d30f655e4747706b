#include "frontend/torch/number_conversion.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <vector>

namespace planproof::frontend::torch {
namespace {

using sdfg::DType;
using solver::Rational;

const Rational kHuge = Rational(int64_t{1} << 62) * Rational(int64_t{1} << 62);

struct Conversion {
  Rational number;
  DType from, to;
  std::optional<Rational> held;  // nothing: not defined, or not known
};

TEST(NumberConversion, HoldsWhatATensorOfTheTypeHolds) {
  const Rational half(1, 2);
  for (const Conversion& each : std::vector<Conversion>{
           {Rational(11, 4), DType::kFloat64, DType::kInt64, 2},
           {Rational(-11, 4), DType::kFloat64, DType::kInt64, -2},
           {Rational(-1, 2), DType::kFloat64, DType::kUInt8, 0},
           {Rational(-3, 2), DType::kFloat64, DType::kUInt8, std::nullopt},
           {Rational(599, 2), DType::kFloat32, DType::kInt8, std::nullopt},
           {kHuge, DType::kFloat64, DType::kInt64, std::nullopt},
           {300, DType::kInt64, DType::kInt8, 44},
           {-129, DType::kInt64, DType::kInt8, 127},
           {-1, DType::kInt64, DType::kUInt8, 255},
           {40000, DType::kInt32, DType::kInt16, -25536},
           {(int64_t{1} << 40) + 5, DType::kInt64, DType::kInt32, 5},
           {300, DType::kUnknown, DType::kInt8, std::nullopt},
           {100, DType::kUnknown, DType::kInt8, 100},
           {3, DType::kFloat64, DType::kBool, 1},
           {half, DType::kFloat64, DType::kBool, 1},
           {0, DType::kInt64, DType::kBool, 0},
           {2, DType::kInt64, DType::kBool, 1},
           {1, DType::kBool, DType::kInt8, 1},
           {half, DType::kFloat64, DType::kBFloat16, half},
           {Rational(1, 3), DType::kFloat64, DType::kFloat16, Rational(1, 3)},
           {70000, DType::kFloat64, DType::kFloat16, std::nullopt},
           {-70000, DType::kFloat64, DType::kFloat16, std::nullopt},
           {70000, DType::kFloat64, DType::kBFloat16, 70000},
           {kHuge * kHuge, DType::kFloat64, DType::kFloat32, std::nullopt},
           {500, DType::kFloat64, DType::kFloat8E4M3, std::nullopt},
           {1, DType::kFloat64, DType::kComplex64, std::nullopt},
       }) {
    const std::optional<Rational> held = InType(each.number, each.from, each.to);
    EXPECT_EQ(held.has_value(), each.held.has_value())
        << each.number.ToString() << " as " << DTypeName(each.to);
    if (held && each.held) {
      EXPECT_EQ(held->ToString(), each.held->ToString())
          << each.number.ToString() << " as " << DTypeName(each.to);
    }
  }
}

TEST(NumberConversion, SaysWhichNumbersATypeHasWithoutRounding) {
  EXPECT_TRUE(HoldsExactly(DType::kFloat32, Rational(1, 8)));
  EXPECT_FALSE(HoldsExactly(DType::kFloat32, Rational(1, 10)));
  EXPECT_FALSE(HoldsExactly(DType::kFloat64, Rational(1, 3)));
  EXPECT_TRUE(HoldsExactly(DType::kBFloat16, 255));
  EXPECT_FALSE(HoldsExactly(DType::kBFloat16, 257));
  EXPECT_TRUE(HoldsExactly(DType::kFloat16, 2047));
  EXPECT_FALSE(HoldsExactly(DType::kFloat16, 2049));
  EXPECT_TRUE(HoldsExactly(DType::kInt8, -128));
  EXPECT_FALSE(HoldsExactly(DType::kInt8, 128));
  EXPECT_FALSE(HoldsExactly(DType::kInt64, Rational(1, 2)));
  EXPECT_FALSE(HoldsExactly(DType::kBool, 2));
}

// 1 / 49 * 49 is 0.9999999999999999 in double precision.
TEST(NumberConversion, NothingIsKnownWhereRoundingDecides) {
  const KnownNumber one{1, DType::kFloat64, 0}, many{49, DType::kFloat64, 0};
  const auto quotient = Computed(Arithmetic::kDivide, one, many, DType::kFloat64);
  ASSERT_TRUE(quotient);
  EXPECT_GT(quotient->error, 0);
  const auto product = Computed(Arithmetic::kMultiply, *quotient, many, DType::kFloat64);
  ASSERT_TRUE(product);
  EXPECT_EQ(product->value.ToString(), "1");
  EXPECT_FALSE(InType(*product, DType::kInt64));
  EXPECT_TRUE(InType(*product, DType::kBool));
  const auto nothing = Computed(Arithmetic::kSubtract, *product, one, DType::kFloat64);
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(InType(*nothing, DType::kBool));
  EXPECT_FALSE(Computed(Arithmetic::kDivide, one, *nothing, DType::kFloat64));
  // 7 / 3 is far from whole numbers, and 3 / 2 is exact.
  const auto thirds = Computed(Arithmetic::kDivide, {7, DType::kFloat32, 0},
                               {3, DType::kFloat32, 0}, DType::kBFloat16);
  ASSERT_TRUE(thirds && InType(*thirds, DType::kInt64));
  EXPECT_EQ(InType(*thirds, DType::kInt64)->value.ToString(), "2");
  const auto half = Computed(Arithmetic::kDivide, {3, DType::kFloat32, 0}, {2, DType::kFloat32, 0},
                             DType::kFloat32);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->error, 0);
}

TEST(NumberConversion, IntegersWrapAroundWhenTheyAreStored) {
  const KnownNumber hundred{100, DType::kInt8, 0};
  const auto sum = Computed(Arithmetic::kAdd, hundred, hundred, DType::kInt8);
  ASSERT_TRUE(sum && InType(*sum, DType::kInt8));
  EXPECT_EQ(InType(*sum, DType::kInt8)->value.ToString(), "-56");
  const KnownNumber truth{1, DType::kBool, 0};
  const auto both = Computed(Arithmetic::kAdd, truth, truth, DType::kBool);
  ASSERT_TRUE(both && InType(*both, DType::kBool));
  EXPECT_EQ(InType(*both, DType::kBool)->value.ToString(), "1");
}

}  // namespace
}  // namespace planproof::frontend::torch
