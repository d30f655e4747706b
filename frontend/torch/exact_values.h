// Computes exact values of index functions from operands whose numbers are known.
//
// What a program computes from its constants alone is a number: how many labels a mask lets count,
// a clamped divisor. So is what it computes from the experts that a router chose: counts, orders,
// offsets. Values are rational, truth values are 0 and 1; what is not rational (an exponential, a
// root), what has no value (a quotient by 0, a fraction that is read as an integer) and what nobody
// knows (minus infinity, an opaque function other than the places of a sorted row) ends the
// evaluation without a result.
#ifndef PLANPROOF_FRONTEND_TORCH_EXACT_VALUES_H_
#define PLANPROOF_FRONTEND_TORCH_EXACT_VALUES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sdfg/index_function.h"
#include "solver/rational.h"

namespace planproof::frontend::torch {

// Elements of a tensor in row-major order; integers and truth values are numbers, too.
using ExactElements = std::vector<solver::Rational>;

// The elements of one output, where all premises of the function hold. `inputs` has the elements of
// every input; one that is null is not known, and what reads it is not, either. `work` is how many
// expressions may be evaluated, and what is left of that afterwards.
std::optional<ExactElements> EvaluateExactly(const sdfg::IndexFunction& function, int output,
                                             const std::vector<const ExactElements*>& inputs,
                                             int64_t* work);

// Whether all premises of the function hold at all indices. False where that is not known.
bool PremisesHoldExactly(const sdfg::IndexFunction& function,
                         const std::vector<const ExactElements*>& inputs, int64_t* work);

// What an operation of arithmetic, comparison or logic gives of these values.
std::optional<solver::Rational> ExactResult(const sdfg::Node& node,
                                            const std::vector<solver::Rational>& args);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_EXACT_VALUES_H_
