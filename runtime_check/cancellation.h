// Tensors in which everything cancels: zero over the real numbers, and rounding in any arithmetic.
//
// Such as the gradient of a bias that shifts all operands of a softmax alike. Their own size says
// nothing about how much rounding may change them; that of the terms of their sums does.
#ifndef PLANPROOF_RUNTIME_CHECK_CANCELLATION_H_
#define PLANPROOF_RUNTIME_CHECK_CANCELLATION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime_check/executor.h"
#include "runtime_check/values.h"
#include "sdfg/graph.h"

namespace planproof::runtime_check {

// By tensor of a graph without coordinates: 0, or, of a tensor in which everything cancels, the
// root mean square of its elements' magnitudes (tracked_number.h). Such a tensor is an operand with
// these magnitudes, any other with that of its elements. `values` are those of a run in float64.
absl::StatusOr<std::vector<double>> CancelledMagnitudes(const sdfg::Graph& graph,
                                                        const std::vector<Values>& values,
                                                        Programs* programs);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_CANCELLATION_H_
