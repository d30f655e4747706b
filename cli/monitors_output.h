// Handles --monitors-out: exports what was proved of the tensors of a recorded program or of a
// plan.
#ifndef PLANPROOF_CLI_MONITORS_OUTPUT_H_
#define PLANPROOF_CLI_MONITORS_OUTPUT_H_

#include <string>

#include "absl/status/status.h"
#include "frontend/recording.h"
#include "lineage/lineage.h"
#include "stages/result.h"

namespace planproof::cli {

// Writes the monitors of a PROVED problem. FailedPrecondition, with what to do, where there is
// nothing to write; Unavailable if the file cannot be written. `recording` is null of plans.
absl::Status WriteMonitorsOf(const std::string& path, const lineage::Problem& problem,
                             const frontend::Recording* recording, const stages::Result& result,
                             bool force);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_MONITORS_OUTPUT_H_
