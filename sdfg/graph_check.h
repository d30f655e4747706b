// Checks the rules that make a graph a graph; Graph::Check applies all of them.
#ifndef PLANPROOF_SDFG_GRAPH_CHECK_H_
#define PLANPROOF_SDFG_GRAPH_CHECK_H_

#include <vector>

#include "absl/status/status.h"
#include "sdfg/graph.h"

namespace planproof::sdfg {

// Axes exist, ascend and give the leading extents; extents and element counts are in range.
absl::Status CheckTensors(const Graph& graph);

// Every operand exists; every tensor without the role of an input has exactly one producer, and
// inputs have none.
absl::Status CheckSingleAssignment(const Graph& graph);

// Operands fit the operator's function: number, shapes, axes. Operands must exist.
absl::Status CheckOperator(const Graph& graph, OperatorId id);

// Operators so that producers precede consumers, otherwise in their present order. The error lists
// the operators of a cycle.
absl::Status TopologicalOrder(const Graph& graph, std::vector<OperatorId>* order);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_GRAPH_CHECK_H_
