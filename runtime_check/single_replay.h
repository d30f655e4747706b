// A replay in one arithmetic.
#ifndef PLANPROOF_RUNTIME_CHECK_SINGLE_REPLAY_H_
#define PLANPROOF_RUNTIME_CHECK_SINGLE_REPLAY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "runtime_check/executor.h"
#include "runtime_check/full_inputs.h"
#include "runtime_check/replay.h"

namespace planproof::runtime_check {

// In the arithmetic of the options, whatever their `exact` says, and without a look at limits; cost
// is not filled in. `cancelled` are the model's CancelledMagnitudes on these inputs: in float64
// they are computed and written there; in another type they are read, and may be empty.
absl::StatusOr<ReplayReport> SingleReplay(const lineage::Problem& problem, const Inputs& inputs,
                                          const ReplayOptions& options, Programs* programs,
                                          std::vector<double>* cancelled);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_SINGLE_REPLAY_H_
