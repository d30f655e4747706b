// Makes a Recording of what traces say of their recorded numbers.
#ifndef PLANPROOF_FRONTEND_TORCH_RECORDING_OF_TRACES_H_
#define PLANPROOF_FRONTEND_TORCH_RECORDING_OF_TRACES_H_

#include <vector>

#include "frontend/recording.h"
#include "frontend/torch/execution.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// The reference and the ranks with what their traces list. Tensors of graphs are not known yet.
Recording RecordingOfTraces(const Trace& reference, const std::vector<Trace>& ranks);

// Adds what the execution of the program's trace showed: memory that nobody wrote, choices, numbers
// that left tensors, what Python's functions gave of them, and what operators made. `writer` is the
// one that the execution wrote with.
void AddExecution(const Execution& execution, const GraphWriter& writer, const Memory& memory,
                  RecordedProgram* program);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_RECORDING_OF_TRACES_H_
