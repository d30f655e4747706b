// Infinity as an operand is 1 / 0, which is defined nowhere: nothing is proved that rests on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command_line.h"
#include "tests/frontend/torch/one_process.h"

namespace planproof::cli {
namespace {

using frontend::torch::OneProcess;
using frontend::torch::TensorAt;
using nlohmann::json;
using testing::StartsWith;

const json kInfinity = {{"float", "inf"}}, kNotANumber = {{"float", "nan"}},
           kMinusInfinity = {{"float", "-inf"}};

json Operator(const std::string& op, const std::vector<json>& arguments, int result) {
  return {{"op", op}, {"args", arguments}, {"out", json::array({TensorAt(result)})}};
}

// A trace of one process that makes y, tensor `result`, of x, tensor 0. Tensor `truth`, if there is
// one, holds truth values.
std::string WrittenTrace(const std::string& name, const json& operators, int result,
                         int truth = -1) {
  OneProcess process;
  for (int i = 0; i <= result; ++i) process.Add(i == truth ? "bool" : "float32", {4});
  const json inputs = json::array({{{"role", "input"}, {"name", "x"}, {"tensor", 0}}});
  const std::string text = TemporaryFile(name, process.Trace(inputs, operators, result).dump());
  EXPECT_EQ(RunCommand(absl::StrCat("gzip -c ", text, " > ", text, ".trace")).exit_code, 0);
  return text + ".trace";
}

std::string Copy() {
  return WrittenTrace("copy", json::array({Operator("aten.clone.default", {TensorAt(0)}, 1)}), 1);
}

// x + c - c of a tensor c of infinities.
json ThereAndBack() {
  return {Operator("aten.full_like.default", {TensorAt(0), kInfinity}, 1),
          Operator("aten.add.Tensor", {TensorAt(0), TensorAt(1)}, 2),
          Operator("aten.sub.Tensor", {TensorAt(2), TensorAt(1)}, 3)};
}

std::string Verdict(const std::string& reference, const std::string& rank) {
  return RunProgram(absl::StrCat("verify -q --no-cache --no-explain ", reference, " ", rank))
      .output;
}

TEST(Infinity, DoesNotCancel) {
  const std::string copy = Copy();
  const std::string back = WrittenTrace("back", ThereAndBack(), 3);
  EXPECT_THAT(Verdict(copy, back), StartsWith("UNKNOWN"));
  EXPECT_THAT(Verdict(back, copy), StartsWith("UNKNOWN"));
  EXPECT_THAT(Verdict(back, back), StartsWith("UNKNOWN"));
}

TEST(Infinity, MayStandWhereItIsNeverTaken) {
  const json checked = {Operator("aten.isnan.default", {TensorAt(0)}, 1),
                        Operator("aten.full_like.default", {TensorAt(0), kInfinity}, 2),
                        Operator("aten.where.self", {TensorAt(1), TensorAt(2), TensorAt(0)}, 3)};
  const std::string copy = Copy();
  EXPECT_THAT(Verdict(copy, WrittenTrace("checked", checked, 3, 1)), StartsWith("PROVED"));
}

// where(c, x, 2 x) or where(c, 2 x, x) of a comparison c of y, which `made` makes as tensor 1.
std::string Choice(const json& made, const char* comparison, const json& other, bool x_if_true) {
  json operators = made;
  operators.push_back(Operator("aten.add.Tensor", {TensorAt(0), TensorAt(0)}, 2));
  const bool tensor = other.contains("tensor");
  operators.push_back(Operator(absl::StrCat("aten.", comparison, tensor ? ".Tensor" : ".Scalar"),
                               {TensorAt(1), other}, 3));
  operators.push_back(
      Operator("aten.where.self",
               {TensorAt(3), TensorAt(x_if_true ? 0 : 2), TensorAt(x_if_true ? 2 : 0)}, 4));
  return WrittenTrace("choice", operators, 4, 3);
}

const char* const kComparisons[] = {"lt", "le", "gt", "ge", "eq", "ne"};

// In PyTorch infinity is equal to infinity, and 0 / 0 not to itself: whichever branch is the copy
// over the reals, the other one is taken.
TEST(Infinity, IsNotComparedAsIfItWereANumber) {
  const json infinite =
      json::array({Operator("aten.full_like.default", {TensorAt(0), kInfinity}, 1)});
  const json no_number =
      json::array({Operator("aten.full_like.default", {TensorAt(0), kNotANumber}, 1)});
  const json quotient = json::array({Operator("aten.div.Tensor", {TensorAt(0), TensorAt(0)}, 1)});
  for (const char* comparison : kComparisons) {
    for (const bool x_if_true : {false, true}) {
      for (const json& made : {infinite, no_number, quotient}) {
        for (const json& other : {kInfinity, TensorAt(1)}) {
          EXPECT_THAT(Verdict(Copy(), Choice(made, comparison, other, x_if_true)),
                      StartsWith("UNKNOWN"))
              << comparison << " " << made.dump() << " " << other.dump();
        }
      }
    }
  }
}

// A number is less than infinity, equal to itself, and has no order with what is no number.
TEST(Infinity, IsAboveEveryNumber) {
  const json number = json::array({Operator("aten.clone.default", {TensorAt(0)}, 1)});
  const std::string below = "lt le ne", itself = "le ge eq", unordered = "ne";
  const auto holds = [](const std::string& words, const std::string& word) {
    return words.find(word) != std::string::npos;
  };
  for (const char* comparison : kComparisons) {
    EXPECT_THAT(Verdict(Copy(), Choice(number, comparison, kInfinity, holds(below, comparison))),
                StartsWith("PROVED"))
        << comparison;
    EXPECT_THAT(Verdict(Copy(), Choice(number, comparison, TensorAt(1), holds(itself, comparison))),
                StartsWith("PROVED"))
        << comparison;
    EXPECT_THAT(
        Verdict(Copy(), Choice(number, comparison, kNotANumber, holds(unordered, comparison))),
        StartsWith("PROVED"))
        << comparison;
  }
}

TEST(Infinity, MinusInfinityIsBelowEveryNumberAndEqualToItself) {
  const json number = json::array({Operator("aten.clone.default", {TensorAt(0)}, 1)});
  const json infinite =
      json::array({Operator("aten.full_like.default", {TensorAt(0), kMinusInfinity}, 1)});
  const auto holds = [](const std::string& words, const std::string& word) {
    return words.find(word) != std::string::npos;
  };
  for (const char* comparison : kComparisons) {
    for (const bool x_if_true : {false, true}) {
      const bool of_number = holds("gt ge ne", comparison) == x_if_true;
      const bool of_itself = holds("le ge eq", comparison) == x_if_true;
      EXPECT_THAT(Verdict(Copy(), Choice(number, comparison, kMinusInfinity, x_if_true)),
                  StartsWith(of_number ? "PROVED" : "UNKNOWN"))
          << comparison;
      EXPECT_THAT(Verdict(Copy(), Choice(infinite, comparison, TensorAt(1), x_if_true)),
                  StartsWith(of_itself ? "PROVED" : "UNKNOWN"))
          << comparison;
    }
  }
}

// isinf(-inf) is true in PyTorch, and -inf is equal to itself: neither x nor 2 x is proved.
TEST(Infinity, MinusInfinityIsNoNumber) {
  for (const bool x_if_true : {false, true}) {
    const json found = {
        Operator("aten.full_like.default", {TensorAt(0), kMinusInfinity}, 1),
        Operator("aten.add.Tensor", {TensorAt(0), TensorAt(0)}, 2),
        Operator("aten.isinf.default", {TensorAt(1)}, 3),
        Operator("aten.where.self",
                 {TensorAt(3), TensorAt(x_if_true ? 0 : 2), TensorAt(x_if_true ? 2 : 0)}, 4)};
    EXPECT_THAT(Verdict(Copy(), WrittenTrace("found", found, 4, 3)), StartsWith("UNKNOWN"));
  }
}

}  // namespace
}  // namespace planproof::cli
