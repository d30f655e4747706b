// Adds an operator of the library to a graph, as most lines of most formats ask for.
#ifndef PLANPROOF_SDFG_APPLY_OPERATOR_H_
#define PLANPROOF_SDFG_APPLY_OPERATOR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/graph.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {

// The first output of operator `name` on these tensors, as a new tensor `output` of the graph. It
// varies over the axes over which any of the inputs varies. Errors are those of
// OperatorLibrary::Instantiate.
absl::StatusOr<TensorId> ApplyOperator(Graph* graph, const OperatorLibrary& library,
                                       const std::string& name, const std::vector<TensorId>& inputs,
                                       const Attributes& attributes, const std::string& output);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_APPLY_OPERATOR_H_
