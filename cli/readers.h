// The readers of frontend/, each behind one signature.
#ifndef PLANPROOF_CLI_READERS_H_
#define PLANPROOF_CLI_READERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "sdfg/operator_library.h"

namespace planproof::cli {

// A logical and a parallel pickle.
absl::StatusOr<lineage::Problem> ReadNnscalerPair(const std::string& logical,
                                                  const std::string& parallel,
                                                  const sdfg::OperatorLibrary& operators,
                                                  bool collective_by_rank);

// One file with specification and plan, or two files with one of them each.
absl::StatusOr<lineage::Problem> ReadPlanFiles(const std::vector<std::string>& files,
                                               const sdfg::OperatorLibrary& operators);

// Plan files as JSON that a person can read: one file with the roles that they have. Files with a
// raw problem have no such form (a usage error, as is what JSON has no words for).
absl::StatusOr<std::string> ReadableForm(const std::vector<std::string>& files);

// Writes a problem in plan format: JSON if the path ends in ".json", else binary.
absl::Status WritePlanFile(const lineage::Problem& problem, const std::string& path);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_READERS_H_
