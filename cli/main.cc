// The command `planproof`.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/crash_guard.h"
#include "cli/exit_codes.h"
#include "report/json_report.h"
#include "report/text_layout.h"

namespace planproof::cli {
namespace {

// "FILES..." where CLI11 writes "FILES(1x)".
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string name = make_option_name(option, /*is_positional=*/true) +
                             (option->get_expected_max() > 1 ? "..." : "");
    return option->get_required() ? name : "[" + name + "]";
  }
};

// The first argument names a subcommand; says which there are if it does not.
bool NamesACommand(const CLI::App& program, const char* name) {
  std::string known;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (command->get_name() == name) return true;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  std::fprintf(stderr, "planproof: no command '%s'; commands are %s (planproof --help)\n",
               report::OneLine(name, 60).c_str(), known.c_str());
  return false;
}

int Run(int argc, char** argv) {
  CLI::App program(
      "Proves that a distributed training plan computes what the single-device model says",
      "planproof");
  program.set_version_flag("--version", std::string("planproof ") + report::Version());
  program.require_subcommand(1);
  program.formatter(std::make_shared<HelpFormat>());
  program.footer(
      "Examples:\n"
      "  planproof verify examples/mlp_tp2.json\n"
      "  planproof verify LOGICAL.pkl PARALLEL.pkl --json report.json\n"
      "  planproof operators softmax\n"
      "  planproof COMMAND --help\n"
      "Exit code: 0 PROVED, 1 REFUTED, 2 MALFORMED, 3 UNKNOWN, 64 usage, 70 internal error.");
  Action action;
  AddVerifyCommand(program, action);
  AddShowCommand(program, action);
  AddConvertCommand(program, action);
  AddMutateCommand(program, action);
  AddOperatorsCommand(program, action);
  AddGenerateCommand(program, action);
  AddCacheCommand(program, action);
  AddJournalCommand(program, action);
  if (argc > 1 && argv[1][0] != '-' && !NamesACommand(program, argv[1])) return kUsageError;
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
