// A replay in one arithmetic.
#ifndef PLANPROOF_RUNTIME_CHECK_SINGLE_REPLAY_H_
#define PLANPROOF_RUNTIME_CHECK_SINGLE_REPLAY_H_

#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "runtime_check/cancellation.h"
#include "runtime_check/executor.h"
#include "runtime_check/full_inputs.h"
#include "runtime_check/replay.h"

namespace planproof::runtime_check {

// In the arithmetic of the options, whatever their `exact` says, and without a look at limits.
// Cost, and what follows from the findings, are not filled in. `cancelled` is what cancels in the
// model on these inputs: in float64 it is computed and written there; in another type it is read,
// and may be empty. Bounds of ratios are RatioBound times the factor.
absl::StatusOr<ReplayReport> SingleReplay(const lineage::Problem& problem, const Inputs& inputs,
                                          const ReplayOptions& options, Programs* programs,
                                          Cancellations* cancelled, double bound_factor = 1);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_SINGLE_REPLAY_H_
