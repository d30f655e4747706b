// Writes and reads files of monitors: docs/monitor-format.md, "Monitors of a proof".
#ifndef PLANPROOF_MONITOR_PROVED_MONITORS_FILE_H_
#define PLANPROOF_MONITOR_PROVED_MONITORS_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "monitor/proved/monitors.h"

namespace planproof::monitor {

// JSON, a tensor a line.
std::string MonitorsToText(const ProvedMonitors& monitors);
// InvalidArgument: "/tensors/3/cut: what is wrong"; ResourceExhausted beyond the limits.
absl::StatusOr<ProvedMonitors> MonitorsFromText(std::string_view text);

// The same of a file; errors begin with its name.
absl::Status WriteMonitors(const std::string& path, const ProvedMonitors& monitors);
absl::StatusOr<ProvedMonitors> ReadMonitors(const std::string& path);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_MONITORS_FILE_H_
