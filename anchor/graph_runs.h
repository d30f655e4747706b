// Runs a graph on the numbers that were recorded before the step, which tells what rounding makes
// of its results.
//
// The graph is run by the executor of runtime_check in float64. A program rounds each of its
// results to a narrower type, so the graph is run again with what each operator computes, and what
// the program read from parameters, inputs and states, changed by one spacing of its type up or
// down at random (the idea of Monte Carlo arithmetic: D. S. Parker, UCLA CSD-970002): how much that
// changes a tensor is what rounding does to it. What an operator moves, chooses or compares is not
// rounded.
#ifndef PLANPROOF_ANCHOR_GRAPH_RUNS_H_
#define PLANPROOF_ANCHOR_GRAPH_RUNS_H_

#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime_check/executor.h"
#include "runtime_check/values.h"
#include "sdfg/graph.h"

namespace planproof::anchor {

// The values with which a run of a graph begins.
struct InitialValues {
  // Values by tensor; empty but for those that nothing computes.
  std::vector<runtime_check::Values> tensors;
  // Values that stand instead of what operators make: memory that nobody wrote, indices that were
  // chosen, and what Python's functions gave, which rounding may not change.
  std::map<sdfg::TensorId, runtime_check::Values> instead;
};

// One tensor of the graph as it was computed.
struct ComputedTensor {
  sdfg::DType dtype = sdfg::DType::kUnknown;
  runtime_check::Values values;
  std::vector<double> changes;  // mean squares by element; 0 without perturbed runs
};
using ComputedTensors = std::map<sdfg::TensorId, ComputedTensor>;

struct RunLimits {
  double elements = 0x1p25;  // of all tensors of the graph
  double work = 1e9;         // lane operations of one run: about a second
  int samples = 3;           // perturbed runs
};

// Runs one graph, once as it is and some times with perturbed numbers.
class GraphRuns {
 public:
  // The graph and the limits outlive the runs.
  GraphRuns(const sdfg::Graph& graph, const RunLimits& limits) : graph_(graph), limits_(limits) {}

  // Checks that the graph can be run: ResourceExhausted beyond the limits, Unimplemented for what
  // the executor cannot run.
  absl::Status CheckCost();
  // Computes the tensors of `wanted` from these values, with changes if `perturbed`.
  // FailedPrecondition if the graph has no value from them: something is read outside of a tensor.
  absl::StatusOr<ComputedTensors> Run(const InitialValues& initial,
                                      const std::vector<sdfg::TensorId>& wanted, bool perturbed);

 private:
  absl::StatusOr<std::vector<runtime_check::Values>> RunOnce(const InitialValues& initial,
                                                             const std::vector<bool>& keep,
                                                             uint64_t seed);
  bool IsRounded(sdfg::TensorId tensor);

  const sdfg::Graph& graph_;
  const RunLimits& limits_;
  runtime_check::Programs programs_;
};

}  // namespace planproof::anchor

#endif  // PLANPROOF_ANCHOR_GRAPH_RUNS_H_
