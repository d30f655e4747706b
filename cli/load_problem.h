// From files to a verification problem: which reader a file needs, and what a reader's error means.
#ifndef PLANPROOF_CLI_LOAD_PROBLEM_H_
#define PLANPROOF_CLI_LOAD_PROBLEM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "sdfg/operator_library.h"
#include "stages/result.h"

namespace planproof::cli {

enum class FileFormat : uint8_t {
  kUnknown,
  kPickle,      // nnScaler's Python pickle
  kPlanJson,    // plan format, JSON form
  kPlanBinary,  // plan format, protobuf form
};

// By the first bytes, never by the name. Errors: NotFound or PermissionDenied with the path.
absl::StatusOr<FileFormat> DetectFormat(const std::string& path);

struct LoadOptions {
  std::string operators_file;       // a user's declarations; empty: none
  bool collective_by_rank = false;  // pieces follow the position in the group, not the index map
};

// Reads one file that holds both sides, or a logical and a parallel file.
absl::StatusOr<lineage::Problem> LoadProblem(const std::vector<std::string>& files,
                                             const LoadOptions& options);

// The built-in operators and those of `file` (empty: none).
absl::StatusOr<sdfg::OperatorLibrary> LoadOperators(const std::string& file);

// What an error of a reader says about the plan: an undeclared operator or an exhausted budget
// leaves it UNKNOWN, everything else that input can cause makes it MALFORMED.
stages::Result ResultOfReaderError(const absl::Status& error,
                                   const std::vector<std::string>& files);

// An error that is about the command line and not about a plan.
absl::Status UsageError(absl::StatusCode code, const std::string& message);
// True for errors that are about the command line (a file that does not exist) and not about a
// plan.
bool IsUsageError(const absl::Status& error);
// True for errors that only a mistake in this program can cause.
bool IsInternalError(const absl::Status& error);

// Whole file; NotFound, PermissionDenied, InvalidArgument (a directory) or ResourceExhausted
// (larger than `most_bytes`) as usage errors.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path,
                                          int64_t most_bytes = int64_t{1} << 30);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_LOAD_PROBLEM_H_
