// Evaluates index functions and graphs on full shapes, in double precision.
//
// It does what the definition says, element by element, and is the yardstick of tests: for
// derivatives, for collectives, for whole small plans. It decides nothing by itself.
#ifndef PLANPROOF_SDFG_DENSE_EVALUATOR_H_
#define PLANPROOF_SDFG_DENSE_EVALUATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/graph.h"
#include "sdfg/index_function.h"

namespace planproof::sdfg {

// Row-major; integers and booleans are stored as numbers.
struct DenseTensor {
  Shape shape;
  std::vector<double> data;
};

// Product of the extents.
int64_t ElementCount(const Shape& shape);

// One application of an opaque function: `row` holds args[0] at every value of the row variable
// (empty if there is none), `scalars` the other arguments.
struct OpaqueCall {
  const std::string& name;
  bool int_valued;
  const std::vector<double>& row;
  const std::vector<double>& scalars;
};
// Not called for the constant kTwoOverSqrtPi (differentiate.h), whose value is known.
using OpaqueFunction = std::function<absl::StatusOr<double>(const OpaqueCall&)>;

// A stand-in for any opaque function: a hash of name, row and scalars in (0, 1), or in
// [0, row length) if it is integer-valued. Equal calls give equal values.
absl::StatusOr<double> HashedOpaque(const OpaqueCall& call);

// The outputs of the function, in order. InvalidArgument if the inputs do not fit or an index is
// out of range, ResourceExhausted if an output is too large or an expression too deep.
absl::StatusOr<std::vector<DenseTensor>> EvaluateDense(const IndexFunction& function,
                                                       const std::vector<DenseTensor>& inputs,
                                                       const OpaqueFunction& opaque = HashedOpaque);

// All tensors of a graph that has passed Check, by id. `inputs` gives the tensors without producer;
// those with the roles kOne and kZero may be left out. Lifted operators are applied at every
// coordinate.
absl::StatusOr<std::vector<DenseTensor>> EvaluateDenseGraph(
    const Graph& graph, const std::map<TensorId, DenseTensor>& inputs,
    const OpaqueFunction& opaque = HashedOpaque);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DENSE_EVALUATOR_H_
