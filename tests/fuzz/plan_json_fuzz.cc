// libFuzzer target: any bytes as a plan file in JSON, read and decided as far as they go. Seeds:
// examples/*.json.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/json_form.h"
#include "frontend/plan/read_plan.h"
#include "tests/fuzz/decide_problem.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  auto file = planproof::plan::ReadJsonForm(content, "fuzz");
  if (!file.ok()) return 0;
  std::vector<std::pair<std::string, planproof::plan::PlanFile>> files;
  files.emplace_back("fuzz", *std::move(file));
  const auto problem =
      planproof::plan::BuildProblemFromFiles(files, planproof::sdfg::OperatorLibrary::BuiltIn());
  if (problem.ok()) planproof::fuzz::DecideProblem(*problem);
  return 0;
}
