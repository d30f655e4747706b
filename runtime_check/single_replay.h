// Replays a problem in one arithmetic.
#ifndef PLANPROOF_RUNTIME_CHECK_SINGLE_REPLAY_H_
#define PLANPROOF_RUNTIME_CHECK_SINGLE_REPLAY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "runtime_check/cancellation.h"
#include "runtime_check/executor.h"
#include "runtime_check/full_inputs.h"
#include "runtime_check/replay.h"
#include "runtime_check/values.h"

namespace planproof::runtime_check {

// What a run of the model in float64 says about rounding in other types.
struct ExactModel {
  std::vector<Values> values;  // by tensor; empty but for those that the plan is compared with
  Cancellations cancellations;
};

// In the arithmetic of the options, whatever their `exact` says, and without a look at limits.
// Cost, and what follows from the findings, are not filled in. `exact` is of the same inputs: a
// replay in float64 fills it in; one in another type reads it, and it may be empty. Bounds of
// ratios are RatioBound times the factor.
absl::StatusOr<ReplayReport> SingleReplay(const lineage::Problem& problem, const Inputs& inputs,
                                          const ReplayOptions& options, Programs* programs,
                                          ExactModel* exact, double bound_factor = 1);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_SINGLE_REPLAY_H_
