// Names states that nobody named: an average in a dictionary, an optimizer that was not passed.
//
// A trace has them as constants of the program, whose recorded values differ between ranks and
// reference in their last bits. What is proved with these, or refuted, is about the recording and
// not about the program. A rank's state is therefore the reference's that is used in the same way
// (state_uses.h), if that is one only and has the same shape, or the shape of which the rank holds
// a part as it holds the parameter beside it.
#ifndef PLANPROOF_FRONTEND_TORCH_UNNAMED_STATES_H_
#define PLANPROOF_FRONTEND_TORCH_UNNAMED_STATES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// Names such states in all traces, as inputs and as new values; adds to `assumptions` how many.
// Names and parts are the reference's already.
void NameStates(Trace* reference, std::vector<Trace>* ranks, std::vector<std::string>* assumptions);

// Storages of a rank whose recorded values a verdict must not rest on, and the operator that reads
// them first, in words: states without a counterpart in the reference, and constants that equal
// one of the reference's but for their last bits.
std::map<StorageId, std::string> UncertainStorages(const Trace& reference, const Trace& rank);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_UNNAMED_STATES_H_
