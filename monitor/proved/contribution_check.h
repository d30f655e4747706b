// Checks that gradients are the combination of ranks' contributions that was proved.
#ifndef PLANPROOF_MONITOR_PROVED_CONTRIBUTION_CHECK_H_
#define PLANPROOF_MONITOR_PROVED_CONTRIBUTION_CHECK_H_

#include "monitor/proved/step_view.h"

namespace planproof::monitor {

// By how many roundoffs of its type an element may be off, relative to what is added up: each of
// `ranks` contributions is added `backwards` times and multiplied once.
double RoundoffsOfContributions(size_t ranks, int64_t backwards);

void CheckContributions(StepView* view, StepFindings* findings);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_CONTRIBUTION_CHECK_H_
