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
  EXPECT_THAT(report, HasSubstr("every element of new memory is written once"));
  EXPECT_THAT(report, HasSubstr("groups follow one another and are all rows"));
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

TEST(Experts, WritesThatDoNotAddUpAreNoticed) {
  EXPECT_THAT(WithArgument("aten.index_put.default", 3, false), IsNotProved());
}

}  // namespace
}  // namespace planproof::cli
