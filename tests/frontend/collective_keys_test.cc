// Keys of collectives that nobody would read, and participants of one collective that mean
// different ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/plan/read_plan.h"

namespace planproof::plan {
namespace {

using testing::HasSubstr;

std::string SaidOf(const std::string& plan) {
  const std::string text =
      absl::StrCat(R"({"planproof": 1, "specification": {"inputs": {"x": [4, 4]}, "operators": [
                      {"op": "softmax", "in": "x", "out": "y"}], "outputs": ["y"]}, "plan": )",
                   plan, "}");
  absl::StatusOr<PlanFile> file = ParsePlanFile(text, "plan.json");
  if (!file.ok()) return std::string(file.status().message());
  std::vector<std::pair<std::string, PlanFile>> files;
  files.emplace_back("plan.json", *std::move(file));
  const auto problem = BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn());
  return problem.ok() ? "read" : std::string(problem.status().message());
}

std::string WithOperator(const std::string& keys) {
  return SaidOf(
      absl::StrCat(R"({"mesh": {"tp": 2}, "programs": [{"inputs": {"x": {}}, "operators": [
                              {"in": "x", "out": "z", )",
                   keys, R"(}, {"op": "softmax", "in": "x", "out": "y"}]}]})"));
}

TEST(CollectiveKeys, AreRefusedAtOtherOperators) {
  EXPECT_THAT(WithOperator(R"("op": "softmax", "dim": 0)"),
              HasSubstr(R"("dim" is an attribute of softmax: write "attrs": {"dim": 0})"));
  EXPECT_THAT(WithOperator(R"("op": "exp", "reduce": "max")"),
              HasSubstr(R"("reduce" is an attribute of exp: write "attrs": {"reduce": "max"})"));
  EXPECT_THAT(WithOperator(R"("op": "sum", "over": "tp")"),
              HasSubstr(R"(sum is no collective and has no "over"; all_reduce, all_gather, )"));
  EXPECT_EQ(WithOperator(R"("op": "softmax", "attrs": {"dim": 0})"), "read");
}

// An exception may leave out or change what communicates nothing.
TEST(CollectiveKeys, AccumulateIsOverMicrobatchesOnly) {
  EXPECT_THAT(WithOperator(R"("op": "accumulate", "over": "tp")"),
              HasSubstr("over an axis of the mesh it is all_reduce"));
  EXPECT_THAT(WithOperator(R"("op": "accumulate", "over": ["microbatch", "tp"])"),
              HasSubstr("over an axis of the mesh it is all_reduce"));
  EXPECT_EQ(WithOperator(R"("op": "accumulate", "over": "microbatch")"), "read");
  EXPECT_EQ(WithOperator(R"("op": "accumulate")"), "read");
}

TEST(CollectiveKeys, AreThoseOfTheCollective) {
  EXPECT_THAT(WithOperator(R"("op": "reduce", "over": "tp", "root": 1, "reduce": "max")"),
              HasSubstr("reduce has no key \"reduce\"; it has root"));
  EXPECT_EQ(WithOperator(R"("op": "reduce", "over": "tp", "root": 1, "reduce": "sum")"), "read");
  for (const std::string keys :
       {R"("op": "all_reduce", "over": "tp", "dim": 1)",
        R"("op": "broadcast", "over": "tp", "dim": 1)",
        R"("op": "all_gather", "over": "tp", "dim": 0, "reduce": "max")",
        R"("op": "all_reduce", "over": "tp", "dim": 0)",
        R"("op": "permute", "over": "tp", "shift": 1, "root": 1)",
        R"("op": "all_to_all", "over": "tp", "split_dim": 0, "concat_dim": 1, "dim": 1)",
        R"("op": "chunk", "over": "tp", "split_dim": 1)"}) {
    EXPECT_THAT(WithOperator(keys), HasSubstr("has no key")) << keys;
  }
  for (const std::string keys :
       {R"("op": "all_reduce", "over": "tp", "reduce": "max")",
        R"("op": "reduce_scatter", "over": "tp", "dim": 1, "reduce": "avg")",
        R"("op": "all_to_all", "over": "tp", "split_dim": 0, "concat_dim": 1)",
        R"("op": "permute", "over": "tp", "pairs": [[0, 1]])",
        R"("op": "chunk", "over": "tp", "dim": 1)"}) {
    EXPECT_EQ(WithOperator(keys), "read") << keys;
  }
}

