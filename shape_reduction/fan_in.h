// Counts how many elements of a tensor a contraction adds up.
#ifndef PLANPROOF_SHAPE_REDUCTION_FAN_IN_H_
#define PLANPROOF_SHAPE_REDUCTION_FAN_IN_H_

#include <vector>

#include "sdfg/graph.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

// By tensor: the most of its elements that one contraction of the forward pass sums; 1 where none
// does. An embedding that is tied to the head is looked up, and contracted.
std::vector<double> FanIns(const sdfg::Graph& graph, ProgramCache* programs);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_FAN_IN_H_
