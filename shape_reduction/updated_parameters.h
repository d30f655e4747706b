// Finds the parameters of a model that does not say which of its inputs are parameters.
#ifndef PLANPROOF_SHAPE_REDUCTION_UPDATED_PARAMETERS_H_
#define PLANPROOF_SHAPE_REDUCTION_UPDATED_PARAMETERS_H_

#include <optional>

#include "lineage/lineage.h"

namespace planproof::shape_reduction {

// The problem with the role of a parameter for those real inputs of the model of which a required
// output is the new value: it has their shape and is computed from them directly. Nothing if the
// model names parameters itself, or updates none. For choices of inputs alone, which may be any.
std::optional<lineage::Problem> WithUpdatedParameters(const lineage::Problem& problem);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_UPDATED_PARAMETERS_H_
