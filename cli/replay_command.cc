#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/report_files.h"
#include "cli/terminal.h"
#include "frontend/load_problem.h"
#include "report/replay_report.h"
#include "report/text_layout.h"
#include "runtime_check/cuda/open_cuda.h"
#include "runtime_check/executor.h"
#include "runtime_check/full_inputs.h"
#include "runtime_check/replay.h"
#include "stages/verdict.h"
#include "witness/witness_file.h"

namespace planproof::cli {
namespace {

struct ReplayArguments {
  std::vector<std::string> files;
  std::string witness;
  uint64_t seed = 0;
  std::string dtype = "float64";
  std::string device = "cpu";
  std::string json_file;
  bool verbose = false;
  bool quiet = false;
  frontend::LoadOptions load;
  runtime_check::ReplayOptions replay;
};

absl::StatusOr<runtime_check::Inputs> ReadWitness(const ReplayArguments& arguments,
                                                  const lineage::Problem& problem) {
  const absl::StatusOr<witness::Witness> witness = witness::ReadFile(arguments.witness);
  if (!witness.ok()) {
    const std::string message = absl::StrCat("--witness ", arguments.witness, ": ",
                                             std::string(witness.status().message()));
    return absl::IsNotFound(witness.status())
               ? frontend::UsageError(witness.status().code(), message)
               : absl::Status(witness.status().code(), message);
  }
  return runtime_check::InputsOf(*witness, problem, arguments.replay.arithmetic);
}

// Of a plan that was read: nothing was found out.
int NotRun(const absl::Status& status) {
  if (!absl::IsFailedPrecondition(status)) return ReportError(status);
  std::fprintf(stderr, "planproof: %s\n",
               report::OneLine(std::string(status.message()), 1000).c_str());
  return stages::VerdictExitCode(stages::Verdict::kUnknown);
}

int RunReplay(ReplayArguments arguments) {
  std::unique_ptr<runtime_check::Backend> backend;
  if (arguments.device != "cpu") {
    auto opened = runtime_check::cuda::OpenCuda();
    if (absl::IsUnimplemented(opened.status())) {
      std::fprintf(stderr, "planproof: --device %s: %s; use --device cpu\n",
                   arguments.device.c_str(), std::string(opened.status().message()).c_str());
      return kUsageError;
    }
    if (opened.ok()) {
      backend = *std::move(opened);
    } else {
      std::fprintf(stderr, "planproof: --device %s: no CUDA device (%s); the CPU is used\n",
                   arguments.device.c_str(), std::string(opened.status().message()).c_str());
    }
  }
  arguments.replay.backend = backend.get();
  const sdfg::DType type = sdfg::DTypeFromName(arguments.dtype);
  arguments.replay.arithmetic = type;
  const absl::StatusOr<lineage::Problem> problem =
      frontend::LoadProblem(arguments.files, arguments.load);
  if (!problem.ok()) return ReportError(problem.status());
  runtime_check::Programs programs;
  const absl::Status limits = runtime_check::CheckLimits(*problem, arguments.replay, &programs);
  if (!limits.ok()) return NotRun(limits);
  const bool random = arguments.witness.empty();
  if (!random) arguments.replay.perturbation = runtime_check::Perturbation::kByValue;
  const absl::StatusOr<runtime_check::Inputs> inputs =
      random ? runtime_check::RandomInputs(*problem, type, arguments.seed)
             : ReadWitness(arguments, *problem);
  if (!inputs.ok()) return NotRun(inputs.status());
  const absl::StatusOr<runtime_check::ReplayReport> replay =
      runtime_check::Replay(*problem, *inputs, arguments.replay, &programs);
  if (!replay.ok()) return NotRun(replay.status());
  report::ReplayText text;
  text.inputs = random ? absl::StrCat("random, seed ", arguments.seed)
                       : absl::StrCat("witness ", arguments.witness);
  if (backend != nullptr) text.device = backend->Name();
  text.verbose = arguments.verbose;
  text.color = ColorOnOutput();
  if (!arguments.json_file.empty() &&
      !WriteReports(
          {{arguments.json_file, report::JsonReplayReport(*problem, *replay, arguments.replay, text,
                                                          arguments.files)}})) {
    return kUsageError;
  }
  if (arguments.json_file != "-") {
    std::string out = report::TextReplayReport(*problem, *replay, arguments.replay, text);
    if (arguments.quiet) out.resize(out.find('\n') + 1);
    std::fputs(out.c_str(), stdout);
  }
  return report::ReplayExitCode(*replay);
}

}  // namespace

void AddReplayCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "replay",
      "Run model and plan on numbers, all devices simulated, and compare them tensor by tensor");
  auto arguments = std::make_shared<ReplayArguments>();
  arguments->replay.exact = true;
  command
      ->add_option("FILES", arguments->files,
                   "As for verify: one plan file, LOGICAL PARALLEL, or PyTorch traces")
      ->required()
      ->expected(-1);
  CLI::Option* witness = command->add_option("--witness", arguments->witness,
                                             "Inputs: a file that verify --witness-out wrote");
  command->add_option("--seed", arguments->seed, "Inputs: random ones, which")
      ->capture_default_str()
      ->excludes(witness);
  command
      ->add_option("--dtype", arguments->dtype,
                   "Arithmetic; the result of every operator is rounded to this type")
      ->check(CLI::IsMember(
          {"float64", "float32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2"}))
      ->capture_default_str();
  command->add_option("--device", arguments->device, "Where it runs: cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command
      ->add_option("--samples", arguments->replay.samples,
                   "Runs of the model on perturbed inputs, from which round-off is estimated")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--by-stage", arguments->replay.by_stage,
                    "Feed every stage what the model has, so that one that is wrong alarms alone");
  command->add_flag(
      "--exact,!--no-exact", arguments->replay.exact,
      "In narrower types: replay the same inputs in float64, too, where rounding hides "
      "nothing of a wrong plan");
  command->add_option("--json", arguments->json_file,
                      "Write the report as JSON to this file (-: standard output)");
  command->add_flag("-v,--verbose", arguments->verbose, "Print all tensors that are compared");
  command->add_flag("-q,--quiet", arguments->quiet, "Print the first line of the report only");
  command->add_option("--operators", arguments->load.operators_file,
                      "Declarations of further operators");
  command
      ->add_option("--element-limit", arguments->replay.element_limit,
                   "Most elements of all tensors together")
      ->check(CLI::Range(1.0, 1e15))
      ->capture_default_str();
  command
      ->add_option("--work-limit", arguments->replay.work_limit,
                   "Most operations on elements in all runs")
      ->check(CLI::Range(1.0, 1e18))
      ->capture_default_str();
  command->footer(
      "Exit code: 0 no alarm, 1 alarm, 2 bad input, 3 could not be run, 64 usage.\n"
      "Examples:\n"
      "  planproof replay examples/mlp_tp2.json\n"
      "  planproof replay LOGICAL.plan PARALLEL.plan --dtype bfloat16 --seed 7\n"
      "  planproof replay broken.json --dtype float8_e4m3 --by-stage\n"
      "  planproof verify broken.json --witness-out w.safetensors\n"
      "  planproof replay broken.json --witness w.safetensors");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunReplay(*arguments); }; });
}

}  // namespace planproof::cli
