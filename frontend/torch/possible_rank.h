// Checks whether a trace that was not recorded could have been, as the parser does for one that
// was.
#ifndef PLANPROOF_FRONTEND_TORCH_POSSIBLE_RANK_H_
#define PLANPROOF_FRONTEND_TORCH_POSSIBLE_RANK_H_

#include "absl/status/status.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// InvalidArgument, with the place in the program, unless tensors lie within their memory and parts
// within the reference's tensors, and the rank is in the groups among which it communicates, once,
// with their root.
absl::Status CheckPossible(const Trace& trace);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_POSSIBLE_RANK_H_
