// In builds of the prover alone (PLANPROOF_PROVER_ONLY): what stands in for the commands and
// options that run plans, make them or change them. Each says where it is to be had.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "cli/anchoring.h"
#include "cli/commands.h"
#include "cli/confirmation.h"
#include "cli/exit_codes.h"
#include "cli/monitors_output.h"
#include "cli/stage_script_output.h"

namespace planproof::cli {
namespace {

std::string NotHere(const std::string& what) {
  return what +
         " is not part of the prover alone, which `make demo` builds; build the whole with `make`";
}

// Not listed in the help; takes whatever arguments the whole program's command has.
void AddAbsentCommand(CLI::App& program, Action& action, const std::string& name) {
  CLI::App* command = program.add_subcommand(name)->group("");
  command->allow_extras();
  command->callback([&action, name] {
    action = [name] {
      std::fprintf(stderr, "planproof: %s\n", NotHere("'" + name + "'").c_str());
      return kUsageError;
    };
  });
}

}  // namespace

void AddMutateCommand(CLI::App& program, Action& action) {
  AddAbsentCommand(program, action, "mutate");
}
void AddReplayCommand(CLI::App& program, Action& action) {
  AddAbsentCommand(program, action, "replay");
}
void AddCompareCommand(CLI::App& program, Action& action) {
  AddAbsentCommand(program, action, "compare");
}
void AddGenerateCommand(CLI::App& program, Action& action) {
  AddAbsentCommand(program, action, "generate");
}
void AddMonitorCommand(CLI::App& program, Action& action) {
  AddAbsentCommand(program, action, "monitor");
}

void AddConfirmationOptions(CLI::App* command, ConfirmationArguments* arguments) {
  for (const char* name : {"--confirm", "--confirm-dtype"}) {
    command->add_option(name, arguments->device)->group("")->check([name](const std::string&) {
      return NotHere(name);
    });
  }
}

absl::Status WriteMonitorsOf(const std::string&, const lineage::Problem&,
                             const frontend::Recording*, const stages::Result&, bool) {
  return absl::FailedPreconditionError(NotHere("--monitors-out"));
}

void Confirm(const ConfirmationArguments&, const lineage::Problem&, double, stages::Result*) {}

absl::StatusOr<anchor::AnchorComparison> CompareRecording(const frontend::Recording&,
                                                          const lineage::Problem*) {
  return anchor::AnchorComparison{};
}

std::shared_ptr<const lineage::SampledInputs> RecordedSample(const frontend::Recording&,
                                                             const lineage::Problem&) {
  return nullptr;
}

void ApplyAnchor(anchor::AnchorComparison, bool, stages::Result*) {}

absl::Status WriteStageScript(const std::string&, const lineage::Problem&, const stages::Result&) {
  return absl::UnimplementedError(NotHere("a stage's script"));
}

}  // namespace planproof::cli
