// State that nobody named: memory that holds what an earlier iteration left, and is no input.
//
// An average in a dictionary, an optimizer that was not passed, gradients from before the step. A
// trace lists what such memory holds like a constant of the program, but it is no constant: ranks
// and reference have computed it in different orders, so that its last bits differ, and a claim
// about it would be refuted by these.
#ifndef PLANPROOF_FRONTEND_TORCH_CARRIED_STATE_H_
#define PLANPROOF_FRONTEND_TORCH_CARRIED_STATE_H_

#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// Storages of real numbers that are constants by their description, and that the program writes or
// has said to be left by an earlier iteration.
std::vector<StorageId> CarriedStorages(const Trace& trace);

// Unimplemented, with the line that reads it and what to declare, if a rank begins with unnamed
// state of which the reference has no equal. Memory that is filled with one whole number (zeros
// before a sum, counters) is compared like a constant.
absl::Status SameCarriedState(const Trace& reference, const std::vector<Trace>& ranks);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_CARRIED_STATE_H_
