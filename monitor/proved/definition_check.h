// Checks optimizer states that are linear in their last value and the gradient.
#ifndef PLANPROOF_MONITOR_PROVED_DEFINITION_CHECK_H_
#define PLANPROOF_MONITOR_PROVED_DEFINITION_CHECK_H_

#include "monitor/proved/step_view.h"

namespace planproof::monitor {

void CheckDefinitions(StepView* view, StepFindings* findings);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_DEFINITION_CHECK_H_
