// Checks that memory is used only while it is there.
//
// A storage has an identity of its own, and an operator that neither writes its operands nor gives
// views allocates those of its results. A trace in which a storage is used before it is allocated,
// or allocated when it is there already, was not recorded.
#ifndef PLANPROOF_FRONTEND_TORCH_RECORDED_MEMORY_H_
#define PLANPROOF_FRONTEND_TORCH_RECORDED_MEMORY_H_

#include <set>

#include "absl/status/status.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// The storages of results that lie in no operand's memory and are not said to be written.
std::set<StorageId> AllocatedBy(const Trace& trace, const Executed& executed);

// InvalidArgument, with the operator's place, if memory is used before it is allocated.
absl::Status CheckMemory(const Trace& trace);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_RECORDED_MEMORY_H_