// A dimension that nobody states is none.
TEST(CollectiveKeys, AreThereWhereTheyAreNeeded) {
  for (const auto& [keys, needed] : std::vector<std::pair<std::string, std::string>>{
           {R"("op": "all_gather", "over": "tp")", "all_gather needs the key \"dim\""},
           {R"("op": "reduce_scatter", "over": "tp")", "reduce_scatter needs the key \"dim\""},
           {R"("op": "chunk", "over": "tp")", "chunk needs the key \"dim\""},
           {R"("op": "all_to_all", "over": "tp", "concat_dim": 0)",
            "all_to_all needs the key \"split_dim\""},
           {R"("op": "all_to_all", "over": "tp", "split_dim": 0)",
            "all_to_all needs the key \"concat_dim\": a dimension of its tensor, as in "
            "\"concat_dim\": 0"},
           {R"("op": "permute", "over": "tp")",
            "permute: needs \"shift\", as in \"shift\": 1, or \"pairs\", as in \"pairs\": [[0, "
            "1]]"},
           {R"("op": "permute", "over": "tp", "pairs": [])",
            "no rank sends: at least one pair [from, to] is expected"},
           {R"("op": "all_reduce", "over": "tp", "pairs": [])", "at least one pair [from, to]"},
           {R"("op": "broadcast", "over": "tp")", "broadcast needs the key \"root\""},
           {R"("op": "reduce", "over": "tp")",
            "reduce needs the key \"root\": the number of a rank of the axis, as in \"root\": "
            "0"}}) {
    EXPECT_THAT(WithOperator(keys), HasSubstr(needed));
  }
}

// The binary form tells a 0 from nothing.
TEST(CollectiveKeys, AreNeededInTheBinaryFormToo) {
  const std::string text = R"({"planproof": 1, "plan": {"mesh": {"tp": 2}, "programs": [{
      "operators": [{"op": "all_gather", "over": "tp", "in": "x", "out": "y", "dim": 0}]}]}})";
  PlanFile file = *ParsePlanFile(text, "plan.json");
  PlanFile again = *ParsePlanFile(file.SerializeAsString(), "plan");
  EXPECT_TRUE(again.plan().programs(0).operators(0).collective().has_dim());
  file.mutable_plan()->mutable_programs(0)->mutable_operators(0)->mutable_collective()->clear_dim();
  again = *ParsePlanFile(file.SerializeAsString(), "plan");
  EXPECT_FALSE(again.plan().programs(0).operators(0).collective().has_dim());
}

// Each participant's result would be computed by its own idea of the collective.
TEST(CollectiveKeys, AreTheSameInAllPrograms) {
  const auto said = [](const std::string& first, const std::string& second) {
    const auto program = [](const char* name, int at, const std::string& keys) {
      return absl::StrCat(R"({"name": ")", name, R"(", "devices": {"pp": )", at,
                          R"(}, "inputs": {"x": {}}, "operators": [
                             {"op": "softmax", "in": "x", "out": "y"},
                             {"in": ["a:x", "b:x"], "out": "z", )",
                          keys, "}]}");
    };
    return SaidOf(absl::StrCat(R"({"mesh": {"pp": 2}, "programs": [)", program("a", 0, first), ", ",
                               program("b", 1, second), "]}"));
  };
  const std::string sum = R"("op": "all_reduce")", max = R"("op": "all_reduce", "reduce": "max")";
  EXPECT_EQ(said(sum, sum), "read");
  EXPECT_EQ(said(sum, R"("op": "all_reduce", "reduce": "sum")"), "read");
  EXPECT_THAT(said(sum, max), HasSubstr("it would hang"));
  const std::string scatter = R"("op": "reduce_scatter", "dim": )";
  EXPECT_EQ(said(scatter + "1", scatter + "1"), "read");
  EXPECT_THAT(said(scatter + "0", scatter + "1"), HasSubstr("it would hang"));
  const std::string exchange = R"("op": "all_to_all", "concat_dim": 0, "split_dim": )";
  EXPECT_THAT(said(exchange + "0", exchange + "1"), HasSubstr("it would hang"));
  const std::string gather = R"("op": "all_gather", "dim": )";
  EXPECT_EQ(said(gather + "0", gather + "1"), "read");
}

// A rank of "a" at tp 1 would wait for one of "b" that does not exist.
TEST(CollectiveKeys, EveryRankHasItsPartners) {
  const auto program = [](const char* name, const char* devices, const char* last) {
    return absl::StrCat(R"({"name": ")", name, R"(", "devices": )", devices,
                        R"(, "inputs": {"x": {}}, "operators": [
                           {"op": "softmax", "in": "x", "out": "y"})",
                        last, "]}");
  };
  const char* const sum = R"(, {"op": "all_reduce", "in": ["a:x", "b:x"], "out": "z"})";
  EXPECT_THAT(SaidOf(absl::StrCat(R"({"mesh": {"pp": 2, "tp": 2}, "programs": [)",
                                  program("a", R"({"pp": 0})", sum), ", ",
                                  program("b", R"({"pp": 1, "tp": 0})", sum), ", ",
                                  program("c", R"({"pp": 1, "tp": 1})", ""), "]}")),
              HasSubstr("vary over different axes, so that some would have no partner"));
  EXPECT_EQ(SaidOf(absl::StrCat(R"({"mesh": {"pp": 2, "tp": 2}, "programs": [)",
                                program("a", R"({"pp": 0, "tp": 0})", sum), ", ",
                                program("b", R"({"pp": 1, "tp": 0})", sum), ", ",
                                program("c", R"({"tp": 1})", ""), "]}")),
            "read");
}

}  // namespace
}  // namespace planproof::plan
