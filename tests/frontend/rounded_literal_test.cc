// Which literals may stand for another number.
#include "frontend/plan/rounded_literal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/plan/raw_form.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::plan {
namespace {

using solver::Rational;
using testing::HasSubstr;

std::string ReadBoth(const std::string& literal, const std::string& exact) {
  const auto pair = ReadRoundedLiteral(literal, exact);
  return pair.ok() ? "read" : std::string(pair.status().message());
}

float FloatOf(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

Rational Parsed(const std::string& text) {
  Rational value;
  EXPECT_TRUE(Rational::Parse(text, &value)) << text;
  return value;
}

TEST(NearestFloat32, IsTheNearestOfItsNeighboursAndTiesGoToEven) {
  std::mt19937 random(11);
  for (int i = 0; i < 5000; ++i) {
    const uint32_t bits = random() % 0x7f7fffffu;  // a positive float and its successor
    const float low = FloatOf(bits);
    const float high = FloatOf(bits + 1);
    const Rational a = Rational::FromDouble(low);
    const Rational b = Rational::FromDouble(high);
    const Rational share(static_cast<int64_t>(random() % 9), 8);
    const Rational between = a + (b - a) * share;
    const Rational half(1, 2);
    const bool up = half < share || (share == half && bits % 2 == 1);
    EXPECT_EQ(NearestFloat32(between), up ? b : a) << low << " " << share.ToString();
    EXPECT_EQ(NearestFloat32(-between), up ? -b : -a) << low;
  }
}

TEST(NearestFloat32, HasABeginningAndAnEnd) {
  const Rational most = Rational::FromDouble(std::numeric_limits<float>::max());
  const Rational half_a_step = Rational(2).Power(103);
  EXPECT_EQ(NearestFloat32(most), most);
  EXPECT_EQ(NearestFloat32(most + half_a_step - Rational(1)), most);
  EXPECT_EQ(NearestFloat32(most + half_a_step), std::nullopt);
  EXPECT_EQ(NearestFloat32(Parsed("1e300")), std::nullopt);
  const Rational least = Rational(2).Power(-149);
  EXPECT_EQ(NearestFloat32(least), least);
  EXPECT_EQ(NearestFloat32(least / Rational(2)), Rational(0));
  EXPECT_EQ(NearestFloat32(least * Rational(51, 100)), least);
  EXPECT_EQ(NearestFloat32(least * Rational(3, 2)), least * Rational(2));
  EXPECT_EQ(NearestFloat32(Parsed("1e-300")), Rational(0));
}

// 1 + 2^-24 + 2^-60 is above the middle of two floats, but a double has the middle for it.
TEST(NearestFloat32, DoesNotRoundTwice) {
  const Rational value = Rational(1) + Rational(2).Power(-24) + Rational(2).Power(-60);
  EXPECT_EQ(static_cast<float>(value.ToDouble()), 1.0F);
  EXPECT_EQ(NearestFloat32(value), Rational(1) + Rational(2).Power(-23));
}

TEST(RoundedLiteral, IsWhatAProgramPrintsForTheFloat) {
  for (const char* print : {"0.333333343", "0.33333334", "0.3333333432674408", "3.33333343e-1",
                            "0.3333333432674407958984375", "0.3333333430"}) {
    EXPECT_EQ(ReadBoth(print, "1/3"), "read") << print;
  }
  for (const char* other : {"0.3333333", "0.33333333", "0.333333333", "0.33333335", "0.333333344",
                            "0.33333334326744079", "0.34", "0.0", "-0.333333343"}) {
    EXPECT_THAT(ReadBoth(other, "1/3"), HasSubstr("is not the float32 rounding of 1/3")) << other;
  }
  EXPECT_EQ(ReadBoth("-0.333333343", "-1/3"), "read");
  EXPECT_EQ(ReadBoth("0.1", "0.1000000001"), "read");
  EXPECT_EQ(ReadBoth("1e-45", "1.4e-45"), "read");
}

TEST(RoundedLiteral, IsPrintedWithAnyNumberOfDigitsThatReadsBack) {
  std::mt19937 random(12);
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    const float value = FloatOf(1 + random() % 0x7f7fffffu);
    const std::string exact = absl::StrCat(Rational::FromDouble(value).Numerator(), "/",
                                           Rational::FromDouble(value).Denominator());
    for (int digits = 1; digits <= 17; ++digits) {
      char text[64];
      std::snprintf(text, sizeof(text), "%.*e", digits - 1, value);
      const bool reads_back = std::strtof(text, nullptr) == value;
      EXPECT_EQ(ReadBoth(text, exact) == "read", reads_back) << text;
      EXPECT_TRUE(reads_back || digits < 9) << text;
      refused += reads_back ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(RoundedLiteral, ANumberBetweenTwoFloatsIsNone) {
  EXPECT_THAT(ReadBoth("16777217", "16777216"), HasSubstr("16777217 stands for itself"));
  EXPECT_THAT(ReadBoth("16777217.0", "16777216"), HasSubstr("is not the float32 rounding"));
  EXPECT_THAT(ReadBoth("1.6777217e7", "16777216"), HasSubstr("is not the float32 rounding"));
  EXPECT_EQ(ReadBoth("16777216.0", "16777217"), "read");
  EXPECT_EQ(ReadBoth("1.6777216e7", "16777217"), "read");
}

TEST(RoundedLiteral, WhatFloat32DoesNotHaveIsNone) {
  EXPECT_THAT(ReadBoth("3.5e38", "4e38"), HasSubstr("4e38 is beyond the largest float32"));
  EXPECT_THAT(ReadBoth("-1e39", "-2e39"), HasSubstr("beyond the largest float32"));
  EXPECT_THAT(ReadBoth("0.0", "1e-60"), HasSubstr("so small that float32 has 0 for it"));
  EXPECT_EQ(ReadBoth("0.0", "0"), "read");
  EXPECT_THAT(ReadBoth("1/3", "0.333333334"), HasSubstr("1/3 stands for itself"));
  EXPECT_THAT(ReadBoth("x", "1/3"), HasSubstr("is no number"));
  EXPECT_THAT(ReadBoth("0.5", "1/0"), HasSubstr("is no number"));
}

std::string Plan(const std::string& literals, const std::string& factor) {
  return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [6]}, "literals": )",
                      literals, R"(,
      "operators": [{"op": "mul", "in": ["x", {"literal": "1/3"}], "out": "y"}],
      "outputs": ["y"]}, "plan": {"mesh": {}, "programs": [{"inputs": ["x"],
      "operators": [{"op": "mul", "in": ["x", )",
                      factor, R"(], "out": "y"}]}]}})");
}

// What the one operator of a graph computes.
std::string FunctionOf(const lineage::Problem& problem, const sdfg::Graph& graph) {
  RawProblem raw;
  EXPECT_TRUE(WriteRawProblem(problem, &raw).ok());
  const RawGraph& written = &graph == &problem.logical ? raw.logical() : raw.parallel();
  return raw.functions(written.operators(0).function()).SerializeAsString();
}

TEST(RoundedLiteral, EveryDecimalOfItsValueStandsForTheOtherNumber) {
  for (const char* factor : {"0.333333343", "3.33333343e-1", R"({"literal": "0.3333333430"})"}) {
    const auto problem = ReadText(Plan(R"({"0.333333343": "1/3"})", factor));
    ASSERT_TRUE(problem.ok()) << problem.status();
    EXPECT_THAT(problem->assumptions,
                testing::ElementsAre("literal 0.333333343 is the float32 rounding of 1/3"));
    EXPECT_EQ(FunctionOf(*problem, problem->parallel), FunctionOf(*problem, problem->logical))
        << factor;
  }
}

TEST(RoundedLiteral, AnIntegerAndAFractionStandForThemselves) {
  for (const char* factor : {"2", R"({"literal": "4/2"})"}) {
    const auto problem = ReadText(Plan(R"({"2.0": "2.00000001"})", factor));
    const auto plain = ReadText(Plan("{}", factor));
    ASSERT_TRUE(problem.ok() && plain.ok()) << problem.status() << plain.status();
    EXPECT_EQ(FunctionOf(*problem, problem->parallel), FunctionOf(*plain, plain->parallel))
        << factor;
  }
}

TEST(RoundedLiteral, StandsForOneNumber) {
  EXPECT_THAT(Said(Plan(R"({"0.333333343": "1/3", "0.3333333430": "0.33333334"})", "1")),
              HasSubstr("/specification/literals/0.3333333430: stands for two numbers; keep one"));
  EXPECT_EQ(Said(Plan(R"({"0.333333343": "1/3", "0.33333334": "1/3"})", "1")), "read");
  const auto same = ReadText(Plan(R"({"0.5": "1/2"})", "0.5"));
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_THAT(same->assumptions, testing::IsEmpty()) << "nothing is assumed";
}

}  // namespace
}  // namespace planproof::plan
