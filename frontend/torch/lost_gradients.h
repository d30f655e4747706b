// Checks whether the optimizer ran on the ranks at all.
#ifndef PLANPROOF_FRONTEND_TORCH_LOST_GRADIENTS_H_
#define PLANPROOF_FRONTEND_TORCH_LOST_GRADIENTS_H_

#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// InvalidArgument where the reference's optimizer changes its states and no rank has a gradient or
// a state of an optimizer: gradients never reached it, as if they are not reduced in the last
// microbatch. It names the axes over which no rank communicates.
absl::Status CheckGradientsReachOptimizer(const Trace& reference, const std::vector<Trace>& ranks);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_LOST_GRADIENTS_H_
