// Makes a verification problem from the names of files: opens them, finds their reader, and calls
// it.
#ifndef PLANPROOF_FRONTEND_LOAD_PROBLEM_H_
#define PLANPROOF_FRONTEND_LOAD_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/reader.h"
#include "lineage/lineage.h"
#include "sdfg/operator_library.h"

namespace planproof::frontend {

struct LoadOptions {
  std::string operators_file;                           // a user's declarations; empty: none
  bool collective_by_rank = false;                      // ReadOptions
  std::vector<std::pair<std::string, int64_t>> extend;  // ReadOptions
  std::optional<Recording>* recording = nullptr;        // ReadOptions
};

// Reads what the files pose together: all of them are of one format. Errors are those of Reader,
// and usage errors.
absl::StatusOr<lineage::Problem> LoadProblem(const std::vector<std::string>& paths,
                                             const LoadOptions& options);

// The file's name and start; a usage error if it cannot be read.
absl::StatusOr<InputFile> OpenInput(const std::string& path);

// The built-in operators and those of `path` (empty: none).
absl::StatusOr<sdfg::OperatorLibrary> LoadOperators(const std::string& path);

// An error that is about what was asked for (a file that does not exist) and not about a plan.
absl::Status UsageError(absl::StatusCode code, const std::string& message);
bool IsUsageError(const absl::Status& error);
// True for errors that only a mistake in this program can cause.
bool IsInternalError(const absl::Status& error);

// Whole file; NotFound, PermissionDenied, InvalidArgument (a directory) or ResourceExhausted
// (larger than `most_bytes`) as usage errors.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path,
                                          int64_t most_bytes = int64_t{1} << 30);

}  // namespace planproof::frontend

#endif  // PLANPROOF_FRONTEND_LOAD_PROBLEM_H_
