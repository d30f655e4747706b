// Finds which elements of its parameter a flat piece is, where the trace does not say.
//
// FullyShardedDataParallel (the first one) keeps a module's parameters one after another in a flat
// buffer that is cut evenly among the ranks of a group. What a rank then has of a parameter is a
// tensor of one dimension, perhaps without elements, and nothing at the tensor tells which elements
// these are. The buffer does: ranks gather it in the group's order, so that the pieces of a
// parameter follow one another in that order, and all of them are all of it.
#ifndef PLANPROOF_FRONTEND_TORCH_FLAT_PIECES_H_
#define PLANPROOF_FRONTEND_TORCH_FLAT_PIECES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// Fills in the parts of such tensors and of their optimizer states; names are the reference's
// already. Adds to `assumptions` how many there are. InvalidArgument where the pieces of a group do
// not add up to the parameter.
absl::Status PlaceFlatPieces(const Trace& reference, std::vector<Trace>* ranks,
                             std::vector<std::string>* assumptions);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_FLAT_PIECES_H_
