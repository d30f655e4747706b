// Of a selection only the branch taken has to be defined: what a verdict rests on where a model or
// a plan takes logarithms and quotients under conditions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kOperators[] =
    R"json("op safe_log(x) -> y = where(x > 0, log(x), 0)",
       "op safe_inverse(x) -> y = where(x != 0, 1 / x, 0)",
       "op nested(x, z) -> y = where(x > 0, where(z > 0, log(x * z), 0), 1)",
       "op wrong_side(x) -> y = where(x > 0, 0, log(x))",
       "op row_log(x[i, k]) -> y[i] = sum(k: where(x[i, k] > 0, log(x[i, k]), 0))")json";

constexpr char kSeparately[] =
    R"({"op": "gt", "in": ["x", 0], "out": "c"}, {"op": "log", "in": "x", "out": "l"},
       {"op": "where", "in": ["c", "l", 0], "out": "y"})";
constexpr char kByProduct[] =
    R"({"op": "gt", "in": ["x", 0], "out": "c"}, {"op": "float", "in": "c", "out": "f"},
       {"op": "log", "in": "x", "out": "l"}, {"op": "mul", "in": ["f", "l"], "out": "y"})";

std::string Apply(const std::string& op) {
  return absl::StrCat(R"({"op": ")", op, R"(", "in": "x", "out": "y"})");
}

std::string Verdict(const std::string& model, const std::string& plan,
                    const std::string& options = "") {
  const std::string file = TemporaryFile(
      "branches.json",
      absl::StrCat(R"({"planproof": 1, "operators": [)", kOperators,
                   R"(], "specification": {"inputs": {"x": [4]}, "operators": [)", model,
                   R"(], "outputs": {"y": {"0": "tp"}}}, "plan": {"mesh": {"tp": 2}, "programs": [
                   {"inputs": {"x": {"0": "tp"}}, "operators": [)",
                   plan, "]}]}}"));
  return RunProgram(absl::StrCat("verify --no-cache ", options, " ", file)).output;
}

TEST(Branches, AModelThatIsDefinedEverywhereHasNoPremise) {
  for (const char* op : {"safe_log", "safe_inverse"}) {
    const std::string said = Verdict(Apply(op), Apply(op));
    EXPECT_THAT(said, StartsWith("PROVED")) << op;
    EXPECT_THAT(said, Not(HasSubstr("premises   "))) << op;
    EXPECT_THAT(said, Not(HasSubstr("restricts"))) << op;
  }
  // It is defined where x is positive and the logarithm does not count.
  const std::string partly = Verdict(Apply("wrong_side"), Apply("wrong_side"));
  EXPECT_THAT(partly, StartsWith("PROVED"));
  EXPECT_THAT(partly, HasSubstr("premises   wrong_side: "));
}

TEST(Branches, APlanMustBeDefinedInTheOtherBranchAsWell) {
  EXPECT_THAT(Verdict(Apply("safe_log"), Apply("log")), StartsWith("REFUTED"));
  EXPECT_THAT(Verdict(Apply("safe_inverse"), Apply("reciprocal")), Not(StartsWith("PROVED")));
  // 0 times a logarithm that has no value.
  EXPECT_THAT(Verdict(Apply("safe_log"), kByProduct), Not(StartsWith("PROVED")));
  EXPECT_THAT(Verdict(Apply("safe_log"), kByProduct, "--accept-restrictions"),
              StartsWith("PROVED under 1 restriction: "));
  EXPECT_THAT(Verdict(Apply("safe_log"), kByProduct, "-q --accept-restrictions"),
              AllOf(StartsWith("PROVED under 1 restriction: "),
                    HasSubstr("that satisfy the premises and the plan's restrictions")));
  EXPECT_THAT(Verdict(Apply("safe_log"), Apply("safe_log"), "-q --accept-restrictions"),
              AllOf(StartsWith("PROVED: "), Not(HasSubstr("restriction"))));
}

TEST(Branches, WhereReadsTheBranchTakenOnlyAlsoAcrossOperators) {
  const std::string said = Verdict(Apply("safe_log"), kSeparately);
  EXPECT_THAT(said, StartsWith("PROVED"));
  EXPECT_THAT(said, Not(HasSubstr("restricts")));
}

TEST(Branches, WhatTheModelGrantsItselfIsGrantedInABranchAsWell) {
  const std::string said = Verdict(kByProduct, Apply("safe_log"));
  EXPECT_THAT(said, StartsWith("PROVED"));
  EXPECT_THAT(said, HasSubstr("premises   log: x[i0] > 0"));
}

TEST(Branches, AWrongValueInABranchIsStillRefuted) {
  EXPECT_THAT(Verdict(Apply("safe_log"),
                      R"({"op": "gt", "in": ["x", 0], "out": "c"},
                         {"op": "log", "in": "x", "out": "l"},
                         {"op": "where", "in": ["c", "l", 1], "out": "y"})"),
              StartsWith("REFUTED"));
}

// The gradient of where(x > 0, log x, 0) is where(x > 0, 1 / x, 0): no premise, on either side.
TEST(Branches, GradientsAreDefinedWhereTheFunctionIs) {
  const std::string file =
      TemporaryFile("branch_gradient.json",
                    absl::StrCat(R"({"planproof": 1, "operators": [)", kOperators,
                                 R"(], "specification": {"parameters": {"x": [4, 6]}, "operators": [
                     {"op": "row_log", "in": "x", "out": "y"},
                     {"op": "sum", "in": "y", "out": "loss"}],
                   "gradients": {"loss": "loss", "of": ["x"]},
                   "outputs": {"loss": {}, "grad.x": {"1": "tp"}}},
                   "plan": {"mesh": {"tp": 2}, "programs": [{
                     "inputs": {"x": {"1": "tp"}, "grad.loss": {}}, "operators": [
                     {"op": "row_log", "in": "x", "out": "part"},
                     {"op": "all_reduce", "over": "tp", "in": "part", "out": "y"},
                     {"op": "sum", "in": "y", "out": "loss"},
                     {"backward": "loss"},
                     {"backward": "part", "grad": {"part": "grad.y"}}]}]}})"));
  const Finished finished = RunProgram("verify --no-cache " + file);
  EXPECT_THAT(finished.output, StartsWith("PROVED")) << finished.errors;
  EXPECT_THAT(finished.output, Not(HasSubstr("premises   ")));
  EXPECT_THAT(finished.output, Not(HasSubstr("restricts")));
}

}  // namespace
}  // namespace planproof::cli
