#include "cli/anchoring.h"

#include <utility>

#include "anchor/anchor.h"
#include "anchor/recorded_sample.h"
#include "anchor/withdrawal.h"

namespace planproof::cli {

absl::StatusOr<anchor::AnchorComparison> CompareRecording(const frontend::Recording& recording,
                                                          const lineage::Problem* problem) {
  return anchor::CompareRecording(recording, problem);
}

std::shared_ptr<const lineage::SampledInputs> RecordedSample(const frontend::Recording& recording,
                                                             const lineage::Problem& problem) {
  return anchor::RecordedSample(recording, problem);
}

void ApplyAnchor(anchor::AnchorComparison comparison, bool require, stages::Result* result) {
  anchor::ApplyAnchor(std::move(comparison), require, result);
}

}  // namespace planproof::cli
