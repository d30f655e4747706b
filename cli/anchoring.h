// Recorded numbers of the programs that `verify` is about.
#ifndef PLANPROOF_CLI_ANCHORING_H_
#define PLANPROOF_CLI_ANCHORING_H_

#include "absl/status/statusor.h"
#include "frontend/recording.h"
#include "lineage/lineage.h"
#include "stages/result.h"

namespace planproof::cli {

// anchor::CompareRecording and anchor::ApplyAnchor; the prover alone reads no recorded programs.
absl::StatusOr<stages::AnchorReport> CompareRecording(const frontend::Recording& recording,
                                                      const lineage::Problem* problem);
void ApplyAnchor(stages::AnchorReport report, bool require, stages::Result* result);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_ANCHORING_H_
