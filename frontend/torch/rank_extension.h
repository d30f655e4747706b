// Extends traces of some ranks of a job to all of them.
//
// Along an axis that is extended, ranks that were not recorded are taken to run the program of
// those that were, with their own coordinates (rank_family.h). What comes out is a trace of every
// rank, as if all had been recorded, and the assumption that this is so.
#ifndef PLANPROOF_FRONTEND_TORCH_RANK_EXTENSION_H_
#define PLANPROOF_FRONTEND_TORCH_RANK_EXTENSION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// Adds the ranks that are missing along these axes, of these extents, to the traces of a job.
// `assumptions`: of each axis along which there were any. Usage errors, with the place in the
// program and the remedy, if recorded ranks contradict it, or if there are too few of them.
absl::Status ExtendRanks(const std::vector<std::pair<std::string, int64_t>>& axes,
                         std::vector<Trace>* ranks, std::vector<std::string>* assumptions);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_RANK_EXTENSION_H_
