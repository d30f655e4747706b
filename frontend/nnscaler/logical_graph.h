// Builds the logical graph from the single-device plan.
//
// Only its dataflow counts, not its order: a gradient that is written several times is the sum of
// all writes wherever it is read.
#ifndef PLANPROOF_FRONTEND_NNSCALER_LOGICAL_GRAPH_H_
#define PLANPROOF_FRONTEND_NNSCALER_LOGICAL_GRAPH_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/nnscaler/plan_objects.h"
#include "sdfg/graph.h"
#include "sdfg/operator_library.h"

namespace planproof::frontend::nnscaler {

struct LogicalGraph {
  sdfg::Graph graph;
  // Per full tensor of the plan: its value, or its whole gradient; kNone if nothing computes it.
  std::vector<sdfg::TensorId> tensor_of_full;
  int loss = kNoIndex;    // full tensor
  int summed = kNoIndex;  // full tensor whose plain sum the loss is
  std::set<std::string> assumptions;
};

absl::StatusOr<LogicalGraph> BuildLogicalGraph(const Plan& plan,
                                               const sdfg::OperatorLibrary& operators);

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_LOGICAL_GRAPH_H_
