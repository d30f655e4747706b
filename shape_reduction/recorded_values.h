// Holds inputs of the model whose elements are known: constants of a recorded program, and what it
// was run on.
#ifndef PLANPROOF_SHAPE_REDUCTION_RECORDED_VALUES_H_
#define PLANPROOF_SHAPE_REDUCTION_RECORDED_VALUES_H_

#include <optional>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/block_tensor.h"
#include "shape_reduction/reduced_evaluator.h"

namespace planproof::shape_reduction {

// The recorded elements, each a block of its own; null if none are recorded.
BlockTensorPtr<double> RecordedTensor(const lineage::Problem& problem, sdfg::TensorId tensor);

// The inputs on which the model was run, one value per logical tensor without producer and null for
// all others; constants of the recording as they were recorded. Nothing where there are none, an
// input is missing, has another number of elements than its tensor, or a fraction where its type
// has whole numbers.
std::optional<std::vector<BlockTensorPtr<double>>> SampledInputsOf(const lineage::Problem& problem);

// Whether these are exactly the recorded elements, or none are recorded.
bool AreAsRecorded(const lineage::Problem& problem, sdfg::TensorId tensor,
                   const BlockTensor<double>& values);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_RECORDED_VALUES_H_
