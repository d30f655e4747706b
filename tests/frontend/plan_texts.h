// Plans as text, read from memory.
#ifndef PLANPROOF_TESTS_FRONTEND_PLAN_TEXTS_H_
#define PLANPROOF_TESTS_FRONTEND_PLAN_TEXTS_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/read_plan.h"

namespace planproof::plan {

// The problem that files of these contents pose; they are named "plan.json", or as given.
inline absl::StatusOr<lineage::Problem> ReadTexts(
    const std::vector<std::pair<std::string, std::string>>& named) {
  std::vector<std::pair<std::string, PlanFile>> files;
  for (const auto& [name, text] : named) {
    absl::StatusOr<PlanFile> file = ParsePlanFile(text, name);
    if (!file.ok()) return file.status();
    files.emplace_back(name, *std::move(file));
  }
  return BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn());
}

inline absl::StatusOr<lineage::Problem> ReadText(const std::string& text) {
  return ReadTexts({{"plan.json", text}});
}

// The message of the error, or "read".
inline std::string Said(const std::string& text) {
  const absl::StatusOr<lineage::Problem> problem = ReadText(text);
  return problem.ok() ? "read" : std::string(problem.status().message());
}

inline std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace planproof::plan

#endif  // PLANPROOF_TESTS_FRONTEND_PLAN_TEXTS_H_
