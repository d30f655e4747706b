// Plans whose lineage is forgotten are proved by what is inferred, and by nothing else.
#include "inference/relation_inference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "frontend/plan/read_plan.h"
#include "strategy/verify.h"

namespace planproof::inference {
namespace {

namespace fs = std::filesystem;

lineage::Problem ReadExample(const std::string& file) {
  auto problem = plan::ReadPlan({std::string(PLANPROOF_SOURCE_DIR) + "/examples/" + file},
                                sdfg::OperatorLibrary::BuiltIn());
  EXPECT_TRUE(problem.ok()) << problem.status();
  return *std::move(problem);
}

stages::Result VerifyWithout(lineage::Problem problem, const stages::LineageInference* inference) {
  DiscardLineage(&problem);
  stages::VerifyOptions options;
  options.jobs = 1;
  options.inference = inference;
  return strategy::Verify(problem, options);
}

std::vector<std::string> Plans(const std::string& directory) {
  std::vector<std::string> plans;
  for (const auto& entry :
       fs::directory_iterator(std::string(PLANPROOF_SOURCE_DIR) + "/examples/" + directory)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".json") plans.push_back(directory + "/" + name);
  }
  std::sort(plans.begin(), plans.end());
  return plans;
}

class DailyPlan : public testing::TestWithParam<std::string> {};

TEST_P(DailyPlan, IsProvedWithoutLineage) {
  const RelationInference inference;
  const stages::Result result = VerifyWithout(ReadExample(GetParam()), &inference);
  EXPECT_EQ(result.verdict, stages::Verdict::kProved)
      << (result.violations.empty() ? "" : result.violations[0].message);
  EXPECT_TRUE(result.inference.used);
  EXPECT_GT(result.inference.proved, 0);
}

TEST_P(DailyPlan, IsProvedWhereSummandsAreLookedForAfterTheirSumsOnly) {
  const RelationInference inference(Buckets::kAreOneTensor, /*work_of_summand=*/0);
  EXPECT_EQ(VerifyWithout(ReadExample(GetParam()), &inference).verdict, stages::Verdict::kProved);
}

INSTANTIATE_TEST_SUITE_P(Inference, DailyPlan, testing::ValuesIn(Plans("daily")),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return fs::path(info.param).stem().string();
                         });

TEST(RelationInferenceTest, ABrokenPlanIsNotProved) {
  const RelationInference inference;
  for (const char* file :
       {"mlp_tp2_broken.json", "llama_dp2_pp2_tp2_mb2_broken.json", "moe_dp2_ep2_broken.json"}) {
    const stages::Result result = VerifyWithout(ReadExample(file), &inference);
    EXPECT_EQ(result.verdict, stages::Verdict::kRefuted) << file;
  }
}

TEST(RelationInferenceTest, WithoutInferenceNothingIsInferred) {
  const stages::Result result = VerifyWithout(ReadExample("mlp_tp2.json"), nullptr);
  EXPECT_FALSE(result.inference.used);
  EXPECT_EQ(result.inference.inferred, 0);
}

TEST(RelationInferenceTest, WhatIsStatedIsNotInferredAgain) {
  lineage::Problem problem = ReadExample("daily/zero1.json");
  const RelationInference inference;
  const lineage::Problem completed =
      stages::WithRelations(problem, inference.Infer(problem, nullptr).relations);
  for (size_t t = 0; t < problem.lineage.size(); ++t) {
    if (problem.lineage[t].kind != lineage::LineageKind::kFull) continue;
    EXPECT_EQ(completed.lineage[t].provenance, lineage::Provenance::kGiven);
    EXPECT_EQ(completed.lineage[t].map, problem.lineage[t].map);
  }
  EXPECT_EQ(completed.required.size(), problem.required.size());
}

// What is required comes from the specification: a guess never becomes a requirement.
TEST(RelationInferenceTest, RequirementsAreNotTouched) {
  lineage::Problem problem = ReadExample("daily/ring_attention.json");
  DiscardLineage(&problem);
  const RelationInference inference;
  const lineage::Problem completed =
      stages::WithRelations(problem, inference.Infer(problem, nullptr).relations);
  ASSERT_EQ(completed.required.size(), problem.required.size());
  for (size_t r = 0; r < problem.required.size(); ++r) {
    EXPECT_EQ(completed.required[r].lineage.logical, problem.required[r].lineage.logical);
    EXPECT_EQ(completed.required[r].lineage.map, problem.required[r].lineage.map);
    EXPECT_EQ(completed.required[r].lineage.provenance, lineage::Provenance::kGiven);
  }
}

// The sum over dp is no tensor of the model, whose operator adds more at once.
constexpr char kSumOfNothingInTheModel[] = R"({
  "planproof": 1,
  "operators": ["op fold(e[m, n], q[n]) -> y[n] = sum(m: e[m, n]) + q[n]",
                "op row(x[m:1, n]) -> y[n] = x[0, n]"],
  "specification": {
    "inputs": {"a": [2, 4], "q": [4], "w": [4, 4]},
    "operators": [{"op": "linear", "in": ["a", "w"], "out": "e"},
                  {"op": "fold", "in": ["e", "q"], "out": "y"}],
    "outputs": {"y": {}}},
  "plan": {
    "mesh": {"dp": 2},
    "programs": [{
      "inputs": {"a": {"0": "dp"}, "q": {}, "w": {}},
      "operators": [{"op": "row", "in": ["a"], "out": "a.row"},
                    {"op": "linear", "in": ["a.row", "w"], "out": "e.part"},
                    {"op": "all_reduce", "over": "dp", "in": "e.part", "out": "e.sum"},
                    {"op": "add", "in": ["e.sum", "q"], "out": "y"}]}]}})";

TEST(RelationInferenceTest, SummandsAreLookedForWhereTheirSumIsNotFound) {
  auto file = plan::ParsePlanFile(kSumOfNothingInTheModel, "plan.json");
  ASSERT_TRUE(file.ok()) << file.status();
  auto problem =
      plan::BuildProblemFromFiles({{"plan.json", *file}}, sdfg::OperatorLibrary::BuiltIn());
  ASSERT_TRUE(problem.ok()) << problem.status();
  DiscardLineage(&*problem);
  for (const int64_t work : {kWorkOfSummand, int64_t{0}}) {
    const RelationInference inference(Buckets::kAreOneTensor, work);
    std::vector<std::string> related;
    for (const stages::InferredRelation& relation : inference.Infer(*problem, nullptr).relations)
      related.push_back(problem->parallel.tensors[relation.parallel].name);
    EXPECT_THAT(related, testing::UnorderedElementsAre("a.row", "e.part", "y")) << work;
  }
}

}  // namespace
}  // namespace planproof::inference
