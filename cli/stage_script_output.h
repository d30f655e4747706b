// Writes the stage that is wrong as a script for NumPy (--witness-out NAME.npz).
#ifndef PLANPROOF_CLI_STAGE_SCRIPT_OUTPUT_H_
#define PLANPROOF_CLI_STAGE_SCRIPT_OUTPUT_H_

#include <string>

#include "absl/status/status.h"
#include "lineage/lineage.h"
#include "stages/result.h"

namespace planproof::cli {

// Writes the first stage that is wrong to NAME.npz (`path`) and NAME.py. Unavailable: a file cannot
// be written; any other error: of this plan there can be no script. `result` has a witness.
absl::Status WriteStageScript(const std::string& path, const lineage::Problem& problem,
                              const stages::Result& result);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_STAGE_SCRIPT_OUTPUT_H_
