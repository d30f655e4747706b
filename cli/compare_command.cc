#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/report_files.h"
#include "cli/terminal.h"
#include "dumps/annotations.h"
#include "dumps/dump.h"
#include "frontend/load_problem.h"
#include "report/comparison_report.h"
#include "report/text_layout.h"
#include "runtime_check/dump_comparison.h"
#include "runtime_check/stage_inputs.h"

namespace planproof::cli {
namespace {

constexpr int kDumpsDiffer = 1;
constexpr int kNothingCompared = 3;

struct CompareArguments {
  report::ComparisonText text;
  std::string json_file;
  std::string stage_inputs;
  bool quiet = false;
  runtime_check::DumpLimits limits;
};

// What does not exist was named wrongly.
int ReportDumpError(const absl::Status& status) {
  if (absl::IsNotFound(status))
    return ReportError(frontend::UsageError(status.code(), std::string(status.message())));
  if (!absl::IsFailedPrecondition(status)) return ReportError(status);
  std::fprintf(stderr, "planproof: %s\n",
               report::OneLine(std::string(status.message()), 1000).c_str());
  return kNothingCompared;
}

absl::Status WriteInputs(const CompareArguments& arguments, const dumps::ReferenceDump& reference,
                         const dumps::Dump& candidate, const dumps::Annotations& annotations) {
  if (arguments.stage_inputs.empty()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(arguments.stage_inputs, error);
  if (error) {
    return frontend::UsageError(
        absl::StatusCode::kNotFound,
        absl::StrCat("--stage-inputs ", arguments.stage_inputs, ": cannot be made"));
  }
  return runtime_check::WriteStageInputs(reference, candidate, annotations, arguments.stage_inputs);
}

int RunCompare(CompareArguments arguments) {
  report::ComparisonText& text = arguments.text;
  const absl::StatusOr<dumps::Annotations> annotations =
      text.annotations.empty() ? dumps::Annotations{} : dumps::ReadAnnotations(text.annotations);
  if (!annotations.ok()) return ReportDumpError(annotations.status());
  const absl::StatusOr<dumps::ReferenceDump> reference = dumps::ReadReferenceDump(text.reference);
  if (!reference.ok()) return ReportDumpError(reference.status());
  const absl::StatusOr<dumps::Dump> candidate = dumps::ReadDump(text.candidate);
  if (!candidate.ok()) return ReportDumpError(candidate.status());
  const absl::StatusOr<runtime_check::DumpReport> comparison =
      runtime_check::CompareDumps(*reference, *candidate, *annotations, arguments.limits);
  if (!comparison.ok()) return ReportDumpError(comparison.status());
  if (const absl::Status written = WriteInputs(arguments, *reference, *candidate, *annotations);
      !written.ok()) {
    return ReportDumpError(written);
  }
  text.color = ColorOnOutput();
  if (!arguments.json_file.empty() &&
      !WriteReports({{arguments.json_file, report::JsonComparisonReport(*comparison, text)}})) {
    return kUsageError;
  }
  if (arguments.json_file != "-") {
    std::string out = report::TextComparisonReport(*comparison, text);
    if (arguments.quiet) out.resize(out.find('\n') + 1);
    std::fputs(out.c_str(), stdout);
  }
  return comparison->first < 0 ? kSuccess : kDumpsDiffer;
}

}  // namespace

void AddCompareCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "compare", "Compare tensors that a sharded training run dumped with those of one process");
  auto arguments = std::make_shared<CompareArguments>();
  command
      ->add_option("--reference", arguments->text.reference,
                   "Directory that planproof.torch.dump_reference wrote")
      ->required();
  command
      ->add_option("--candidate", arguments->text.candidate,
                   "Directory that planproof.torch.dump wrote on every rank")
      ->required();
  command->add_option("--annotations", arguments->text.annotations,
                      "YAML: which dimension is split by which axis (without: nothing is split)");
  command->add_option(
      "--stage-inputs", arguments->stage_inputs,
      "Write here what each rank's modules would get if all before them were right: "
      "for planproof.torch.dump(stage_inputs=...)");
  command->add_option("--json", arguments->json_file,
                      "Write the report as JSON to this file (-: standard output)");
  command->add_flag("-v,--verbose", arguments->text.verbose, "Print all tensors");
  command->add_flag("-q,--quiet", arguments->quiet, "Print the first line of the report only");
  command
      ->add_option("--element-limit", arguments->limits.elements,
                   "Most elements of one tensor, on all ranks and in the reference together")
      ->check(CLI::Range(1.0, 1e15))
      ->capture_default_str();
  command->footer(
      "Exit code: 0 no alarm, 1 alarm, 2 bad input, 3 could not be compared, 64 usage.\n"
      "Examples:\n"
      "  planproof compare --reference ref --candidate run --annotations megatron.yaml\n"
      "  planproof compare --reference ref --candidate run --annotations megatron.yaml "
      "--stage-inputs inputs");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunCompare(*arguments); }; });
}

}  // namespace planproof::cli
