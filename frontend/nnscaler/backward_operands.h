// Finds the gradients that a backward node reads and writes, in terms of its forward operator's
// function.
#ifndef PLANPROOF_FRONTEND_NNSCALER_BACKWARD_OPERANDS_H_
#define PLANPROOF_FRONTEND_NNSCALER_BACKWARD_OPERANDS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/nnscaler/plan_objects.h"

namespace planproof::frontend::nnscaler {

// A backward node's k-th input is the gradient of its forward operator's k-th output that has one;
// its k-th output that of the k-th input that has one.
struct BackwardOperands {
  struct Gradient {
    int operand;   // position among the backward node's inputs (outputs)
    int position;  // output (input) of the forward function
  };
  std::vector<Gradient> inputs, outputs;
};

absl::StatusOr<BackwardOperands> MatchBackward(const Node& backward, const Node& forward);

// Per full tensor: whether an operator that reads it has a backward operator on any device. If none
// has, a gradient that multiref's backward would take from there does not exist and counts as zero.
std::vector<bool> ReadByDifferentiated(const Plan& plan);

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_BACKWARD_OPERANDS_H_
