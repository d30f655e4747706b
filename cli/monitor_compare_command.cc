// `planproof monitor compare`.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/exit_codes.h"
#include "cli/monitor_command.h"
#include "monitor/journal/run_journal.h"
#include "monitor/run_comparison.h"
#include "report/text_layout.h"

namespace planproof::cli {
namespace {

struct MonitorCompareArguments {
  std::string reference, run;
};

// The next step; false if there is none.
absl::StatusOr<bool> NextStep(monitor::RunJournal& run) {
  const absl::StatusOr<monitor::Arrival> arrival = run.ReadOn();
  if (!arrival.ok()) return arrival.status();
  return *arrival == monitor::Arrival::kStep;
}

std::string DifferenceText(const monitor::RunDifference& difference) {
  std::string line =
      absl::StrCat("step ", difference.first_step, ": ", report::OneLine(difference.what, 120),
                   ": ", report::OneLine(difference.statement, 300));
  if (difference.largest > 0)
    absl::StrAppend(&line, absl::StrFormat(" (at most %.3g of it)", difference.largest));
  if (difference.steps > 1) absl::StrAppend(&line, "; in ", difference.steps, " steps");
  return line + "\n";
}

int RunMonitorCompare(const MonitorCompareArguments& arguments) {
  auto reference = monitor::RunJournal::Open(arguments.reference, {});
  if (!reference.ok()) return ReportRunError(reference.status());
  auto run = monitor::RunJournal::Open(arguments.run, {});
  if (!run.ok()) return ReportRunError(run.status());
  monitor::RunComparison comparison;
  int64_t more = 0, less = 0;
  while (true) {
    const absl::StatusOr<bool> first = NextStep(**reference);
    if (!first.ok()) return ReportRunError(first.status());
    const absl::StatusOr<bool> second = NextStep(**run);
    if (!second.ok()) return ReportRunError(second.status());
    if (comparison.steps() == 0) comparison.CompareHeaders((*reference)->run(), (*run)->run());
    more += *first && !*second;
    less += *second && !*first;
    if (!*first && !*second) break;
    if (*first && *second) comparison.CompareSteps((*reference)->step(), (*run)->step());
  }
  std::printf("%s steps compared, %zu differences\n", report::Grouped(comparison.steps()).c_str(),
              comparison.differences().size());
  if (more + less > 0) {
    std::printf("%s has %lld more steps\n", more > 0 ? "the reference" : "the run",
                static_cast<long long>(more + less));
  }
  for (const monitor::RunDifference& difference : comparison.differences())
    std::fputs(DifferenceText(difference).c_str(), stdout);
  return kSuccess;
}

}  // namespace

void AddMonitorCompareCommand(CLI::App& monitor, Action& action) {
  CLI::App* command =
      monitor.add_subcommand("compare", "List how a run differs from another, without judging");
  auto arguments = std::make_shared<MonitorCompareArguments>();
  command->add_option("REFERENCE", arguments->reference, "Directory of a run")->required();
  command->add_option("RUN", arguments->run, "Directory of the other")->required();
  command->footer("Example:\n  planproof monitor compare runs/a runs/b");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunMonitorCompare(*arguments); }; });
}

}  // namespace planproof::cli
