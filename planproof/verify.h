// Decides a problem.
#ifndef PLANPROOF_PLANPROOF_VERIFY_H_
#define PLANPROOF_PLANPROOF_VERIFY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planproof/load.h"
#include "planproof/options.h"
#include "planproof/result.h"

namespace planproof {

// What was read of PyTorch traces is compared with their recorded numbers first (docs/anchor.md):
// the files of values are read again. Forks worker processes, which end before it returns: call it
// where a process may fork.
Result Verify(const Problem& problem, const VerifyOptions& options = {});

// Loads and verifies; an error that is about the plan becomes its verdict, others (IsUsageError,
// Internal) are returned.
absl::StatusOr<Result> VerifyFiles(const std::vector<std::string>& files,
                                   const LoadOptions& load = {}, const VerifyOptions& options = {});

}  // namespace planproof

#endif  // PLANPROOF_PLANPROOF_VERIFY_H_
