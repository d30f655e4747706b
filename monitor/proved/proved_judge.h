// Asserts on a run what was proved of its plan: equal copies, the norm that clips gradients, and
// results that are linear in others (docs/monitor.md).
#ifndef PLANPROOF_MONITOR_PROVED_PROVED_JUDGE_H_
#define PLANPROOF_MONITOR_PROVED_PROVED_JUDGE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "monitor/judge.h"
#include "monitor/proved/monitors.h"

namespace planproof::monitor {

std::unique_ptr<Judge> MakeProvedJudge(ProvedMonitors monitors);

// Of the file that `verify --monitors-out` wrote. Errors are those of ReadMonitors.
absl::StatusOr<std::unique_ptr<Judge>> ProvedMonitorsJudge(const std::string& path);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_PROVED_JUDGE_H_
