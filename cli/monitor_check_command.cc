// `planproof monitor check`.
#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/exit_codes.h"
#include "cli/monitor_command.h"
#include "cli/monitor_program.h"
#include "cli/report_files.h"
#include "dumps/random_access_file.h"
#include "monitor/journal/run_journal.h"
#include "monitor/laws/laws.h"
#include "monitor/learned/facts_file.h"
#include "monitor/learned/learned_judge.h"
#include "monitor/proved/audit_judge.h"
#include "monitor/proved/monitors_file.h"
#include "monitor/proved/proved_judge.h"
#include "monitor/traincheck/trace.h"
#include "monitor/watch.h"
#include "report/monitor_report.h"

namespace planproof::cli {
namespace {

constexpr uint64_t kMostBytesOfMute = 1 << 20;
constexpr std::chrono::milliseconds kPollInterval{50};

struct MonitorCheckArguments {
  std::string run;
  std::string monitors, invariants;
  std::string mute, json, html;
  bool follow = false, quiet = false, verbose = false;
};

volatile std::sig_atomic_t follow_stopped = 0;

void StopFollowing(int) { follow_stopped = 1; }

absl::StatusOr<monitor::MutedRules> ReadMutedRules(const std::string& path) {
  if (path.empty()) return monitor::MutedRules();
  const absl::StatusOr<std::string> text = dumps::ReadSmallFile(path, kMostBytesOfMute);
  if (!text.ok()) return text.status();
  absl::StatusOr<monitor::MutedRules> muted = monitor::MutedRules::Parse(*text);
  if (muted.ok()) return muted;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", muted.status().message()));
}

// All judges, in the order in which their alarms of one step are told.
absl::StatusOr<std::vector<std::unique_ptr<monitor::Judge>>> MakeJudges(
    const MonitorCheckArguments& arguments) {
  std::vector<std::unique_ptr<monitor::Judge>> judges;
  if (!arguments.monitors.empty()) {
    absl::StatusOr<monitor::ProvedMonitors> monitors = monitor::ReadMonitors(arguments.monitors);
    if (!monitors.ok()) return monitors.status();
    judges.push_back(monitor::MakeProvedJudge(*monitors));
    judges.push_back(monitor::MakeAuditJudge(*std::move(monitors), AuditsOfRun(arguments.run)));
  }
  for (std::unique_ptr<monitor::Judge>& law : monitor::AllLaws()) judges.push_back(std::move(law));
  if (!arguments.invariants.empty()) {
    absl::StatusOr<monitor::learned::FactSet> facts =
        monitor::learned::ReadFacts(arguments.invariants);
    if (!facts.ok()) return facts.status();
    judges.push_back(monitor::learned::LearnedJudge(*std::move(facts)));
  }
  return judges;
}

// Hands what is there to `watch`, and in a run that is followed what comes.
absl::Status ReadRun(monitor::RunJournal& run, bool follow, monitor::Watch* watch) {
  while (true) {
    const absl::StatusOr<monitor::Arrival> arrival = run.ReadOn();
    watch->Note(run.TakeNotices());
    if (!arrival.ok()) return arrival.status();
    if (*arrival == monitor::Arrival::kEnded) return absl::OkStatus();
    if (*arrival == monitor::Arrival::kStep) {
      watch->Observe(run.run(), run.step());
      continue;
    }
    if (!follow || follow_stopped != 0) return absl::OkStatus();
    std::this_thread::sleep_for(kPollInterval);
  }
}

void NoteUnobserved(const monitor::Run& run, monitor::Watch* watch) {
  std::vector<monitor::Notice> notices;
  for (const auto& [rank, facts] : run.not_observed) {
    for (const monitor::NotObserved& fact : facts) {
      notices.push_back({.kind = monitor::NoticeKind::kNotObserved,
                         .rule = "journal",
                         .subject = fact.what,
                         .statement = fact.why});
    }
  }
  watch->Note(std::move(notices));
}

bool WriteFiles(const MonitorCheckArguments& arguments, const monitor::Watch& watch,
                const report::MonitorText& text) {
  std::vector<ReportText> files;
  if (!arguments.json.empty() && arguments.json != "-")
    files.push_back({arguments.json, report::JsonMonitorReport(watch, text)});
  if (!arguments.html.empty())
    files.push_back({arguments.html, report::HtmlMonitorReport(watch, text)});
  return WriteReports(files);
}

void PrintResult(const MonitorCheckArguments& arguments, const monitor::Watch& watch,
                 const report::MonitorText& text) {
  if (arguments.html == "-") return;
  if (arguments.json == "-") {
    for (const monitor::Notice& notice : watch.notices())
      std::fputs(report::JsonNoticeLine(notice).c_str(), stdout);
    std::string whole = report::JsonMonitorReport(watch, text);
    whole.pop_back();  // the end of the line
    std::fputs(absl::StrCat("{\"report\": ", whole, "}\n").c_str(), stdout);
    return;
  }
  std::string out = report::TextMonitorReport(watch, text);
  if (arguments.quiet) out.resize(out.find('\n') + 1);
  std::fputs(out.c_str(), stdout);
}

// Writes and prints all that was asked for; the exit code.
int Finish(const MonitorCheckArguments& arguments, const monitor::Watch& watch,
           report::MonitorText text) {
  text.verbose = arguments.verbose;
  if (!WriteFiles(arguments, watch, text)) return kUsageError;
  PrintResult(arguments, watch, text);
  return report::MonitorExitCode(report::AnswerOf(watch));
}

// Prints alarms at once, where lines of JSON are asked for.
std::function<void(const monitor::Alarm&)> AlarmLines(const MonitorCheckArguments& arguments) {
  if (arguments.json != "-") return nullptr;
  return [](const monitor::Alarm& alarm) {
    std::fputs(report::JsonAlarmLine(alarm).c_str(), stdout);
    std::fflush(stdout);
  };
}

// A run that TrainCheck has traced: it is checked by learned facts only.
int CheckTrainCheckTrace(const MonitorCheckArguments& arguments, monitor::MutedRules muted) {
  if (arguments.invariants.empty()) {
    return ReportRunError(absl::NotFoundError(
        absl::StrCat(arguments.run,
                     ": a trace of TrainCheck is checked by what healthy ones have in common: "
                     "--invariants FILE (planproof monitor learn makes it)")));
  }
  const absl::StatusOr<monitor::learned::FactSet> facts =
      monitor::learned::ReadFacts(arguments.invariants);
  if (!facts.ok()) return ReportRunError(facts.status());
  absl::StatusOr<monitor::traincheck::CheckedTrace> checked =
      monitor::traincheck::CheckTrace(arguments.run, *facts);
  if (!checked.ok()) return ReportRunError(checked.status());
  monitor::Watch watch({}, std::move(muted), AlarmLines(arguments));
  checked->findings.other_program = !checked->same_program;
  if (!checked->same_program) checked->findings.alarms.clear();
  watch.Take(std::move(checked->findings), 0);
  return Finish(arguments, watch,
                {.run = arguments.run, .ranks = checked->processes, .world = checked->processes});
}

int RunMonitorCheck(const MonitorCheckArguments& arguments) {
  absl::StatusOr<monitor::MutedRules> muted = ReadMutedRules(arguments.mute);
  if (!muted.ok()) return ReportRunError(muted.status());
  if (monitor::traincheck::IsTrace(arguments.run))
    return CheckTrainCheckTrace(arguments, *std::move(muted));
  auto judges = MakeJudges(arguments);
  if (!judges.ok()) return ReportRunError(judges.status());
  auto run = monitor::RunJournal::Open(arguments.run, {.follow = arguments.follow});
  if (!run.ok()) return ReportRunError(run.status());
  if (arguments.follow) {
    std::signal(SIGINT, StopFollowing);
    std::signal(SIGTERM, StopFollowing);
  }
  monitor::Watch watch(*std::move(judges), *std::move(muted), AlarmLines(arguments));
  const absl::Status read = ReadRun(**run, arguments.follow, &watch);
  watch.End((*run)->run());
  NoteUnobserved((*run)->run(), &watch);
  const auto& headers = (*run)->run().headers;
  if (!read.ok() && watch.steps() == 0) return ReportRunError(read);
  const int code = Finish(arguments, watch,
                          {.run = arguments.run,
                           .ranks = static_cast<int>(headers.size()),
                           .world = headers.empty() ? 0 : headers.begin()->second.world});
  return read.ok() ? code : ReportRunError(read);
}

}  // namespace

void AddMonitorCheckCommand(CLI::App& monitor, Action& action) {
  CLI::App* command =
      monitor.add_subcommand("check", "Check a run against laws, proofs and healthy runs");
  auto arguments = std::make_shared<MonitorCheckArguments>();
  command->add_option("RUN", arguments->run, "Directory of the run")->required();
  command->add_option("--monitors", arguments->monitors,
                      "What was proved of the program (verify --monitors-out)");
  command->add_option("--invariants", arguments->invariants,
                      "What healthy runs have in common (monitor learn)");
  command->add_flag("--follow", arguments->follow, "The run still writes: go on until it ends");
  command->add_option(
      "--mute", arguments->mute,
      "File of lines RULE or RULE SUBJECT (* stands for anything): no alarm of them");
  command->add_option("--json", arguments->json,
                      "Write the report as JSON to this file (-: a line for each alarm, at once)");
  command->add_option("--html", arguments->html, "Write the report as a page (-: standard output)");
  command->add_flag("-v,--verbose", arguments->verbose, "Print all notices");
  command->add_flag("-q,--quiet", arguments->quiet, "Print the first line of the report only");
  command->footer(
      "Exit code: 0 no alarm, 1 alarm, 2 bad input, 3 nothing could be checked, 64 usage.\n"
      "Examples:\n"
      "  planproof monitor check runs/a\n"
      "  planproof monitor check runs/a --follow --json -");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunMonitorCheck(*arguments); }; });
}

}  // namespace planproof::cli
