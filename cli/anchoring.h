// Compares the numbers that were recorded of a program, and applies the outcome to its verdict.
#ifndef PLANPROOF_CLI_ANCHORING_H_
#define PLANPROOF_CLI_ANCHORING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "frontend/recording.h"
#include "lineage/lineage.h"
#include "lineage/sampled_inputs.h"
#include "stages/anchor_comparison.h"
#include "stages/result.h"

namespace planproof::cli {

// anchor::CompareRecording, anchor::RecordedSample and anchor::ApplyAnchor; the prover alone reads
// no recorded programs.
absl::StatusOr<stages::AnchorComparison> CompareRecording(const frontend::Recording& recording,
                                                          const lineage::Problem* problem);
std::shared_ptr<const lineage::SampledInputs> RecordedSample(const frontend::Recording& recording,
                                                             const lineage::Problem& problem);
void ApplyAnchor(stages::AnchorComparison comparison, bool require, stages::Result* result);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_ANCHORING_H_
