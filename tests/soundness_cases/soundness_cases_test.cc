// Every row of the soundness cases has the verdict that is true at full size.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "frontend/plan/read_plan.h"
#include "solver/z3_solver.h"
#include "strategy/verify.h"
#include "tests/soundness_cases/manifest.h"
#include "tests/soundness_cases/numeric_judge.h"

namespace planproof::soundness {
namespace {

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " or ") + part;
  return text;
}

bool Allows(const Case& item, const std::string& verdict) {
  return std::find(item.verdicts.begin(), item.verdicts.end(), verdict) != item.verdicts.end();
}

absl::StatusOr<lineage::Problem> Read(const Case& item) {
  return plan::ReadPlan({CasesDirectory() + "/cases/" + item.file},
                        sdfg::OperatorLibrary::BuiltIn());
}

// The verdict of a file that could not be read into a problem.
std::string VerdictOf(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? "MALFORMED" : "UNKNOWN";
}

class SoundnessCase : public testing::TestWithParam<Case> {};

TEST_P(SoundnessCase, IsReadOrRejectedAsTheRowSays) {
  const absl::StatusOr<lineage::Problem> problem = Read(GetParam());
  if (!problem.ok()) {
    EXPECT_TRUE(Allows(GetParam(), VerdictOf(problem.status()))) << problem.status();
  }
}

// The rows that random inputs decide (the others are about premises, tie rules, literals).
class JudgedSoundnessCase : public testing::TestWithParam<Case> {};

TEST_P(JudgedSoundnessCase, TheRowIsTrueAtFullSize) {
  const absl::StatusOr<lineage::Problem> problem = Read(GetParam());
  if (!problem.ok()) {  // rejected, so that there is nothing to evaluate
    EXPECT_TRUE(Allows(GetParam(), VerdictOf(problem.status()))) << problem.status();
    return;
  }
  const absl::StatusOr<Judgement> judgement = Judge(*problem, 6, 20240607);
  ASSERT_TRUE(judgement.ok()) << judgement.status();
  ASSERT_GT(judgement->samples, 0) << "no finite sample";
  EXPECT_EQ(judgement->equal, Allows(GetParam(), "PROVED")) << judgement->difference;
}

TEST_P(SoundnessCase, HasItsVerdict) {
  const absl::StatusOr<lineage::Problem> problem = Read(GetParam());
  if (!problem.ok()) {
    EXPECT_TRUE(Allows(GetParam(), VerdictOf(problem.status()))) << problem.status();
    return;
  }
  const stages::Result result = strategy::Verify(*problem, stages::VerifyOptions());
  const std::string verdict = stages::VerdictName(result.verdict);
  EXPECT_TRUE(Allows(GetParam(), verdict))
      << verdict << ", expected " << Joined(GetParam().verdicts) << "; catches "
      << GetParam().catches
      << (result.violations.empty() ? std::string() : "\n" + result.violations[0].message);
  if (verdict != "PROVED") return;
  std::vector<std::string> listed = result.premises;
  listed.insert(listed.end(), result.restrictions.begin(), result.restrictions.end());
  listed.insert(listed.end(), result.assumptions.begin(), result.assumptions.end());
  for (const std::string& premise : GetParam().premises) {
    EXPECT_TRUE(std::any_of(
        listed.begin(), listed.end(),
        [&](const std::string& text) { return text.find(premise) != std::string::npos; }))
        << "no premise names \"" << premise << "\"";
  }
}

// Z3 by itself may leave a row open; beside the normal form it changes nothing.
TEST_P(SoundnessCase, HasNoOtherVerdictByZ3) {
  if (!solver::Z3Missing().empty()) GTEST_SKIP() << solver::Z3Missing();
  const absl::StatusOr<lineage::Problem> problem = Read(GetParam());
  if (!problem.ok()) return;
  stages::VerifyOptions options;
  options.stage_timeout_s = 10;
  options.engine = stages::Engine::kSmt;
  const std::string by_z3 = stages::VerdictName(strategy::Verify(*problem, options).verdict);
  EXPECT_TRUE(by_z3 == "UNKNOWN" || Allows(GetParam(), by_z3)) << by_z3;
  options.engine = stages::Engine::kAudit;
  const stages::Result audited = strategy::Verify(*problem, options);
  EXPECT_TRUE(Allows(GetParam(), stages::VerdictName(audited.verdict)))
      << stages::VerdictName(audited.verdict)
      << (audited.violations.empty() ? std::string() : "\n" + audited.violations[0].message);
}

std::vector<Case> JudgedRows() {
  std::vector<Case> rows = ReadManifest();
  rows.erase(std::remove_if(rows.begin(), rows.end(), [](const Case& row) { return !row.judge; }),
             rows.end());
  return rows;
}

std::string RowName(const testing::TestParamInfo<Case>& info) {
  return info.param.file.substr(0, info.param.file.size() - 5);
}

INSTANTIATE_TEST_SUITE_P(Rows, SoundnessCase, testing::ValuesIn(ReadManifest()), RowName);
INSTANTIATE_TEST_SUITE_P(Rows, JudgedSoundnessCase, testing::ValuesIn(JudgedRows()), RowName);

TEST(SoundnessManifest, NamesEveryRowThatPlansExpress) {
  std::set<std::string> rows;
  for (const Case& item : ReadManifest()) rows.insert(item.row);
  for (int i = 1; i <= 21; ++i) {
    if (i == 17) continue;  // needs a dispatch operator
    EXPECT_EQ(rows.count("R" + std::to_string(i)), 1) << i;
  }
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(rows.count("D" + std::to_string(i)), 1) << i;
  for (int i = 1; i <= 9; ++i) EXPECT_EQ(rows.count("A" + std::to_string(i)), 1) << i;
  for (int i : {1, 2, 3, 4, 6, 7, 9, 10}) {  // S5 and S8 are about class keys
    EXPECT_EQ(rows.count("S" + std::to_string(i)), 1) << i;
  }
}

}  // namespace
}  // namespace planproof::soundness
