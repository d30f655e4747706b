// Compares what audited steps of a run executed with the proved iteration.
#ifndef PLANPROOF_MONITOR_PROVED_AUDIT_JUDGE_H_
#define PLANPROOF_MONITOR_PROVED_AUDIT_JUDGE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "monitor/judge.h"
#include "monitor/proved/monitors.h"
#include "monitor/proved/program.h"

namespace planproof::monitor {

// Where a run leaves its audited steps.
class AuditSource {
 public:
  virtual ~AuditSource() = default;
  // Step and rank of what has arrived so far, in order.
  virtual std::vector<std::pair<int64_t, int>> Steps() = 0;
  // What this rank executed in this step. An error is one line with the file.
  virtual absl::StatusOr<RankProgram> Read(int64_t step, int rank) = 0;
};

// The monitors have the programs of all ranks; a step is compared when all ranks have it, or at the
// end.
std::unique_ptr<Judge> MakeAuditJudge(ProvedMonitors monitors, std::unique_ptr<AuditSource> audits);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_AUDIT_JUDGE_H_
