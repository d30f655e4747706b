#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/terminal.h"
#include "frontend/load_problem.h"
#include "frontend/registry.h"
#include "report/json_report.h"
#include "report/stage_text.h"
#include "report/text_report.h"

namespace planproof::cli {
namespace {

struct ExplainArguments {
  std::string file, stage;
  bool verbose = false;
};

absl::Status InFile(const std::string& file, const absl::Status& error) {
  return frontend::UsageError(error.code(), absl::StrCat(file, ": ", std::string(error.message())));
}

int RunExplain(const ExplainArguments& arguments) {
  const absl::StatusOr<std::string> content = frontend::ReadWholeFile(arguments.file);
  if (!content.ok()) return ReportError(content.status());
  const absl::StatusOr<report::Report> report = report::ReadJsonReport(*content);
  if (!report.ok()) return ReportError(InFile(arguments.file, report.status()));
  report::TextOptions options;
  options.color = ColorOnOutput();
  options.columns = OutputColumns();
  options.verbose = arguments.verbose;
  std::string text;
  if (arguments.stage.empty()) {
    text = report::TextReport(report->result, options);
  } else {
    absl::StatusOr<std::string> found = report::StageText(*report, arguments.stage, options);
    if (!found.ok()) return ReportError(InFile(arguments.file, found.status()));
    text = *std::move(found);
  }
  std::fputs(text.c_str(), stdout);
  return kSuccess;
}

}  // namespace

void AddExplainCommand(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("explain", "Print what a JSON report says, of one stage or of all");
  auto arguments = std::make_shared<ExplainArguments>();
  command->add_option("REPORT", arguments->file, "A file that verify --json has written")
      ->required();
  command->add_option("STAGE", arguments->stage,
                      "A tensor of the model, or a required output; without, the whole report");
  command->add_flag("-v,--verbose", arguments->verbose,
                    "Print the values of a counterexample in full, and all its inputs");
  command->footer(
      "Examples:\n"
      "  planproof verify plan.json --json report.json\n"
      "  planproof explain report.json\n"
      "  planproof explain report.json layers.0.attention.wo\n"
      "Exit code: 0; 64 if the file is no report, or knows no such stage.");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunExplain(*arguments); }; });
}

}  // namespace planproof::cli
