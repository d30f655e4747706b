// Finds state that nobody named: memory that holds what an earlier iteration left, and is no input.
//
// An average in a dictionary, an optimizer that was not passed, gradients from before the step. A
// trace lists what such memory holds like a constant of the program, but it is no constant: ranks
// and reference have computed it in different orders, so that its last bits differ, and a claim
// about it would be refuted by these.
#ifndef PLANPROOF_FRONTEND_TORCH_CARRIED_STATE_H_
#define PLANPROOF_FRONTEND_TORCH_CARRIED_STATE_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/graph_writer.h"
#include "frontend/torch/memory.h"
#include "frontend/torch/trace.h"
#include "lineage/problem_builder.h"

namespace planproof::frontend::torch {

// Storages of real numbers that are constants by their description, and that the recorder has seen
// to be left by an earlier iteration, or, in version 1 of the format, that the program writes.
std::vector<StorageId> CarriedStorages(const Trace& trace);

// The ranks' unnamed state of which the reference has no equal. Memory that is filled with one
// whole number (zeros before a sum, counters) is a constant like any other.
class CarriedState {
 public:
  explicit CarriedState(const Trace& reference);

  // Writes what a rank holds of it as numbers of which nothing is known.
  absl::Status Start(const Trace& trace, GraphWriter* writer, Memory* memory);
  // Unimplemented, with the line that reads it and what to declare, if a required result is
  // computed from such state. All operators of the ranks have been added.
  absl::Status Check(const lineage::ProblemBuilder& problem) const;

 private:
  struct Place {
    const Trace* trace;
    StorageId storage;
  };
  std::set<std::string> known_;  // contents of the reference's constants
  std::map<sdfg::TensorId, Place> held_;
};

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_CARRIED_STATE_H_
