// The experts of a layer, recorded, and the same where one rank routes or computes differently.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/cli/recorded_programs.h"

namespace planproof::cli {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

// What is said if rank 1 calls the operator with another argument.
std::string WithArgument(const std::string& op, size_t argument, const json& value) {
  return WithFault(
      "hf_experts",
      [&](std::vector<json>* ranks) {
        json& arguments = FirstOf(&(*ranks)[1], op)["args"];
        while (arguments.size() <= argument) arguments.push_back(-1);
        arguments[argument] = value;
      },
      "--no-explain");
}

testing::Matcher<std::string> IsNotProved() {
  return AnyOf(StartsWith("UNKNOWN"), StartsWith("REFUTED"));
}

TEST(Experts, PremisesOfTheRoutingAreListed) {
  const std::string report = WithFault(
      "hf_experts", [](std::vector<json>*) {}, "--no-explain -v");
  EXPECT_THAT(report, StartsWith("PROVED"));
  EXPECT_THAT(report, HasSubstr("no element is written twice"));
  EXPECT_THAT(report, HasSubstr("equal elements are ordered by their indices"));
}

TEST(Experts, TheWorstExpertsAreOthersThanTheBest) {
  EXPECT_THAT(WithArgument("aten.topk", 3, false), IsNotProved());
}

TEST(Experts, AnotherOrderOfTokensIsAnotherOne) {
  EXPECT_THAT(WithArgument("aten.sort", 2, true), IsNotProved());
}

TEST(Experts, AQuotientByAnotherNumberIsAnotherOne) {
  EXPECT_THAT(WithArgument("aten.floor_divide", 1, 3), IsNotProved());
}

TEST(Experts, ARemainderIsNoQuotient) {
  const std::string report = WithFault(
      "hf_experts",
      [](std::vector<json>* ranks) {
        FirstOf(&(*ranks)[1], "aten.floor_divide")["op"] = "aten.remainder.Scalar";
      },
      "--no-explain");
  EXPECT_THAT(report, IsNotProved());
}

TEST(Experts, OtherGroupsAreNoticed) {
  EXPECT_THAT(WithArgument("aten.histc", 3, 4), IsNotProved());
}

// The gradient of a token's weights, put at its place in the order of experts without adding up on
// rank 1; at the token itself, for which there are two, if `twice`.
std::string WithoutAccumulation(bool twice) {
  return WithFaultEverywhere(
      "hf_experts",
      [&](json* trace) {
        const json order = FirstOf(trace, "aten.sort")["out"][1];
        const json token = FirstOf(trace, "aten.floor_divide")["out"][0];
        for (json& op : (*trace)["operators"]) {
          if (op.value("op", "") != "aten.index_put.default" || op["args"][1][0] != order) continue;
          if (twice) op["args"][1][0] = token;
          if ((*trace)["rank"] == 1) op["args"][3] = false;
          return;
        }
        ADD_FAILURE();
      },
      "--no-explain");
}

TEST(Experts, WritesThatDoNotAddUpAreNoticed) {
  EXPECT_THAT(WithoutAccumulation(true), IsNotProved());
}

TEST(Experts, WritesOfEveryPlaceOnceNeedNotAddUp) {
  EXPECT_THAT(WithoutAccumulation(false), StartsWith("PROVED"));
}

}  // namespace
}  // namespace planproof::cli
