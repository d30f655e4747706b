// Checks that chosen inputs lie in the domain that the specification declares.
#ifndef PLANPROOF_SHAPE_REDUCTION_INPUT_PREMISES_H_
#define PLANPROOF_SHAPE_REDUCTION_INPUT_PREMISES_H_

#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

// The first declared premise that the inputs do not meet, in words; empty if they meet all. Inputs
// are chosen to meet each premise by itself, but premises on one input may contradict each other.
std::string UnmetPremise(const lineage::Problem& problem,
                         const std::vector<BlockTensorPtr<double>>& inputs);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_INPUT_PREMISES_H_
