// Learns from traces of TrainCheck, and checks them.
#ifndef PLANPROOF_MONITOR_TRAINCHECK_TRACE_H_
#define PLANPROOF_MONITOR_TRAINCHECK_TRACE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "monitor/findings.h"
#include "monitor/learned/facts.h"
#include "monitor/learned/learner.h"

namespace planproof::monitor::traincheck {

// Whether the directory has files that TrainCheck writes (`trace_*`, `proxy_log.json`) and whose
// first record is one of its.
bool IsTrace(const std::string& directory);

// Errors name file and line. A cut-off last line is left out.
absl::StatusOr<learned::LearnedRun> LearnTrace(const std::string& directory);

struct CheckedTrace {
  bool same_program = true;  // false: findings say nothing
  Findings findings;
  int64_t records = 0;
  int processes = 0;
};
absl::StatusOr<CheckedTrace> CheckTrace(const std::string& directory,
                                        const learned::FactSet& facts);

}  // namespace planproof::monitor::traincheck

#endif  // PLANPROOF_MONITOR_TRAINCHECK_TRACE_H_
