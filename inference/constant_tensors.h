// Finds logical tensors that are constants, whatever they are computed from.
#ifndef PLANPROOF_INFERENCE_CONSTANT_TENSORS_H_
#define PLANPROOF_INFERENCE_CONSTANT_TENSORS_H_

#include <vector>

#include "lineage/lineage.h"

namespace planproof::inference {

// By logical tensor: whether each element is the same number for all inputs, as what a weight makes
// of the zeros is in which a recurrent cell begins. Seen operator by operator; what is not seen is
// false.
std::vector<bool> ConstantTensors(const lineage::Problem& problem);

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_CONSTANT_TENSORS_H_
