// Compares recorded numbers before it is known what is proved or refuted of the graphs.
#ifndef PLANPROOF_STAGES_ANCHOR_COMPARISON_H_
#define PLANPROOF_STAGES_ANCHOR_COMPARISON_H_

#include "stages/anchor_report.h"

namespace planproof::stages {

struct AnchorComparison {
  AnchorReport report;
  // AnchorOutcome::kHeldDiffers: all differences are in states that earlier steps have made, and
  // the graphs compute what was recorded, as far as they could be run. So a fault of the graphs may
  // be the cause.
  bool may_follow_from_graphs = false;

  // Whether the recorded numbers alone decide, whatever is proved or refuted of the graphs.
  bool DecidesAlone() const {
    return report.outcome == AnchorOutcome::kHeldDiffers && !may_follow_from_graphs;
  }
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_ANCHOR_COMPARISON_H_
