// Declares the subcommands of `planproof monitor`. Each adds itself, as those of the program do
// (cli/commands.h).
#ifndef PLANPROOF_CLI_MONITOR_COMMAND_H_
#define PLANPROOF_CLI_MONITOR_COMMAND_H_

#include "cli/commands.h"

namespace planproof::cli {

// Bad input, and a run about which nothing could be checked.
inline constexpr int kMonitorAlarm = 1;
inline constexpr int kMonitorBadInput = 2;
inline constexpr int kMonitorNothingChecked = 3;

void AddMonitorCheckCommand(CLI::App& monitor, Action& action);
void AddMonitorLearnCommand(CLI::App& monitor, Action& action);
void AddMonitorShowCommand(CLI::App& monitor, Action& action);
void AddMonitorCompareCommand(CLI::App& monitor, Action& action);

// Says on standard error, in one line, why a run cannot be read; the exit code that fits: 64 for
// what does not exist, 2 for everything else.
int ReportRunError(const absl::Status& error);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_MONITOR_COMMAND_H_
