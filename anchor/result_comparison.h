// What ranks recorded as results against what the reference recorded, by the required relations.
#ifndef PLANPROOF_ANCHOR_RESULT_COMPARISON_H_
#define PLANPROOF_ANCHOR_RESULT_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "anchor/graph_runs.h"
#include "anchor/initial_values.h"
#include "frontend/recording.h"
#include "lineage/lineage.h"
#include "stages/anchor_report.h"

namespace planproof::anchor {

// What is known of rounding: from runs of the graphs (graph_runs.h). Without, half of the digits of
// a result's type are expected to agree, and what a step updates within some steps.
struct ExpectedResults {
  ComputedTensors reference, ranks;  // by tensor of the graph, with changes
  // What the reference's graph gives from what the ranks held before the recorded step, which
  // rounding in earlier steps made another; empty: ranks held the same.
  ComputedTensors from_ranks;
};

struct ResultComparison {
  int64_t compared = 0;
  double error = 0;  // the largest relative difference of those that agree
  std::string most;  // where that is
  std::vector<stages::RecordedDifference> differences;  // outputs first, then gradients
};

// `expected` may be null. Errors as those of RecordedValues.
absl::StatusOr<ResultComparison> CompareResults(const frontend::Recording& recording,
                                                const lineage::Problem& problem,
                                                const ExpectedResults* expected,
                                                RecordedFiles* files);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_RESULT_COMPARISON_H_
