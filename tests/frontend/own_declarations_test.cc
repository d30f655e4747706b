// Operators that files declare: the specification's are its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/plan/raw_form.h"
#include "tests/frontend/plan_texts.h"

namespace planproof::plan {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kTwice[] = R"("operators": "op f(x) -> y = 2 * x",)";

std::string Specification(const std::string& declarations, const std::string& op) {
  return absl::StrCat(R"({"planproof": 1, )", declarations,
                      R"("specification": {"inputs": {"x": [4]}, "operators": [
                         {"op": ")",
                      op, R"(", "in": "x", "out": "y"}], "outputs": ["y"]}})");
}

std::string Plan(const std::string& declarations, const std::string& op) {
  return absl::StrCat(R"({"planproof": 1, )", declarations,
                      R"("plan": {"mesh": {}, "programs": [{"inputs": ["x"], "operators": [
                         {"op": ")",
                      op, R"(", "in": "x", "out": "y"}]}]}})");
}

absl::StatusOr<lineage::Problem> Read(const std::string& specification, const std::string& plan,
                                      bool binary = false) {
  std::vector<std::pair<std::string, std::string>> files = {{"spec.json", specification},
                                                            {"plan.json", plan}};
  for (auto& [name, text] : files) {
    const absl::StatusOr<PlanFile> file = ParsePlanFile(text, name);
    if (!file.ok()) return file.status();
    if (binary) text = file->SerializeAsString();
  }
  const absl::StatusOr<lineage::Problem> problem = ReadTexts(files);
  const absl::StatusOr<lineage::Problem> swapped = ReadTexts({files[1], files[0]});
  EXPECT_EQ(problem.status(), swapped.status()) << "the order of files does not matter";
  return problem;
}

TEST(OwnDeclarations, ThePlanDoesNotDefineWhatTheSpecificationSays) {
  for (const bool binary : {false, true}) {
    const absl::Status status = Read(Specification("", "f"), Plan(kTwice, "f"), binary).status();
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr("/specification/operators/0: operator 'f' is declared for the plan alone, by "
                  "plan.json; what the specification uses is declared in its own file or "
                  "with --operators"));
  }
}

TEST(OwnDeclarations, ThePlanMayUseTheSpecifications) {
  for (const bool binary : {false, true}) {
    const auto problem = Read(Specification(kTwice, "f"), Plan("", "f"), binary);
    ASSERT_TRUE(problem.ok()) << problem.status();
    EXPECT_THAT(problem->assumptions, IsEmpty());
  }
}

TEST(OwnDeclarations, WhatThePlanDeclaresAndUsesIsListed) {
  const std::string listed = "plan.json declares operators of the plan: f";
  for (const bool binary : {false, true}) {
    const auto problem = Read(Specification("", "exp"), Plan(kTwice, "f"), binary);
    ASSERT_TRUE(problem.ok()) << problem.status();
    EXPECT_THAT(problem->assumptions, Contains(listed));
    const auto raw = ReadText(*SerializePlan(*problem, PlanFormat::kJson));
    ASSERT_TRUE(raw.ok()) << raw.status();
    EXPECT_THAT(raw->assumptions, Contains(listed)) << "what convert and mutate write";
  }
  const auto unused = Read(Specification("", "exp"), Plan(kTwice, "exp"));
  ASSERT_TRUE(unused.ok()) << unused.status();
  EXPECT_THAT(unused->assumptions, IsEmpty());
}

TEST(OwnDeclarations, AnExceptionUsesThemToo) {
  std::string plan = Replaced(Plan(kTwice, "exp"), R"("mesh": {})", R"("mesh": {"tp": 2})");
  plan = Replaced(plan, R"("programs": [{)",
                  R"("programs": [{"exceptions": [{"at": {"tp": 1}, "replace": "y",
                     "with": {"op": "f", "in": "x", "out": "y"}}], )");
  const auto problem = Read(Specification("", "exp"), plan);
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_THAT(problem->assumptions, Contains("plan.json declares operators of the plan: f"));
}

std::string OneFile(const std::string& specification, const std::string& plan) {
  return absl::StrCat(specification.substr(0, specification.size() - 1), ", ",
                      plan.substr(plan.find("\"plan\":")));
}

TEST(OwnDeclarations, OneFileDeclaresForBothAndWhatOnlyThePlanUsesIsListed) {
  const auto both = ReadText(OneFile(Specification(kTwice, "f"), Plan("", "f")));
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT(both->assumptions, IsEmpty());
  const auto plan_only = ReadText(OneFile(Specification(kTwice, "exp"), Plan("", "f")));
  ASSERT_TRUE(plan_only.ok()) << plan_only.status();
  EXPECT_THAT(plan_only->assumptions, Contains("plan.json declares operators of the plan: f"));
}

TEST(OwnDeclarations, APlanHasDeclarationsOfItsOwnInOneFile) {
  const std::string own = R"("plan": {"declarations": ["op f(x) -> y = 2 * x"], )";
  const auto with = [&](const std::string& op) {
    return Replaced(OneFile(Specification("", op), Plan("", "f")), R"("plan": {)", own);
  };
  const auto listed = ReadText(with("exp"));
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_THAT(listed->assumptions, Contains("plan.json declares operators of the plan: f"));
  EXPECT_THAT(Said(with("f")), HasSubstr("operator 'f' is declared for the plan alone"));
}

TEST(OwnDeclarations, TwoFilesAreMergedAsTheyAre) {
  const PlanFile specification = *ParsePlanFile(Specification("", "f"), "spec.json");
  const PlanFile plan = *ParsePlanFile(Plan(kTwice, "f"), "plan.json");
  const absl::StatusOr<PlanFile> whole = MergePlanFiles({{"s", specification}, {"p", plan}});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_THAT(Said(whole->SerializeAsString()),
              HasSubstr("operator 'f' is declared for the plan alone"));
}

TEST(OwnDeclarations, ADeclarationOfTheSpecificationIsNotReplaced) {
  const absl::Status status =
      Read(Specification(kTwice, "f"), Plan(R"("operators": "op f(x) -> y = 3 * x",)", "f"))
          .status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("plan.json/operators:1:1: operator 'f' is already declared at "
                        "spec.json/operators:1:1"));
}

}  // namespace
}  // namespace planproof::plan
