// Integers stay integers under arithmetic, as in PyTorch, so that what is computed from ids can be
// an index.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kEmbed[] = R"({"op": "embedding", "in": ["s", "w"], "out": "y"})";
constexpr char kOverflow[] = "sums and products of integers do not overflow";

// The model and a plan over two devices, of which each has half of the ids.
std::string VerifyIntegers(const std::string& model, const std::string& plan,
                           const std::string& outputs, const std::string& more = "") {
  const std::string file = TemporaryFile(
      "integers.json",
      absl::StrCat(
          R"json({"planproof": 1, "operators": ["op rows(w[v, h], id[n]: int) -> y[n, h] = w[id[n], h]"],
          "specification": {"inputs": {"id": "int64[8]", "x": [8]}, "parameters": {"w": [16, 4]},
          "operators": [)json",
          model, R"(], "outputs": )", outputs, more,
          R"(}, "plan": {"mesh": {"tp": 2}, "programs": [
          {"inputs": {"id": {"0": "tp"}, "x": {"0": "tp"}, "w": {}}, "operators": [)",
          plan, "]}]}}"));
  const Finished finished = RunProgram("verify --no-cache " + file);
  return finished.output + finished.errors;
}

std::string OnBoth(const std::string& operators, const std::string& more = "") {
  return VerifyIntegers(operators, operators, R"({"y": {"0": "tp"}})", more);
}

TEST(Integers, WhatIsComputedFromIdsIsAnIndex) {
  for (
      const char* make :
      {R"({"op": "mul", "in": ["id", "id"], "out": "s"})",
       R"({"op": "add", "in": ["id", 1], "out": "s"})",
       R"({"op": "pow", "in": ["id", 3], "out": "s"})",
       R"({"op": "maximum", "in": ["id", 3], "out": "s"})",
       R"({"op": "clamp", "in": "id", "attrs": {"min": 0, "max": 7}, "out": "s"})",
       R"({"op": "lt", "in": ["id", 5], "out": "c"}, {"op": "where", "in": ["c", "id", 0], "out": "s"})",
       R"({"op": "mul", "in": ["id", "id"], "out": "t"}, {"op": "long", "in": "t", "out": "s"})"}) {
    EXPECT_THAT(OnBoth(absl::StrCat(make, ", ", kEmbed)), StartsWith("PROVED")) << make;
  }
}

TEST(Integers, AnotherIndexIsRefuted) {
  const std::string square = R"({"op": "mul", "in": ["id", "id"], "out": "s"}, )";
  for (const char* other : {R"({"op": "add", "in": ["id", "id"], "out": "s"}, )",
                            R"({"op": "identity", "in": "id", "out": "s"}, )",
                            R"({"op": "pow", "in": ["id", 3], "out": "s"}, )"}) {
    EXPECT_THAT(
        VerifyIntegers(square + kEmbed, std::string(other) + kEmbed, R"({"y": {"0": "tp"}})"),
        StartsWith("REFUTED"))
        << other;
  }
}

TEST(Integers, SumsAndMaximaOverDevices) {
  const auto reduced = [](const std::string& op, const std::string& reduce, bool gathered = true) {
    const std::string one = absl::StrCat(R"({"op": ")", op, R"(", "in": "id", "out": ")");
    const std::string all = absl::StrCat(R"({"op": "all_reduce", "reduce": ")", reduce,
                                         R"(", "over": "tp", "in": "p", "out": "y"})");
    return VerifyIntegers(one + R"(y"})", gathered ? one + R"(p"}, )" + all : one + R"(y"})",
                          R"({"y": {}})");
  };
  EXPECT_THAT(reduced("sum", "sum"), StartsWith("PROVED"));
  EXPECT_THAT(reduced("max", "max"), StartsWith("PROVED"));
  EXPECT_THAT(reduced("min", "min"), StartsWith("PROVED"));
  EXPECT_THAT(reduced("sum", "max"), StartsWith("REFUTED"));
  EXPECT_THAT(reduced("sum", "", false), StartsWith("REFUTED"));
  EXPECT_THAT(reduced("sum", "avg"), StartsWith("MALFORMED"));
}

TEST(Integers, TruthValuesAreCountedAsIntegers) {
  const std::string count =
      R"({"op": "gt", "in": ["x", 0], "out": "c"}, {"op": "sum", "in": "c", "out": ")";
  EXPECT_THAT(
      VerifyIntegers(count + R"(y"})",
                     count + R"(p"}, {"op": "all_reduce", "over": "tp", "in": "p", "out": "y"})",
                     R"({"y": {}})"),
      StartsWith("PROVED"));
}

TEST(Integers, ProductsOfIntegersAreTheProductsOfTheirNumbers) {
  EXPECT_THAT(
      VerifyIntegers(
          R"({"op": "mul", "in": ["id", "id"], "out": "s"}, {"op": "float", "in": "s", "out": "y"})",
          R"({"op": "float", "in": "id", "out": "f"}, {"op": "mul", "in": ["f", "f"], "out": "y"})",
          R"({"y": {"0": "tp"}})"),
      StartsWith("PROVED"));
}

TEST(Integers, ARangeOfIdsBoundsWhatIsComputedFromThem) {
  const std::string square =
      R"({"op": "mul", "in": ["id", "id"], "out": "s"}, {"op": "rows", "in": ["w", "s"], "out": "y"})";
  EXPECT_THAT(OnBoth(square, R"(, "premises": {"id": [0, 4]})"), StartsWith("PROVED"));
  EXPECT_THAT(OnBoth(square, R"(, "premises": {"id": [0, 5]})"), Not(StartsWith("PROVED")));
  EXPECT_THAT(OnBoth(square, R"(, "premises": {"id": [-3, 4]})"), StartsWith("PROVED"));
  const std::string clamped =
      R"({"op": "clamp", "in": "id", "attrs": {"min": 2, "max": 15}, "out": "s"},
         {"op": "rows", "in": ["w", "s"], "out": "y"})";
  EXPECT_THAT(OnBoth(clamped), StartsWith("PROVED"));
}

TEST(Integers, QuotientsAndMeansAreNoIntegers) {
  EXPECT_THAT(OnBoth(R"({"op": "div", "in": ["id", 2], "out": "s"}, )" + std::string(kEmbed)),
              StartsWith("MALFORMED"));
  EXPECT_THAT(OnBoth(R"({"op": "div", "in": ["id", 1], "out": "s"}, )" + std::string(kEmbed)),
              StartsWith("MALFORMED"));
  EXPECT_THAT(OnBoth(R"({"op": "mean", "in": "id", "out": "y"})"),
              HasSubstr("the mean of integers is not taken"));
  EXPECT_THAT(OnBoth(R"({"op": "div", "in": ["id", 2], "out": "y"})"), StartsWith("PROVED"));
}

TEST(Integers, OverflowIsAnAssumptionWhereThereIsArithmetic) {
  EXPECT_THAT(OnBoth(R"({"op": "mul", "in": ["id", "id"], "out": "y"})"), HasSubstr(kOverflow));
  EXPECT_THAT(OnBoth(R"({"op": "add", "in": ["id", 1], "out": "y"})"), HasSubstr(kOverflow));
  for (const char* none : {R"({"op": "identity", "in": "id", "out": "y"})",
                           R"({"op": "maximum", "in": ["id", 3], "out": "y"})",
                           R"({"op": "float", "in": "id", "out": "y"})"}) {
    EXPECT_THAT(OnBoth(none), Not(HasSubstr(kOverflow))) << none;
  }
}

}  // namespace
}  // namespace planproof::cli
