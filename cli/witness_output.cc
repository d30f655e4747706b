#include "cli/witness_output.h"

#include <cstdio>
#include <filesystem>

#include "absl/status/status.h"
#include "cli/stage_script_output.h"
#include "report/text_layout.h"
#include "witness/witness_file.h"

namespace planproof::cli {

bool IsStageScript(const std::string& path) {
  return std::filesystem::path(path).extension() == ".npz";
}

bool WriteWitness(const std::string& path, const lineage::Problem* problem,
                  const stages::Result& result) {
  if (result.witness == nullptr || problem == nullptr) {
    std::fprintf(stderr, "planproof: --witness-out: no counterexample, %s is not written\n",
                 path.c_str());
    return true;
  }
  const absl::Status status = IsStageScript(path) ? WriteStageScript(path, *problem, result)
                                                  : witness::WriteFile(path, *result.witness);
  if (status.ok()) return true;
  // Of a plan for which there can be no script the verdict is still to be printed.
  const bool no_script = IsStageScript(path) && !absl::IsUnavailable(status);
  const std::string why = report::OneLine(std::string(status.message()), 1000);
  std::fprintf(stderr, "planproof: --witness-out %s: %s%s\n", path.c_str(), why.c_str(),
               no_script ? "; it is not written: a name that does not end in .npz takes the inputs "
                           "of a plan of any size"
                         : "");
  return no_script;
}

}  // namespace planproof::cli
