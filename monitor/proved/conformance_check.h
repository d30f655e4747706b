// Checks that a step has what the proved iteration has: its collectives, and gradients of what it
// trains (the latter is a notice).
#ifndef PLANPROOF_MONITOR_PROVED_CONFORMANCE_CHECK_H_
#define PLANPROOF_MONITOR_PROVED_CONFORMANCE_CHECK_H_

#include "monitor/proved/step_view.h"

namespace planproof::monitor {

// Whether all optimizers of the run step in it, each on every rank.
bool IsIteration(const Run& run, const StepOfRun& step);

// The step need not be sampled.
void CheckConformance(StepView* view, StepFindings* findings);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_CONFORMANCE_CHECK_H_
