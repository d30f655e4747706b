// Writes programs into files of monitors, and reads them (docs/monitor-format.md, "The program").
#ifndef PLANPROOF_MONITOR_PROVED_PROGRAM_FILE_H_
#define PLANPROOF_MONITOR_PROVED_PROGRAM_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "monitor/proved/monitors_json.h"
#include "monitor/proved/program.h"

namespace planproof::monitor {

// One JSON object on one line.
std::string ProgramsToText(const std::vector<RankProgram>& programs);

// InvalidArgument, with the position, for what is no such object; numbers of memory, tensors and
// texts exist in what is read.
absl::StatusOr<std::vector<RankProgram>> ReadPrograms(const MonitorValue& value);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_PROGRAM_FILE_H_
