// Compares what ranks recorded as results with what the reference recorded, by the required
// relations.
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

// The results that runs of the graphs give, and what rounding makes of them (graph_runs.h). Without
// them, half of the digits of a result's type are expected to agree, and what a step updates within
// some steps.
struct ExpectedResults {
  ComputedTensors reference, ranks;  // by tensor of the graph, with changes
  // The results of the reference's graph from what the ranks held before the recorded step, where
  // rounding in earlier steps had made that another; empty if ranks held the same.
  ComputedTensors from_ranks;
};

struct ResultComparison {
  int64_t compared = 0;
  double error = 0;  // the largest relative difference of those that agree
  std::string most;  // where that is
  std::vector<stages::RecordedDifference> differences;  // outputs first, then gradients
};

// Compares the results of all ranks. `expected` may be null. Errors are those of RecordedValues.
absl::StatusOr<ResultComparison> CompareResults(const frontend::Recording& recording,
                                                const lineage::Problem& problem,
                                                const ExpectedResults* expected,
                                                RecordedFiles* files);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_RESULT_COMPARISON_H_
