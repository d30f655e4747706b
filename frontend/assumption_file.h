// Reads files of approved approximations (docs/assumptions.md), which only the command line names:
// no plan can bring its own.
//
//   {"assumptions": [{"tensor": "layers.*.norm.mean", "stands_for": {"of": "layers.*.norm.mean"},
//                     "reason": "batch statistics per rank"}]}
#ifndef PLANPROOF_FRONTEND_ASSUMPTION_FILE_H_
#define PLANPROOF_FRONTEND_ASSUMPTION_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lineage/assumptions.h"
#include "lineage/lineage.h"

namespace planproof::frontend {

// The assumptions of a file's text about a problem as it was read, one per tensor. Each is one that
// lineage::Assume accepts. Errors, "FILE:LINE: POINTER: what is wrong; what to do":
// InvalidArgument, and ResourceExhausted beyond a limit of this program.
absl::StatusOr<std::vector<lineage::Assumption>> AssumptionsOf(std::string_view text,
                                                               const std::string& file,
                                                               const lineage::Problem& problem);

// The same of a file, of at most 4 MiB; all errors are usage errors.
absl::StatusOr<std::vector<lineage::Assumption>> ReadAssumptions(const std::string& path,
                                                                 const lineage::Problem& problem);

}  // namespace planproof::frontend

#endif  // PLANPROOF_FRONTEND_ASSUMPTION_FILE_H_
