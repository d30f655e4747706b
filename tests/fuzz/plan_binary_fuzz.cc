// libFuzzer target: any bytes as a plan file in the binary form, programs and raw problems, read
// and decided as far as they go. Seeds: the examples, as plan_json_fuzz reads them, and as
// `planproof convert` writes them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/read_plan.h"
#include "tests/fuzz/decide_problem.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  if (content.find('{') == 0) return 0;
  auto file = planproof::plan::ParsePlanFile(content, "fuzz");
  if (!file.ok()) return 0;
  std::vector<std::pair<std::string, planproof::plan::PlanFile>> files;
  files.emplace_back("fuzz", *std::move(file));
  const auto problem =
      planproof::plan::BuildProblemFromFiles(files, planproof::sdfg::OperatorLibrary::BuiltIn());
  if (problem.ok()) planproof::fuzz::DecideProblem(*problem);
  return 0;
}
