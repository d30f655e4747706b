#include "tests/soundness_cases/manifest.h"

#include <fstream>

#include "nlohmann/json.hpp"

namespace planproof::soundness {

std::string CasesDirectory() {
  return std::string(PLANPROOF_SOURCE_DIR) + "/tests/soundness_cases";
}

namespace {

std::vector<Case> ParseManifest() {
  std::ifstream stream(CasesDirectory() + "/manifest.json");
  std::vector<Case> cases;
  for (const nlohmann::json& entry : nlohmann::json::parse(stream)) {
    Case added;
    added.file = entry.at("file");
    added.row = entry.at("row");
    added.verdicts = entry.at("verdict").get<std::vector<std::string>>();
    added.premises = entry.at("premises").get<std::vector<std::string>>();
    added.catches = entry.at("catches");
    added.judge = entry.at("judge");
    cases.push_back(std::move(added));
  }
  return cases;
}

}  // namespace

const std::vector<Case>& ReadManifest() {
  static const std::vector<Case> cases = ParseManifest();
  return cases;
}

}  // namespace planproof::soundness
