#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/load_problem.h"
#include "cli/readers.h"

namespace planproof::cli {
namespace {

struct ConvertArguments {
  std::vector<std::string> files;
  std::string output;
  LoadOptions load;
};

int RunConvert(const ConvertArguments& arguments) {
  const absl::StatusOr<lineage::Problem> problem = LoadProblem(arguments.files, arguments.load);
  if (!problem.ok()) return ReportError(problem.status(), arguments.files);
  const absl::Status written = WritePlanFile(*problem, arguments.output);
  if (!written.ok()) return ReportError(written, arguments.files);
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
      ->expected(1, 2);
  command
      ->add_option("-o,--output", arguments->output,
                   "File to write: JSON if its name ends in .json, else binary")
      ->required();
  command->add_option("--operators", arguments->load.operators_file,
                      "Declarations of further operators");
  command->footer(
      "Example:\n"
      "  planproof convert single_device.pkl dp2_pp2_tp2.pkl -o llama.plan\n"
      "  planproof verify llama.plan");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunConvert(*arguments); }; });
}

}  // namespace planproof::cli
