// Compares what ranks hold that was proved to be the same.
#ifndef PLANPROOF_MONITOR_PROVED_REPLICA_CHECK_H_
#define PLANPROOF_MONITOR_PROVED_REPLICA_CHECK_H_

#include "monitor/proved/step_view.h"

namespace planproof::monitor {

void CheckReplicas(StepView* view, StepFindings* findings);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_REPLICA_CHECK_H_
