// Differentiates an index function in reverse mode.
//
// The vector-Jacobian product of y = f(x) is derived from f's expression: no backward operator is
// written by hand. Differentiation happens at the original shapes, before any shape reduction.
#ifndef PLANPROOF_SDFG_DIFFERENTIATE_H_
#define PLANPROOF_SDFG_DIFFERENTIATE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/index_function.h"

namespace planproof::sdfg {

// The constant 2 / sqrt(pi) in the derivative of erf, an opaque function without arguments: no
// rational number is equal to it. Numeric evaluators know its value, provers treat it as a symbol.
inline constexpr char kTwoOverSqrtPi[] = "two_over_sqrt_pi";

// Returns g with inputs (all inputs of `function` in order, then one gradient per entry of
// `output_gradients`, shaped as that output) and one output per entry of `wrt`, shaped as that
// input:
//   d_x[i] = sum over the listed outputs y and their indices o of (d y[o] / d x[i]) * d_y[o].
// Outputs that are not listed, and those with stop_gradient, have gradient zero.
//
// Where the indices of a read determine variables (renamings, shifts, digits of split and merged
// dimensions), the derivative reads at the inverted index; what they leave open is summed over,
// with Kronecker indicators (kIntEq) where an index cannot be inverted. So bodies stay about as
// small as the forward's. Premises of `function` are not repeated.
//
// Errors: InvalidArgument for a number that does not exist or is repeated and for integer inputs
// and outputs, FailedPrecondition if a tie rule is needed and none is declared, Unimplemented if a
// node has no derivative (an opaque function of a real argument with nonzero gradient).
absl::StatusOr<IndexFunction> Differentiate(const IndexFunction& function,
                                            const std::vector<int>& wrt,
                                            const std::vector<int>& output_gradients);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DIFFERENTIATE_H_
