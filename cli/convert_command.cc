#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "frontend/load_problem.h"
#include "frontend/plan/plan_output.h"
#include "frontend/plan/write_file.h"
#include "frontend/registry.h"

namespace planproof::cli {
namespace {

struct ConvertArguments {
  std::vector<std::string> files;
  std::string output;
  bool readable = false;
  frontend::LoadOptions load;
};

int RunReadable(const ConvertArguments& arguments) {
  for (const std::string& file : arguments.files) {
    const absl::StatusOr<frontend::InputFile> input = frontend::OpenInput(file);
    if (!input.ok()) return ReportError(input.status());
    if (frontend::ReaderOf(*input) != &frontend::nnscaler::PicklePairs()) continue;
    return ReportError(frontend::UsageError(
        absl::StatusCode::kInvalidArgument,
        file + ": --readable is for plans of programs; what is read from pickles is "
               "graphs, which planproof show --operators lists"));
  }
  const absl::StatusOr<std::string> text = plan::ReadableForm(arguments.files);
  if (!text.ok()) return ReportError(text.status());
  const absl::Status written = plan::WriteFile(arguments.output, *text);
  if (!written.ok()) {
    return ReportError(frontend::UsageError(written.code(), std::string(written.message())));
  }
  std::printf("%s: %zu lines\n", arguments.output.c_str(),
              static_cast<size_t>(std::count(text->begin(), text->end(), '\n')));
  return kSuccess;
}

int RunConvert(const ConvertArguments& arguments) {
  if (arguments.readable) return RunReadable(arguments);
  const absl::StatusOr<lineage::Problem> problem =
      frontend::LoadProblem(arguments.files, arguments.load);
  if (!problem.ok()) return ReportError(problem.status());
  const absl::Status written = plan::WritePlanFile(*problem, arguments.output);
  if (!written.ok()) {
    return ReportError(frontend::UsageError(written.code(), std::string(written.message())));
  }
  std::printf("%s: %zu logical and %zu parallel operators, %zu required outputs\n",
              arguments.output.c_str(), problem->logical.operators.size(),
              problem->parallel.operators.size(), problem->required.size());
  return kSuccess;
}

}  // namespace

void AddConvertCommand(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("convert", "Rewrite what any reader understands in plan format");
  auto arguments = std::make_shared<ConvertArguments>();
  command->add_option("IN", arguments->files, "One plan file, or LOGICAL PARALLEL")
      ->required()
      ->expected(-1);
  command
      ->add_option("-o,--output", arguments->output,
                   "File to write: JSON if its name ends in .json, else binary")
      ->required();
  command->add_flag("--readable", arguments->readable,
                    "Write the plan's own words as JSON for people, one operator per line; for "
                    "plan files only, whichever form they have");
  command->add_option("--operators", arguments->load.operators_file,
                      "Declarations of further operators");
  command->footer(
      "Example:\n"
      "  planproof convert single_device.pkl dp2_pp2_tp2.pkl -o llama.plan\n"
      "  planproof verify llama.plan\n"
      "  planproof convert --readable logical.plan parallel.plan -o llama.json");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunConvert(*arguments); }; });
}

}  // namespace planproof::cli
