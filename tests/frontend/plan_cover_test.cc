// The cover of inputs and required outputs of plan files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::plan {
namespace {

using testing::HasSubstr;

TEST(PlanCover, IsCheckedInAPlanAndDeclared) {
  const auto plan = [](const std::string& rest) {
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [6]},
      "operators": [{"op": "sum", "in": "x", "out": "y"}], "outputs": ["y"]},
      "plan": {"mesh": {"tp": 2}, "programs": [{
        "inputs": {"v": {"of": "x", "map": ["i0/2*2+i0%3"], "shape": [5])",
                        rest, R"(}, "w": {"of": "x", "0": [2, 4]}, "x": {}},
        "operators": [{"op": "sum", "in": "x", "out": "y"}]}]}})");
  };
  EXPECT_THAT(Said(plan("")), HasSubstr("input x[6]: overlap: program program0 holds overlapping"));
  EXPECT_THAT(Said(plan(R"(, "overlap": true)")), HasSubstr("overlap")) << "w and x do, too";
  EXPECT_EQ(Said(Replaced(plan(R"(, "overlap": true)"), R"("0": [2, 4])",
                          R"("0": [2, 4], "overlap": true)")),
            "read");
}

// x is [3]; the plan's y[i, j] is element i + j of the model's.
TEST(PlanCover, OverlapOfARequiredOutputIsDeclaredToo) {
  const auto plan = [](const std::string& rest) {
    return absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [3]},
      "operators": [{"op": "exp", "in": "x", "out": "y"}],
      "outputs": {"y": {"map": ["i0 + i1"])",
                        rest, R"(}}}, "plan": {"mesh": {}, "programs": [{
        "inputs": {"x": {"map": ["i0 + i1"], "shape": [2, 2], "overlap": true}},
        "operators": [{"op": "exp", "in": "x", "out": "y"}]}]}})");
  };
  EXPECT_THAT(Said(plan("")), HasSubstr("required output y[3]: overlap: the slices of program "
                                        "program0 overlap along dimension 0"));
  EXPECT_EQ(Said(plan(R"(, "overlap": true)")), "read");
}

}  // namespace
}  // namespace planproof::plan
