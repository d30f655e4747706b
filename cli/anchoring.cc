#include "cli/anchoring.h"

#include <utility>

#include "anchor/anchor.h"
#include "anchor/withdrawal.h"

namespace planproof::cli {

absl::StatusOr<stages::AnchorReport> CompareRecording(const frontend::Recording& recording,
                                                      const lineage::Problem* problem) {
  return anchor::CompareRecording(recording, problem);
}

void ApplyAnchor(stages::AnchorReport report, bool require, stages::Result* result) {
  anchor::ApplyAnchor(std::move(report), require, result);
}

}  // namespace planproof::cli
