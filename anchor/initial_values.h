// Makes the values with which the graphs of a recorded program begin, from the recorded bytes.
#ifndef PLANPROOF_ANCHOR_INITIAL_VALUES_H_
#define PLANPROOF_ANCHOR_INITIAL_VALUES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "anchor/graph_runs.h"
#include "anchor/recorded_values.h"
#include "frontend/recording.h"
#include "lineage/lineage.h"

namespace planproof::anchor {

// The files of values of a recording, in the order of its programs.
struct RecordedFiles {
  RecordedValues reference;
  std::vector<RecordedValues> ranks;
};

// All of these return NotFound for what was not recorded, and InvalidArgument for what is damaged.

// Returns the values with which the model's graph begins.
absl::StatusOr<InitialValues> InitialOfReference(const frontend::Recording& recording,
                                                 const sdfg::Graph& graph, RecordedFiles* files);
// Returns the values with which the ranks' graph begins.
absl::StatusOr<InitialValues> InitialOfRanks(const frontend::Recording& recording,
                                             const sdfg::Graph& graph, RecordedFiles* files);
// Returns the values with which the model's graph begins if it takes what the ranks held, put
// together by its relations; nothing if that is what the reference held. Whole numbers and truth
// values stay the reference's.
absl::StatusOr<std::optional<InitialValues>> InitialFromRanks(const lineage::Problem& problem,
                                                              const InitialValues& reference,
                                                              const InitialValues& ranks);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_INITIAL_VALUES_H_
