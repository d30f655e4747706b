// Computes the documented updates of torch.optim.SGD, Adam and AdamW, for one element.
#ifndef PLANPROOF_MONITOR_LAWS_UPDATE_FORMULAS_H_
#define PLANPROOF_MONITOR_LAWS_UPDATE_FORMULAS_H_

#include <optional>

#include "monitor/laws/rounding.h"
#include "monitor/laws/update_options.h"

namespace planproof::monitor {

// Before the step; `step_count` is the number of steps with this one.
struct ElementBefore {
  double parameter = 0, gradient = 0;
  double step_count = 0;
  std::optional<double> momentum_buffer;  // none: the first step
  double exp_avg = 0, exp_avg_sq = 0, max_exp_avg_sq = 0;
};

// After it. Moments that the optimizer does not have are none.
struct ElementAfter {
  std::optional<Rounded> momentum_buffer, exp_avg, exp_avg_sq, max_exp_avg_sq;
  Rounded parameter;
};

// Moments as recorded after the step: the parameter is computed from them, so that its bound does
// not have their error.
struct RecordedMoments {
  std::optional<double> momentum_buffer, exp_avg, exp_avg_sq, max_exp_avg_sq;
};

ElementAfter Updated(const UpdateOptions& options, const ElementBefore& before,
                     const RecordedMoments& recorded, const RoundedArithmetic& arithmetic);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_LAWS_UPDATE_FORMULAS_H_
