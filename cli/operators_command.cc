#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "frontend/load_problem.h"
#include "frontend/plan/remedies.h"
#include "report/text_layout.h"
#include "sdfg/declaration_ast.h"

namespace planproof::cli {
namespace {

struct OperatorsArguments {
  std::string name;
  std::string operators_file;
};

// What was probably meant by a name that is not declared.
std::string Remedy(const std::string& name, const std::vector<std::string>& declared) {
  const std::string collective = plan::CollectiveLike(name);
  if (!collective.empty()) {
    return collective + " is a collective of the plan format: docs/plan-format.md";
  }
  // The shortest that have it in them, which have the least beside it.
  constexpr size_t kMostNames = 6;
  std::vector<std::string> having;
  for (const std::string& known : declared) {
    if (name.size() >= 2 && known.find(name) != std::string::npos) having.push_back(known);
  }
  std::stable_sort(having.begin(), having.end(),
                   [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  having.resize(std::min(having.size(), kMostNames));
  std::sort(having.begin(), having.end());
  std::string similar;
  for (const std::string& known : having) similar += (similar.empty() ? "" : ", ") + known;
  if (similar.empty()) similar = sdfg::Nearest(name, declared);
  if (!similar.empty()) return "there is " + similar;
  return "'planproof operators' lists them";
}

int RunOperators(const OperatorsArguments& arguments) {
  const absl::StatusOr<sdfg::OperatorLibrary> library =
      frontend::LoadOperators(arguments.operators_file);
  if (!library.ok()) return ReportError(library.status());
  if (!arguments.name.empty()) {
    if (!library->Contains(arguments.name)) {
      std::fprintf(stderr, "planproof: no operator '%s' is declared; %s\n",
                   report::OneLine(arguments.name, 60).c_str(),
                   Remedy(arguments.name, library->Names()).c_str());
      return kUsageError;
    }
    std::fputs(library->Page(arguments.name).c_str(), stdout);
    return kSuccess;
  }
  for (const std::string& name : library->Names()) std::printf("%s\n", name.c_str());
  return kSuccess;
}

}  // namespace

void AddOperatorsCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "operators", "The declared operators, or the reference page of one of them");
  auto arguments = std::make_shared<OperatorsArguments>();
  command->add_option("NAME", arguments->name, "Print this operator's page");
  command->add_option("--operators", arguments->operators_file,
                      "Declarations of further operators (checked, and listed too)");
  command->footer(
      "Examples:\n"
      "  planproof operators\n"
      "  planproof operators softmax\n"
      "  planproof operators my_norm --operators my.op");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunOperators(*arguments); }; });
}

}  // namespace planproof::cli
