// The command `planproof`.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "cli/crash_guard.h"
#include "cli/exit_codes.h"
#include "report/json_report.h"

namespace planproof::cli {
namespace {

int Run(int argc, char** argv) {
  CLI::App program(
      "Proves that a distributed training plan computes what the single-device model says",
      "planproof");
  program.set_version_flag("--version", std::string("planproof ") + report::Version());
  program.require_subcommand(1);
  program.footer(
      "Examples:\n"
      "  planproof verify examples/mlp_tp2.json\n"
      "  planproof verify LOGICAL.pkl PARALLEL.pkl --json report.json\n"
      "  planproof COMMAND --help\n"
      "Exit code: 0 PROVED, 1 REFUTED, 2 MALFORMED, 3 UNKNOWN, 64 usage, 70 internal error.");
  Action action;
  AddVerifyCommand(program, action);
  AddShowCommand(program, action);
  AddConvertCommand(program, action);
  AddMutateCommand(program, action);
  AddOperatorsCommand(program, action);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Prints help, the version or what is wrong with the arguments.
    return program.exit(error) == 0 ? kSuccess : kUsageError;
  }
  return action();
}

}  // namespace
}  // namespace planproof::cli

int main(int argc, char** argv) {
  planproof::cli::InstallCrashGuard();
  // Nothing of ours throws across an interface; libraries may, out of memory for example.
  try {
    return planproof::cli::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "planproof: internal error: %s; no verdict was reached\n", error.what());
  } catch (...) {
    std::fputs("planproof: internal error; no verdict was reached\n", stderr);
  }
  return planproof::cli::kInternalError;
}
