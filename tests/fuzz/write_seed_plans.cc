// write_seed_plans json|binary DIR FILE.json...: seeds for plan_json_fuzz and plan_binary_fuzz.
// Each plan as written (binary only) and as the problem that it poses, in the raw form.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/read_plan.h"

namespace {

using namespace planproof;

absl::Status WriteSeeds(bool json, const std::string& directory, const std::string& path) {
  absl::StatusOr<plan::PlanFile> file = plan::ReadPlanFile(path);
  if (!file.ok()) return file.status();
  const std::string out =
      (std::filesystem::path(directory) / std::filesystem::path(path).stem()).string();
  if (!json) std::ofstream(out + ".plan", std::ios::binary) << file->SerializeAsString();
  std::vector<std::pair<std::string, plan::PlanFile>> files;
  files.emplace_back(path, *std::move(file));
  const absl::StatusOr<lineage::Problem> problem =
      plan::BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn());
  if (!problem.ok()) return problem.status();
  return plan::WritePlan(*problem, out + (json ? ".raw.json" : ".raw"),
                         json ? plan::PlanFormat::kJson : plan::PlanFormat::kBinary);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 3; i < argc; ++i) {
    const absl::Status status = WriteSeeds(std::string(argv[1]) == "json", argv[2], argv[i]);
    if (status.ok()) continue;
    std::fprintf(stderr, "write_seed_plans: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return argc > 3 ? 0 : 1;
}
