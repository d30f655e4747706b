// Lists what ranks of a plan hold of gradients and of new values of parameters, by the names that
// the plan gives them.
#ifndef PLANPROOF_MONITOR_PROVED_PLAN_SETS_H_
#define PLANPROOF_MONITOR_PROVED_PLAN_SETS_H_

#include "lineage/lineage.h"
#include "monitor/proved/export.h"

namespace planproof::monitor {

// `sets` and `world` of what a plan requires. A result that is neither a gradient of a parameter
// nor computed element by element from one parameter is left out, and what a rank holds in several
// parts.
ExportRequest RequestOfPlan(const lineage::Problem& problem);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_PLAN_SETS_H_
