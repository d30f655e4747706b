#include "cli/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/crash_guard.h"
#include "cli/exit_codes.h"
#include "cli/manual_page.h"
#include "report/report.h"
#include "report/text_layout.h"
#include "sdfg/declaration_ast.h"

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
  std::vector<std::string> known;
  std::string list;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (command->get_name() == name) return true;
    if (command->get_group().empty()) continue;  // hidden
    known.push_back(command->get_name());
    list += (list.empty() ? "" : ", ") + command->get_name();
  }
  const std::string near = sdfg::Nearest(name, known);
  std::fprintf(stderr, "planproof: no command '%s'%s; commands are %s (planproof --help)\n",
               report::OneLine(name, 60).c_str(),
               near.empty() ? "" : ("; did you mean '" + near + "'?").c_str(), list.c_str());
  return false;
}

// "; did you mean '--engine'?" for an option of the command that is misspelt, or nothing.
std::string NearestOption(const CLI::App& program, int argc, char** argv) {
  if (argc < 3) return "";
  for (const CLI::App* command : program.get_subcommands({})) {
    if (command->get_name() != argv[1]) continue;
    std::vector<std::string> known;
    for (const CLI::Option* option : command->get_options({})) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    for (int i = 2; i < argc; ++i) {
      const std::string given = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
      if (given.rfind("--", 0) != 0 || given == "--help" ||
          std::find(known.begin(), known.end(), given) != known.end()) {
        continue;
      }
      const std::string near = sdfg::Nearest(given, known);
      if (!near.empty())
        return "; did you mean '" + near + "' for '" + report::OneLine(given, 60) + "'?";
    }
  }
  return "";
}

// Commands for packagers: not listed.
void AddDocumentationCommands(CLI::App& program, Action& action) {
  CLI::App* manual = program.add_subcommand("manual", "Print the manual page")->group("");
  manual->callback([&program, &action] {
    action = [&program] {
      std::fputs(ManualPage(program).c_str(), stdout);
      return kSuccess;
    };
  });
  CLI::App* completion = program.add_subcommand("completion", "Print completions of a shell");
  auto shell = std::make_shared<std::string>();
  completion->group("")
      ->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&program, &action, shell] {
    action = [&program, shell] {
      std::fputs(CompletionScript(program, *shell).c_str(), stdout);
      return kSuccess;
    };
  });
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
  AddExplainCommand(program, action);
  AddShowCommand(program, action);
  AddConvertCommand(program, action);
  AddLineageCommand(program, action);
  AddMutateCommand(program, action);
  AddReplayCommand(program, action);
  AddCompareCommand(program, action);
  AddOperatorsCommand(program, action);
  AddGenerateCommand(program, action);
  AddCacheCommand(program, action);
  AddJournalCommand(program, action);
  AddMonitorCommand(program, action);
  AddDocumentationCommands(program, action);
  if (argc > 1 && argv[1][0] != '-' && !NamesACommand(program, argv[1])) return kUsageError;
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Prints help, the version or what is wrong with the arguments.
    if (program.exit(error) == 0) return kSuccess;
    const std::string near = NearestOption(program, argc, argv);
    if (!near.empty()) std::fprintf(stderr, "planproof: %s\n", near.substr(2).c_str());
    return kUsageError;
  }
  return action();
}

}  // namespace

int Main(int argc, char** argv) {
  InstallCrashGuard();
  // Nothing of ours throws across an interface; libraries may, out of memory for example.
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "planproof: internal error: %s; no verdict was reached\n", error.what());
  } catch (...) {
    std::fputs("planproof: internal error; no verdict was reached\n", stderr);
  }
  return kInternalError;
}

}  // namespace planproof::cli
