// The key "factor" of a relation: a computed tensor that is a multiple of the model's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/read_plan.h"

namespace planproof::plan {
namespace {

using testing::HasSubstr;

absl::StatusOr<lineage::Problem> ReadWith(const std::string& from, const std::string& to) {
  std::ifstream stream(std::string(PLANPROOF_SOURCE_DIR) + "/examples/first_plan/plan.json");
  std::stringstream content;
  content << stream.rdbuf();
  std::string text = content.str();
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  absl::StatusOr<PlanFile> file = ParsePlanFile(text, "plan.json");
  if (!file.ok()) return file.status();
  std::vector<std::pair<std::string, PlanFile>> files;
  files.emplace_back("plan.json", *std::move(file));
  return BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn());
}

std::string ErrorOf(const std::string& from, const std::string& to) {
  const auto problem = ReadWith(from, to);
  EXPECT_FALSE(problem.ok()) << to;
  return std::string(problem.status().message());
}

constexpr char kLineage[] = R"("grad.y": {}})";

TEST(PlanFactor, NamesAMultipleOfTheLogicalTensor) {
  for (const std::string factor : {"3", "0.5", R"("1/3")", "-2", "1e3"}) {
    const auto problem = ReadWith(kLineage, R"("grad.y": {"factor": )" + factor + "}}");
    ASSERT_TRUE(problem.ok()) << problem.status();
    int multiples = 0;
    for (const lineage::Lineage& lineage : problem->lineage) {
      if (lineage.kind != lineage::LineageKind::kFull) continue;
      const std::string& name = problem->logical.tensors[lineage.logical].name;
      multiples += name.find(" * grad.y") != std::string::npos;
    }
    EXPECT_EQ(multiples, 1) << factor;
  }
}

TEST(PlanFactor, IsANumberOtherThanZero) {
  EXPECT_THAT(ErrorOf(kLineage, R"("grad.y": {"factor": 0}})"), HasSubstr(R"("factor" is 0)"));
  EXPECT_THAT(ErrorOf(kLineage, R"("grad.y": {"factor": "many"}})"), HasSubstr("many"));
  EXPECT_THAT(ErrorOf(kLineage, R"("grad.y": {"factor": true}})"), HasSubstr("factor"));
}

// What a device reads, and what it must deliver, is the specification's business.
TEST(PlanFactor, IsForComputedTensorsOfAPlan) {
  EXPECT_THAT(ErrorOf(R"("t": {}, "grad.loss")", R"("t": {"factor": 2}, "grad.loss")"),
              HasSubstr("t: an input has no factor"));
  EXPECT_THAT(ErrorOf(R"("loss": {}, "grad.w")", R"("loss": {"factor": 2}, "grad.w")"),
              HasSubstr("a required output is the tensor itself, and no multiple of it"));
}

}  // namespace
}  // namespace planproof::plan
