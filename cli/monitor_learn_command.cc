// `planproof monitor learn`: what healthy runs have in common.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/exit_codes.h"
#include "cli/monitor_command.h"
#include "frontend/plan/write_file.h"
#include "monitor/learned/combine.h"
#include "monitor/learned/facts_file.h"
#include "monitor/learned/learned_judge.h"
#include "monitor/traincheck/trace.h"

namespace planproof::cli {
namespace {

struct MonitorLearnArguments {
  std::vector<std::string> runs;
  std::string output;
};

absl::StatusOr<monitor::learned::LearnedRun> LearnRun(const std::string& run) {
  if (monitor::traincheck::IsTrace(run)) return monitor::traincheck::LearnTrace(run);
  return monitor::learned::LearnJournal(run);
}

// One thread for every other run, as far as there are processors.
absl::StatusOr<std::vector<monitor::learned::LearnedRun>> LearnRuns(
    const std::vector<std::string>& names) {
  std::vector<absl::StatusOr<monitor::learned::LearnedRun>> learned(names.size(),
                                                                    absl::UnknownError("not read"));
  const size_t threads =
      std::min<size_t>(names.size(), std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> workers;
  for (size_t worker = 0; worker < threads; ++worker) {
    workers.emplace_back([&, worker] {
      for (size_t i = worker; i < names.size(); i += threads) learned[i] = LearnRun(names[i]);
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::vector<monitor::learned::LearnedRun> runs;
  for (auto& one : learned) {
    if (!one.ok()) return one.status();
    runs.push_back(*std::move(one));
  }
  return runs;
}

void PrintSummary(const std::string& output, const monitor::learned::FactSet& facts) {
  int64_t asserted = 0, differences = 0;
  for (const monitor::learned::Fact& fact : facts.facts)
    ++(fact.windows > 0 ? asserted : differences);
  std::printf("%s: %lld facts of %d %s, %lld of them told as differences only\n", output.c_str(),
              static_cast<long long>(asserted + differences), facts.references,
              facts.references == 1 ? "reference" : "references",
              static_cast<long long>(differences));
  std::printf("expected false alarms per run: %.2g\n", facts.expected_false_alarms);
  if (facts.references == 1) {
    std::puts("one reference cannot contradict itself: name at least two runs, of different seeds");
  }
}

int RunMonitorLearn(const MonitorLearnArguments& arguments) {
  absl::StatusOr<std::vector<monitor::learned::LearnedRun>> runs = LearnRuns(arguments.runs);
  if (!runs.ok()) return ReportRunError(runs.status());
  const absl::StatusOr<monitor::learned::FactSet> facts = monitor::learned::Combine(*runs);
  if (!facts.ok()) return ReportRunError(facts.status());
  const absl::Status written =
      plan::WriteFile(arguments.output, monitor::learned::WriteFacts(*facts));
  if (!written.ok()) return ReportRunError(absl::NotFoundError(std::string(written.message())));
  PrintSummary(arguments.output, *facts);
  return kSuccess;
}

}  // namespace

void AddMonitorLearnCommand(CLI::App& monitor, Action& action) {
  CLI::App* command =
      monitor.add_subcommand("learn", "Learn what healthy runs of one program have in common");
  auto arguments = std::make_shared<MonitorLearnArguments>();
  command
      ->add_option("RUNS", arguments->runs,
                   "Directories of healthy runs: journals, or traces of TrainCheck; two or more, "
                   "of different seeds")
      ->required()
      ->expected(-1);
  command
      ->add_option("-o,--output", arguments->output,
                   "File to write (for monitor check --invariants)")
      ->required();
  command->footer(
      "Example:\n"
      "  planproof monitor learn runs/a runs/b -o facts.json\n"
      "  planproof monitor check runs/c --invariants facts.json");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunMonitorLearn(*arguments); }; });
}

}  // namespace planproof::cli
