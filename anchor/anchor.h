// Compares what was read of a recorded program with the numbers that were recorded of it.
//
// There are three comparisons: what ranks hold with what they are said to hold (held_comparison.h),
// ranks' results with the reference's (result_comparison.h), and what the graphs compute with what
// the programs were recorded to compute (translation_comparison.h). docs/anchor.md says what each
// is good for and what remains to be trusted.
#ifndef PLANPROOF_ANCHOR_ANCHOR_H_
#define PLANPROOF_ANCHOR_ANCHOR_H_

#include "absl/status/statusor.h"
#include "anchor/anchor_comparison.h"
#include "anchor/graph_runs.h"
#include "frontend/recording.h"
#include "lineage/lineage.h"

namespace planproof::anchor {

// Makes all comparisons that can be made. `problem` is what was read, as the reader emits it, or
// null where that failed: then relations alone are compared, if the recording has them.
// InvalidArgument if files of values are damaged, or not those of their traces; whatever else keeps
// a comparison from being made is an outcome.
absl::StatusOr<anchor::AnchorComparison> CompareRecording(const frontend::Recording& recording,
                                                          const lineage::Problem* problem,
                                                          const RunLimits& limits = {});

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_ANCHOR_H_
