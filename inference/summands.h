// Finds tensors that are only added up: partial sums over ranks, gradients of single microbatches.
//
// Most of them are no logical tensor. What they add up to is, and is found by their definitions.
#ifndef PLANPROOF_INFERENCE_SUMMANDS_H_
#define PLANPROOF_INFERENCE_SUMMANDS_H_

#include <vector>

#include "sdfg/graph.h"
#include "stages/cone.h"

namespace planproof::inference {

// By tensor of the parallel graph: it is read, in the cone, and only by operators that reduce over
// ranks, microbatches or another axis.
std::vector<bool> OnlyAddedUp(const sdfg::Graph& parallel, const stages::Cone& cone);

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_SUMMANDS_H_
