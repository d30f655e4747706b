// What goes beyond a limit of this program is no contradiction in the plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::plan {
namespace {

using testing::HasSubstr;

constexpr char kSmallPlan[] = R"({"planproof": 1, "specification": {
    "inputs": {"x": [8]}, "operators": [{"op": "exp", "in": "x", "out": "y"}], "outputs": ["y"]},
  "plan": {"mesh": {"tp": 2}, "microbatches": 1, "programs": [{
    "inputs": {"x": {"map": ["i0"], "shape": [8]}},
    "operators": [{"op": "exp", "in": "x", "out": "y"}]}]}})";

TEST(Limits, AreNamedWithTheValueAndAreNoContradiction) {
  const auto expect = [](const std::string& from, const std::string& to, const std::string& name,
                         const std::string& value) {
    const absl::Status status = ReadText(Replaced(kSmallPlan, from, to)).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << to << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
    EXPECT_THAT(std::string(status.message()), HasSubstr(value));
    EXPECT_THAT(std::string(status.message()), HasSubstr("limit of this program"));
  };
  expect(R"("tp": 2)", R"("tp": 20000000)", "devices of the mesh", "20000000");
  expect(R"("tp": 2)", R"("tp": 8192, "dp": 4096)", "devices of the mesh", "33554432");
  expect(R"("microbatches": 1)", R"("microbatches": 20000000)", "microbatches", "20000000");
  expect(R"(["i0"])", R"(["i0 + 5000000000000"])", "number", "2^42");
  expect(R"(["i0"])", absl::StrCat("[\"", std::string(40, '('), "i0", std::string(40, ')'), "\"]"),
         "nested deeper", "32");
  std::string axes = R"("tp": 2)";
  for (int k = 0; k < 16; ++k) absl::StrAppend(&axes, ", \"a", k, "\": 1");
  expect(R"("tp": 2)", axes, "axes of the mesh", "17");
}

TEST(Limits, ContradictionsBesideThemStayContradictions) {
  const auto contradiction = [](const std::string& from, const std::string& to) {
    const absl::Status status = ReadText(Replaced(kSmallPlan, from, to)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << to << ": " << status;
  };
  contradiction(R"("tp": 2)", R"("tp": 0)");
  contradiction(R"("microbatches": 1)", R"("microbatches": -1)");
  contradiction(R"(["i0"])", R"(["i0 + 1"])");
}

// Elements are not counted in 64 bits: 2^40 * 2^40 of them are viewed as, and read through, more
// dimensions.
TEST(Limits, ATensorMayHaveMoreElementsThan64BitsCount) {
  const std::string plan = R"({"planproof": 1, "specification": {
      "inputs": {"x": [1099511627776, 1099511627776]},
      "operators": [
        {"op": "exp", "in": "x", "out": "e"},
        {"op": "view", "in": "e", "out": "v", "attrs": {"size": [1099511627776, 1048576, -1]}},
        {"op": "sum", "in": "v", "out": "y", "attrs": {"dim": [2]}}],
      "outputs": ["y"]},
    "plan": {"mesh": {"tp": 2}, "programs": [{
      "inputs": {"x": {}},
      "operators": [
        {"op": "exp", "in": "x", "out": "e"},
        {"op": "view", "in": "e", "out": "v", "attrs": {"size": [1099511627776, 1048576, 1048576]}},
        {"op": "sum", "in": "v", "out": "y", "attrs": {"dim": [2]}}]}]}})";
  EXPECT_EQ(Said(plan), "read");
  EXPECT_THAT(Said(Replaced(plan, "1048576, 1048576]", "1048576, 1048577]")),
              HasSubstr("elements, but shape"));
  // All elements as one dimension: an index of it has no 64 bits.
  const absl::Status status =
      ReadText(Replaced(plan, "[1099511627776, 1048576, 1048576]", "[-1]")).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

}  // namespace
}  // namespace planproof::plan
