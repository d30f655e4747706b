#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/load_problem.h"
#include "cli/readers.h"
#include "frontend/mutation/deviation.h"
#include "frontend/mutation/mutate.h"
#include "report/text_layout.h"

namespace planproof::cli {
namespace {

struct MutateArguments {
  std::vector<std::string> files;
  std::string kind = "random";
  uint64_t seed = 0;
  std::string output;
  LoadOptions load;
};

// One operator instance deviates; the plan stays a plan of programs.
int RunDeviate(const MutateArguments& arguments, const lineage::Problem& problem) {
  const absl::StatusOr<mutation::Deviation> changed =
      mutation::DeviateFiles(arguments.files, problem, arguments.seed, arguments.output);
  if (!changed.ok()) {
    std::fprintf(stderr, "planproof: %s\n", std::string(changed.status().message()).c_str());
    return kUsageError;
  }
  std::printf("%s\n", report::OneLine(changed->what, 1000).c_str());
  return kSuccess;
}

int RunMutate(const MutateArguments& arguments) {
  absl::StatusOr<lineage::Problem> problem = LoadProblem(arguments.files, arguments.load);
  if (!problem.ok()) return ReportError(problem.status(), arguments.files);
  if (arguments.kind == "deviation") return RunDeviate(arguments, *problem);
  const absl::StatusOr<mutation::Mutation> changed =
      mutation::Mutate(*problem, arguments.kind, arguments.seed);
  if (!changed.ok()) {
    // An unknown kind, or one that this plan has no place for: nothing is said about the plan.
    std::fprintf(stderr, "planproof: %s\n", std::string(changed.status().message()).c_str());
    return kUsageError;
  }
  const absl::Status written = WritePlanFile(*problem, arguments.output);
  if (!written.ok()) return ReportError(written, arguments.files);
  std::printf("%s\n", report::OneLine(changed->what, 1000).c_str());
  return kSuccess;
}

}  // namespace

void AddMutateCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "mutate", "Put one fault into a plan, to see whether it is found; prints what was changed");
  auto arguments = std::make_shared<MutateArguments>();
  command->add_option("PLAN", arguments->files, "One plan file, or LOGICAL PARALLEL")
      ->required()
      ->expected(1, 2);
  command->add_option("--kind", arguments->kind, "A kind of fault from the list below, or random")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "Which place, or which random fault")
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output, "File to write, in plan format")
      ->required();
  command->add_option("--operators", arguments->load.operators_file,
                      "Declarations of further operators");
  command->footer(
      "Kinds (docs/bugs.md):\n"
      "  BR1, BR5   all-reduce of the forward, backward pass replaced by the identity\n"
      "  BR2, C3    an operator dropped whose result, a gradient is still read\n"
      "  BR3, BR4   all-reduce replaced by all-gather; all-gather by all-reduce\n"
      "  BR6        a tensor sent to another device\n"
      "  BR7, BR9   another eps on one rank, on all ranks\n"
      "  BR8        exponent 1 in place of 2\n"
      "  BR10, BR11 a gradient taken twice; two gradients exchanged\n"
      "  BR12, BR13 a divisor doubled on one rank, on all ranks\n"
      "  BR14       the last microbatch left out of an accumulated gradient\n"
      "  C1, C2     positions not sliced along a cut sequence; one tensor with two producers\n"
      "  S1, S2     a step of a schedule exchanged with one that reads its results; with another\n"
      "             microbatch's, whose messages then cross\n"
      "  random     one of many small faults, chosen by --seed\n"
      "  deviation  one operator on one rank in one microbatch does something else, chosen by\n"
      "             --seed; for plans in plan format, of any size\n"
      "Examples:\n"
      "  planproof mutate examples/mlp_tp2.json --kind BR1 -o broken.plan\n"
      "  planproof mutate single.pkl parallel.pkl --kind random --seed 17 -o broken.plan\n"
      "  planproof verify broken.plan");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunMutate(*arguments); }; });
}

}  // namespace planproof::cli
