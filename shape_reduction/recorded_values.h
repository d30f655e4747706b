// Inputs of the model whose elements are known, being constants of a recorded program.
#ifndef PLANPROOF_SHAPE_REDUCTION_RECORDED_VALUES_H_
#define PLANPROOF_SHAPE_REDUCTION_RECORDED_VALUES_H_

#include "lineage/lineage.h"
#include "shape_reduction/block_tensor.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

// The recorded elements, each a block of its own; null if none are recorded.
BlockTensorPtr<double> RecordedTensor(const lineage::Problem& problem, sdfg::TensorId tensor);

// Whether these are exactly the recorded elements, or none are recorded.
bool AreAsRecorded(const lineage::Problem& problem, sdfg::TensorId tensor,
                   const BlockTensor<double>& values);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_RECORDED_VALUES_H_
