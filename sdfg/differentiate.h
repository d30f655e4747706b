// Reverse-mode differentiation of an index function.
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
// `output_gradients`, shaped as that output) and one output per entry of `wrt`: the gradient of
// that input, shaped as the input: d_x[i] = sum over outputs o and their indices of (d y_o / d
// x[i]) * d_y_o. Outputs not listed in `output_gradients` have zero gradient. Reads at index
// expressions that are distinct plain variables are inverted by renaming, others by Kronecker
// indicators (kIntEq) under a sum; bodies stay as small as the forward's. Outputs with
// stop_gradient give nothing. Premises of `function` are not repeated. Errors: InvalidArgument for
// an integer input or output or a repeated number, FailedPrecondition if a tie rule is needed and
// none is declared, Unimplemented if a node has no derivative (an opaque function of a real
// argument with nonzero gradient).
absl::StatusOr<IndexFunction> Differentiate(const IndexFunction& function,
                                            const std::vector<int>& wrt,
                                            const std::vector<int>& output_gradients);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DIFFERENTIATE_H_
