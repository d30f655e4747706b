// Finds where, on the way from the inputs, numbers of the plan first leave what their lineages say.
#ifndef PLANPROOF_SHAPE_REDUCTION_FIRST_DEVIATION_H_
#define PLANPROOF_SHAPE_REDUCTION_FIRST_DEVIATION_H_

#include <vector>

#include "shape_reduction/problem_evaluation.h"
#include "shape_reduction/witness.h"

namespace planproof::shape_reduction {

// Evaluates on these inputs and compares every parallel tensor with its entry in `lineage` (kind
// kFull) in topological order. `limits` says how large the evaluation may be and until when, and
// with `cone_of` which part of the parallel graph matters.
Deviation FirstDeviation(const lineage::Problem& problem,
                         const std::vector<lineage::Lineage>& lineage,
                         const std::vector<BlockTensorPtr<double>>& inputs, ReducedOptions limits,
                         double tolerance, ProgramCache* programs);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_FIRST_DEVIATION_H_
