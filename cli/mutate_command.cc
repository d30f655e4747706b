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
#include "mutation/deviation.h"
#include "mutation/mutate.h"
#include "mutation/plan_faults.h"
#include "report/text_layout.h"

namespace planproof::cli {
namespace {

struct MutateArguments {
  std::vector<std::string> files;
  std::string kind = "random";
  uint64_t seed = 0;
  std::string output;
  frontend::LoadOptions load;
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

// A fault in the steps of a plan's programs; the plan stays a plan of programs.
absl::StatusOr<mutation::Mutation> MutatePrograms(const MutateArguments& arguments,
                                                  const lineage::Problem& problem) {
  return mutation::MutatePlanFiles(arguments.files, problem, arguments.kind, arguments.seed,
                                   arguments.output);
}

// A fault in the operators of the graph; the plan is written in raw form.
absl::StatusOr<mutation::Mutation> MutateGraph(const MutateArguments& arguments,
                                               lineage::Problem* problem) {
  absl::StatusOr<mutation::Mutation> changed =
      mutation::Mutate(*problem, arguments.kind, arguments.seed);
  if (!changed.ok()) return changed;
  const absl::Status written = plan::WritePlanFile(*problem, arguments.output);
  if (!written.ok()) return written;
  return changed;
}

bool IsAmong(const std::vector<std::string>& kinds, const std::string& kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// Kinds that rewrite programs do so where files have programs; some are faults of graphs, too.
absl::StatusOr<mutation::Mutation> MutateAsKindSays(const MutateArguments& arguments,
                                                    lineage::Problem* problem) {
  if (!IsAmong(mutation::PlanKinds(), arguments.kind)) return MutateGraph(arguments, problem);
  absl::StatusOr<mutation::Mutation> changed = MutatePrograms(arguments, *problem);
  if (changed.ok() || !absl::IsFailedPrecondition(changed.status()) ||
      !IsAmong(mutation::Kinds(), arguments.kind)) {
    return changed;
  }
  absl::StatusOr<mutation::Mutation> in_graph = MutateGraph(arguments, problem);
  return in_graph.ok() ? in_graph : changed;
}

int RunMutate(const MutateArguments& arguments) {
  absl::StatusOr<lineage::Problem> problem = frontend::LoadProblem(arguments.files, arguments.load);
  if (!problem.ok()) return ReportError(problem.status());
  if (arguments.kind == "deviation") return RunDeviate(arguments, *problem);
  const absl::StatusOr<mutation::Mutation> changed = MutateAsKindSays(arguments, &*problem);
  if (!changed.ok()) {
    // An unknown kind, or one that this plan has no place for: nothing is said about the plan.
    std::fprintf(stderr, "planproof: %s\n", std::string(changed.status().message()).c_str());
    return kUsageError;
  }
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
      "Kinds (docs/bugs.md has them all, with the plans that have a place for them):\n"
      "  BR1, BR5   all-reduce of the forward, backward pass replaced by the identity\n"
      "  BR2, C3    an operator dropped whose result, a gradient is still read\n"
      "  BR3, BR4   all-reduce replaced by all-gather; all-gather by all-reduce\n"
      "  BR6        a tensor sent to another device\n"
      "  BR7, BR9   another eps on one rank, on all ranks\n"
      "  BR8        exponent 1 in place of 2\n"
      "  BR10, BR11 a gradient taken twice; two gradients exchanged\n"
      "  BR12, BR13 attention scores scaled twice as much on one rank, on all ranks\n"
      "  BR14       the last microbatch left out of an accumulated gradient\n"
      "  C1, C2     positions not sliced along a cut sequence; one tensor with two producers\n"
      "  GG1, GG2   rotary offset wrong in the backward pass; equal gradients added up\n"
      "  GG5, TT6, TT12  gradient of a norm, a router not summed along the sequence\n"
      "  GG6, TT3, TT4   loss scaled by the number of microbatches, by 1/cp, by 1/dp\n"
      "  TT1, TT2   ids of the next rank looked up; recomputation from a stale input\n"
      "  TT5, TT9   tied parameters updated apart; updated shards not gathered\n"
      "  TT7, TT10  a collective over another axis; layers on the wrong stage\n"
      "  TT13, TT14 gradients of keys and values in the wrong layout; a gradient summed twice\n"
      "  X1, X4, X6 clipped on one rank; scattered but not reduced; summed over its own shards\n"
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
