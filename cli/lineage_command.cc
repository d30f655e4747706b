// planproof lineage: infers and proves relations, and writes them into the plan.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "frontend/load_problem.h"
#include "frontend/plan/lineage_output.h"
#include "frontend/plan/write_file.h"
#include "frontend/registry.h"
#include "inference/relation_inference.h"
#include "report/text_report.h"
#include "strategy/verify.h"

namespace planproof::cli {
namespace {

struct LineageArguments {
  std::vector<std::string> files;
  std::string output;
  bool discard = false;
  frontend::LoadOptions load;
  stages::VerifyOptions verify;
};

absl::Status CheckHasLineage(const std::string& file) {
  const absl::StatusOr<frontend::InputFile> input = frontend::OpenInput(file);
  if (!input.ok()) return input.status();
  const frontend::Reader* reader = frontend::ReaderOf(*input);
  if (reader != nullptr && reader->LineageCanBeClaimed(*input)) return absl::OkStatus();
  return frontend::UsageError(
      absl::StatusCode::kInvalidArgument,
      file +
          ": only plans of programs state lineage; for others, write a certificate "
          "(planproof verify --certificate-out)");
}

std::vector<plan::StatedRelation> ToState(const std::vector<stages::ProvedRelation>& proved) {
  std::vector<plan::StatedRelation> stated;
  for (const stages::ProvedRelation& relation : proved) {
    if (!relation.inferred) continue;
    stated.push_back({relation.tensor, relation.logical, relation.factor, relation.map});
  }
  return stated;
}

int RunLineage(const LineageArguments& arguments) {
  if (const absl::Status status = CheckHasLineage(arguments.files.back()); !status.ok()) {
    return ReportError(status);
  }
  absl::StatusOr<lineage::Problem> problem = frontend::LoadProblem(arguments.files, arguments.load);
  if (!problem.ok()) return ReportError(problem.status());
  // Whether the plan can be written at all is said before the work.
  const auto bare = plan::WithLineage(arguments.files, *problem, {});
  if (!bare.ok()) return ReportError(bare.status());
  if (arguments.discard) inference::DiscardLineage(&*problem);
  stages::VerifyOptions options = arguments.verify;
  const inference::RelationInference inference;
  options.inference = &inference;
  options.keep_relations = true;
  options.fold_ranks = false;  // relations of the plan's own tensors
  const stages::Result result = strategy::Verify(*problem, options);
  std::string report = report::TextReport(result, {});
  report.resize(report.find('\n') + 1);
  std::fputs(report.c_str(), stdout);

  const absl::StatusOr<plan::PlanWithLineage> written =
      plan::WithLineage(arguments.files, *problem, ToState(result.proved_relations));
  if (!written.ok()) return ReportError(written.status());
  const absl::Status status = plan::WriteFile(arguments.output, written->text);
  if (!status.ok()) {
    return ReportError(frontend::UsageError(status.code(), std::string(status.message())));
  }
  std::printf("%s: %lld relations\n", arguments.output.c_str(),
              static_cast<long long>(written->stated));
  if (!written->unnamed.empty()) {
    std::vector<std::string> some = written->unnamed;
    some.resize(std::min<size_t>(some.size(), 5));
    std::printf("without a name in the plan, left out: %zu, such as %s\n", written->unnamed.size(),
                absl::StrJoin(some, ", ").c_str());
  }
  return stages::VerdictExitCode(result.verdict);
}

}  // namespace

void AddLineageCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "lineage", "Infer what the tensors of a plan are, prove it, and write it into the plan");
  auto arguments = std::make_shared<LineageArguments>();
  arguments->verify.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  command
      ->add_option(
          "FILES", arguments->files,
          "One plan file with specification and plan, LOGICAL PARALLEL, or PyTorch traces: "
          "REFERENCE RANK...")
      ->required()
      ->expected(-1);
  command
      ->add_option("-o,--output", arguments->output,
                   "File to write: the plan as JSON for people, with its lineage")
      ->required();
  command->add_flag("--discard-lineage", arguments->discard,
                    "Forget what the plan says of tensors that it computes, and infer it");
  command->add_option("--operators", arguments->load.operators_file,
                      "Declarations of further operators");
  command->footer(
      "Example:\n"
      "  planproof lineage plan.json -o plan.with-lineage.json\n"
      "  planproof verify --no-infer plan.with-lineage.json");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunLineage(*arguments); }; });
}

}  // namespace planproof::cli
