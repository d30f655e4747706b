// Tensors in which terms cancel: their own size says little about how much rounding may change
// them, that of their terms does.
//
// In some everything cancels: they are zero over the real numbers, and rounding in any arithmetic.
// Such is the gradient of a bias that shifts all operands of a softmax alike. In others much does,
// within one operator, as in the derivative of a softmax: a plan that computes them by several
// operators rounds what cancels.
#ifndef PLANPROOF_RUNTIME_CHECK_CANCELLATION_H_
#define PLANPROOF_RUNTIME_CHECK_CANCELLATION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime_check/executor.h"
#include "runtime_check/values.h"
#include "sdfg/graph.h"

namespace planproof::runtime_check {

// By tensor of a graph without coordinates.
struct Cancellations {
  // 0, or, where everything cancels, the root mean square of the elements' magnitudes
  // (tracked_number.h). Such a tensor is an operand with these magnitudes, any other with those of
  // its elements.
  std::vector<double> magnitudes;
  // Empty, or, where much cancels: by element the root of the sum of its terms' squares.
  std::vector<std::vector<float>> spreads;
};

// `values` are those of a run in float64. With a backend it multiplies matrices.
absl::StatusOr<Cancellations> CancellationsOf(const sdfg::Graph& graph,
                                              const std::vector<Values>& values, Programs* programs,
                                              Backend* backend);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_CANCELLATION_H_
