// Checks the clipping of gradients by their norm: who clips, by which norm, and what becomes of
// gradients.
#ifndef PLANPROOF_MONITOR_PROVED_CLIP_CHECK_H_
#define PLANPROOF_MONITOR_PROVED_CLIP_CHECK_H_

#include "monitor/proved/step_view.h"

namespace planproof::monitor {

// By how much a norm may be off, relative to it: one rounding of each tensor's norm, of its square,
// of the sum and of its root, one more for each doubling of the ranks that add squares up, and what
// the journal's own sums are off by.
double NormTolerance(double u, int64_t world);

void CheckClipping(StepView* view, StepFindings* findings);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_CLIP_CHECK_H_
