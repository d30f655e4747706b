#include "cli/readers.h"

namespace planproof::cli {

absl::StatusOr<lineage::Problem> ReadNnscalerPair(const std::string& logical,
                                                  const std::string& parallel,
                                                  const sdfg::OperatorLibrary&, bool) {
  return absl::UnimplementedError(logical + ", " + parallel + ": no reader for pickles yet");
}

absl::StatusOr<lineage::Problem> ReadPlanFiles(const std::vector<std::string>& files,
                                               const sdfg::OperatorLibrary&) {
  return absl::UnimplementedError(files[0] + ": no reader for plan files yet");
}

absl::Status WritePlanFile(const lineage::Problem&, const std::string& path) {
  return absl::UnimplementedError(path + ": no writer for plan files yet");
}

absl::StatusOr<std::string> MutateProblem(lineage::Problem&, const std::string& kind, uint64_t) {
  return absl::UnimplementedError(kind + ": no mutations yet");
}

}  // namespace planproof::cli
