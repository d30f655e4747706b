// What the graphs of a recorded program begin with, from the recorded bytes.
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

// Errors of all of these: NotFound for what was not recorded, InvalidArgument for what is damaged.

// Of the model's graph.
absl::StatusOr<InitialValues> InitialOfReference(const frontend::Recording& recording,
                                                 const sdfg::Graph& graph, RecordedFiles* files);
// Of the ranks' graph.
absl::StatusOr<InitialValues> InitialOfRanks(const frontend::Recording& recording,
                                             const sdfg::Graph& graph, RecordedFiles* files);
// The model's graph on what the ranks held, put together by its relations, where that is not what
// the reference held; else nothing. Whole numbers and truth values stay the reference's.
absl::StatusOr<std::optional<InitialValues>> InitialFromRanks(const lineage::Problem& problem,
                                                              const InitialValues& reference,
                                                              const InitialValues& ranks);

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_INITIAL_VALUES_H_
