// libFuzzer target: any bytes as a plan file, read as far as they go.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/read_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  auto file = planproof::plan::ParsePlanFile(content, "fuzz");
  if (!file.ok()) return 0;
  std::vector<std::pair<std::string, planproof::plan::PlanFile>> files;
  files.emplace_back("fuzz", *std::move(file));
  (void)planproof::plan::BuildProblemFromFiles(files, planproof::sdfg::OperatorLibrary::BuiltIn());
  return 0;
}
