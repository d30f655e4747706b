#include "diagnosis/isolated_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "diagnosis/exceptions.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::diagnosis {
namespace {

using testing::IsEmpty;

lineage::Problem Read(const std::string& model, const std::string& plan) {
  const std::string text = absl::StrCat(
      R"({"planproof": 1, "specification": {"inputs": {"x": [4, 6]}, "operators": [)", model,
      R"(], "outputs": {"y": {"0": "dp"}}},
        "plan": {"mesh": {"dp": 2}, "programs": [{"inputs": {"x": {"0": "dp"}}, "operators": [)",
      plan, R"(], "lineage": {"h": {"0": "dp"}}}]}})");
  absl::StatusOr<lineage::Problem> problem = plan::ReadTexts({{"plan.json", text}});
  EXPECT_TRUE(problem.ok()) << problem.status();
  return problem.ok() ? *std::move(problem) : lineage::Problem();
}

std::vector<lineage::Lineage> WithOutputs(const lineage::Problem& problem) {
  std::vector<lineage::Lineage> lineage = problem.lineage;
  lineage.resize(problem.parallel.tensors.size());
  for (const auto& required : problem.required) lineage[required.parallel] = required.lineage;
  return lineage;
}

std::vector<std::string> CausesOf(const lineage::Problem& problem) {
  std::vector<std::string> texts;
  for (const RepairSearch::Cause& cause :
       CausesInIsolation(problem, WithOutputs(problem), problem.required.at(0).parallel, 10)) {
    texts.push_back(cause.text);
  }
  return texts;
}

constexpr char kNothingLeft[] = R"({"op": "mul", "in": ["x", 0], "out": "h"},
                                   {"op": "mul", "in": ["h", 3], "out": "y"})";

std::string Scaled(int by) {
  return absl::StrCat(
      R"({"op": "mul", "in": ["x", 0], "out": "h"},
         {"op": "mul", "in": ["h", )",
      by, R"(], "out": "y"})");
}

// Whatever x is, h is 0, and so is y.
TEST(IsolatedStage, ShowsWhatNoInputOfTheModelShows) {
  const std::vector<std::string> causes = CausesOf(Read(kNothingLeft, Scaled(2)));
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0], "a constant of mul (y) is 2, in the model it is 3");
  EXPECT_THAT(CausesOf(Read(kNothingLeft, Scaled(3))), IsEmpty());
}

TEST(IsolatedStage, HoldsTheOperatorsOfTheStageAlone) {
  const lineage::Problem problem = Read(kNothingLeft, Scaled(2));
  const sdfg::TensorId tensor = problem.required.at(0).parallel;
  const std::vector<lineage::Lineage> lineage = WithOutputs(problem);
  const auto stage = Isolate(problem, lineage, tensor, StageOf(problem.parallel, lineage, tensor));
  ASSERT_TRUE(stage.has_value());
  EXPECT_EQ(stage->problem.parallel.operators.size(), 1u);
  EXPECT_EQ(stage->problem.logical.operators.size(), 1u);
  EXPECT_EQ(stage->problem.parallel.tensors[stage->subject].name, "y");
}

// The plan has h, and computes y past it: h, chosen by itself, would not be the exponential of x.
TEST(IsolatedStage, ComputesWhatThePlanPasses) {
  const lineage::Problem problem =
      Read(R"({"op": "exp", "in": "x", "out": "h"}, {"op": "mul", "in": ["h", 3], "out": "y"})",
           R"({"op": "exp", "in": "x", "out": "h"},
              {"op": "exp", "in": "x", "out": "again"},
              {"op": "mul", "in": ["again", 3], "out": "y"})");
  EXPECT_THAT(CausesOf(problem), IsEmpty());
}

// y reads x in place of h, and then nothing reads h.
TEST(IsolatedStage, NamesWhatNothingReadsInThePlan) {
  const std::string model = R"({"op": "exp", "in": "x", "out": "h"},
                               {"op": "mul", "in": ["x", "h"], "out": "y"})";
  const auto plan = [](const std::string& operand) {
    return R"({"op": "exp", "in": "x", "out": "h"}, {"op": "mul", "in": ["x", ")" + operand +
           R"("], "out": "y"})";
  };
  const lineage::Problem wrong = Read(model, plan("x"));
  const sdfg::TensorId tensor = wrong.required.at(0).parallel;
  const std::vector<lineage::Lineage> lineage = WithOutputs(wrong);
  const auto stage = Isolate(wrong, lineage, tensor, StageOf(wrong.parallel, lineage, tensor));
  ASSERT_TRUE(stage.has_value());
  ASSERT_EQ(stage->unread.size(), 1u);
  EXPECT_EQ(stage->problem.parallel.tensors[stage->unread[0]].name, "h");
  const std::vector<std::string> causes = CausesOf(wrong);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0], "mul (y) reads x in place of h, which nothing reads");
  EXPECT_THAT(CausesOf(Read(model, plan("h"))), IsEmpty());
}

}  // namespace
}  // namespace planproof::diagnosis
