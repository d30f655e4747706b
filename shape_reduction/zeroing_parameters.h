// Finds parameters of a graph whose zeros make a tensor zero.
#ifndef PLANPROOF_SHAPE_REDUCTION_ZEROING_PARAMETERS_H_
#define PLANPROOF_SHAPE_REDUCTION_ZEROING_PARAMETERS_H_

#include <optional>
#include <set>

#include "sdfg/graph.h"

namespace planproof::shape_reduction {

struct ZeroingParameters {
  std::set<sdfg::TensorId> outer;  // the tensor is zero if these are
  std::set<sdfg::TensorId> inner;  // and their gradients are, too, if these are as well
};

// Of the last parameters on the way to the tensor: a bias that is added and the weight of the
// linear operator before it, say. Nothing where some other summand is not zero with any parameter.
std::optional<ZeroingParameters> FindZeroingParameters(const sdfg::Graph& graph,
                                                       sdfg::TensorId tensor);

// Whether output 0 of the operator is zero wherever its input `input` is.
bool VanishesWith(const sdfg::Operator& op, size_t input);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_ZEROING_PARAMETERS_H_
