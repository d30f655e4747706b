// Reads traces (docs/torch-trace.md) as the programs that monitors compare: those of a proof, and
// of audited steps of a run.
#ifndef PLANPROOF_CLI_MONITOR_PROGRAM_H_
#define PLANPROOF_CLI_MONITOR_PROGRAM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/recording.h"
#include "monitor/proved/audit_judge.h"
#include "monitor/proved/program.h"

namespace planproof::cli {

// The whole trace. Errors are those of the reader of traces.
absl::StatusOr<monitor::RankProgram> ProgramOfTrace(const std::string& path);

// Gives what each recorded rank executed, as far as results follow from it, by rank. It is empty if
// a rank's trace was made of others'.
absl::StatusOr<std::vector<monitor::RankProgram>> ProgramsOf(const frontend::Recording& recording);

// A directory is not looked through beyond so many.
inline constexpr size_t kMostAudits = 1'000'000;
// Finds the audited steps in the directory of a run.
std::unique_ptr<monitor::AuditSource> AuditsOfRun(const std::string& directory,
                                                  size_t most_audits = kMostAudits);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_MONITOR_PROGRAM_H_
