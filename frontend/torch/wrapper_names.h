// Restores the reference's names of tensors where wrappers of modules changed them.
//
// A wrapper is a module around a module, and inserts itself into the path of every parameter below
// it: FullyShardedDataParallel `_fsdp_wrapped_module`, activation checkpointing
// `_checkpoint_wrapped_module`, torch.compile `_orig_mod`, Lightning's Fabric `_forward_module`,
// DistributedDataParallel `module`. These components say nothing about which parameter it is.
#ifndef PLANPROOF_FRONTEND_TORCH_WRAPPER_NAMES_H_
#define PLANPROOF_FRONTEND_TORCH_WRAPPER_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// The name without components that wrappers insert.
std::string WithoutWrappers(const std::string& name);

// Gives tensors of ranks that the reference does not have by name those names that are the same
// without wrappers; adds to `assumptions` how many. InvalidArgument where that makes two names of
// one trace equal.
absl::Status NameAsTheReference(const Trace& reference, std::vector<Trace>* ranks,
                                std::vector<std::string>* assumptions);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_WRAPPER_NAMES_H_
