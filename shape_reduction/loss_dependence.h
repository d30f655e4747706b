// Finds the tensors of a graph that belong to the backward pass.
#ifndef PLANPROOF_SHAPE_REDUCTION_LOSS_DEPENDENCE_H_
#define PLANPROOF_SHAPE_REDUCTION_LOSS_DEPENDENCE_H_

#include <vector>

#include "sdfg/graph.h"

namespace planproof::shape_reduction {

// By tensor: 1 if it is computed from the gradient of the loss.
std::vector<char> DependOnLoss(const sdfg::Graph& graph);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_LOSS_DEPENDENCE_H_
