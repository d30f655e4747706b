// Builds the backward graph of a scalar, by reverse mode over a graph's operators.
//
// Each operator's vector-Jacobian product is derived from its function (sdfg/differentiate.h); a
// tensor with several consumers gets the sum of their contributions. No backward operator is
// written by hand.
#ifndef PLANPROOF_SDFG_REVERSE_MODE_H_
#define PLANPROOF_SDFG_REVERSE_MODE_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "sdfg/graph.h"

namespace planproof::sdfg {

// Adds to `graph`, whose operators stand in topological order, the gradient of the sum of `loss`'s
// elements (its seed is a tensor of ones, "grad.LOSS") with respect to each tensor of `of`, named
// "grad.NAME"; contributions to one gradient are "grad.NAME.1", "grad.NAME.2", ... `names` gains
// the new tensors. Errors: InvalidArgument if the loss does not depend on a tensor of `of` or a
// name is taken; those of Differentiate, with the operator's name.
absl::Status AddGradients(Graph* graph, std::unordered_map<std::string, TensorId>* names,
                          TensorId loss, const std::vector<TensorId>& of);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_REVERSE_MODE_H_
