// `planproof monitor`: what its subcommands have in common, and the list of them.
#include "cli/monitor_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/exit_codes.h"
#include "report/text_layout.h"

namespace planproof::cli {

int ReportRunError(const absl::Status& error) {
  std::fprintf(stderr, "planproof: %s\n",
               report::OneLine(std::string(error.message()), 1000).c_str());
  return absl::IsNotFound(error) ? kUsageError : kMonitorBadInput;
}

void AddMonitorCommand(CLI::App& program, Action& action) {
  CLI::App* monitor = program.add_subcommand(
      "monitor", "Check what planproof.torch.monitor wrote of a training run");
  monitor->require_subcommand(1);
  AddMonitorCheckCommand(*monitor, action);
  AddMonitorLearnCommand(*monitor, action);
  AddMonitorShowCommand(*monitor, action);
  AddMonitorCompareCommand(*monitor, action);
  monitor->footer(
      "Exit code: 0 no alarm, 1 alarm, 2 bad input, 3 nothing could be checked, 64 usage.");
}

}  // namespace planproof::cli
