// `planproof monitor show`.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/exit_codes.h"
#include "cli/monitor_command.h"
#include "monitor/journal/run_journal.h"
#include "report/journal_text.h"

namespace planproof::cli {
namespace {

struct MonitorShowArguments {
  std::string run;
  int rank = -1;      // -1: all
  int64_t step = -1;  // -1: all, without values
  bool values = false;
};

void PrintHeader(const monitor::Header& header, const monitor::StepOfRank& step) {
  std::fputs(report::JournalHeaderText(header).c_str(), stdout);
  if (step.table != nullptr) std::fputs(report::JournalTableText(*step.table).c_str(), stdout);
}

void PrintSteps(const MonitorShowArguments& arguments, const monitor::RunJournal& run,
                std::map<int, bool>* headed) {
  for (const auto& [rank, step] : run.step().ranks) {
    if (arguments.rank >= 0 && rank != arguments.rank) continue;
    if (!(*headed)[rank]) PrintHeader(run.run().headers.at(rank), *step);
    (*headed)[rank] = true;
    if (arguments.step >= 0 && step->step != arguments.step) continue;
    if (run.run().headers.size() > 1) std::printf("rank %d\n", rank);
    std::fputs(report::JournalStepText(*step, arguments.values || arguments.step >= 0).c_str(),
               stdout);
  }
}

int RunMonitorShow(const MonitorShowArguments& arguments) {
  auto run = monitor::RunJournal::Open(arguments.run, {});
  if (!run.ok()) return ReportRunError(run.status());
  std::map<int, bool> headed;
  while (true) {
    const absl::StatusOr<monitor::Arrival> arrival = (*run)->ReadOn();
    if (!arrival.ok()) return ReportRunError(arrival.status());
    if (*arrival != monitor::Arrival::kStep) break;
    PrintSteps(arguments, **run, &headed);
    if (arguments.step >= 0 && (*run)->step().step >= arguments.step) return kSuccess;
  }
  for (const monitor::Notice& notice : (*run)->TakeNotices())
    std::printf("%s: %s\n", notice.subject.c_str(), notice.statement.c_str());
  for (const auto& [rank, closing] : (*run)->run().closings) {
    if (arguments.rank >= 0 && rank != arguments.rank) continue;
    std::printf("rank %d ends after %lld steps\n", rank, static_cast<long long>(closing.steps));
  }
  return kSuccess;
}

}  // namespace

void AddMonitorShowCommand(CLI::App& monitor, Action& action) {
  CLI::App* command = monitor.add_subcommand("show", "Print the journal of a run");
  auto arguments = std::make_shared<MonitorShowArguments>();
  command->add_option("RUN", arguments->run, "Directory of the run")->required();
  command->add_option("--rank", arguments->rank, "Of this rank only")->check(CLI::Range(0, 65535));
  command->add_option("--step", arguments->step, "This step only, with its values")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--values", arguments->values, "With the values of all steps");
  command->footer("Example:\n  planproof monitor show runs/a --rank 0 --step 100");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunMonitorShow(*arguments); }; });
}

}  // namespace planproof::cli
