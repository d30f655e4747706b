// Declares the subcommands. Each adds itself to the program and returns its exit code when it is
// run.
#ifndef PLANPROOF_CLI_COMMANDS_H_
#define PLANPROOF_CLI_COMMANDS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace planproof::cli {

// A subcommand was chosen: what to run, set by its callback.
using Action = std::function<int()>;

void AddVerifyCommand(CLI::App& program, Action& action);
void AddExplainCommand(CLI::App& program, Action& action);
void AddShowCommand(CLI::App& program, Action& action);
void AddConvertCommand(CLI::App& program, Action& action);
void AddLineageCommand(CLI::App& program, Action& action);
void AddMutateCommand(CLI::App& program, Action& action);
void AddReplayCommand(CLI::App& program, Action& action);
void AddCompareCommand(CLI::App& program, Action& action);
void AddOperatorsCommand(CLI::App& program, Action& action);
void AddGenerateCommand(CLI::App& program, Action& action);
void AddCacheCommand(CLI::App& program, Action& action);
void AddJournalCommand(CLI::App& program, Action& action);
void AddMonitorCommand(CLI::App& program, Action& action);

// For commands that give no verdict: prints "planproof: MESSAGE" and returns the exit code that
// fits (usage error, internal error, or that of the verdict that the error amounts to).
int ReportError(const absl::Status& error);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_COMMANDS_H_
