#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/anchoring.h"
#include "cli/commands.h"
#include "cli/confirmation.h"
#include "cli/exit_codes.h"
#include "cli/interruption.h"
#include "cli/monitors_output.h"
#include "cli/progress_bar.h"
#include "cli/proof_stores.h"
#include "cli/report_files.h"
#include "cli/terminal.h"
#include "cli/witness_output.h"
#include "cluster/mpi_port.h"
#include "cluster/shared_executor.h"
#include "diagnosis/describe.h"
#include "frontend/assumption_file.h"
#include "frontend/load_problem.h"
#include "frontend/registry.h"
#include "inference/certificate.h"
#include "inference/relation_inference.h"
#include "report/text_report.h"
#include "stages/workers/process_pool.h"
#include "strategy/reader_error.h"
#include "strategy/verify.h"

namespace planproof::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct VerifyArguments {
  std::vector<std::string> files;
  ReportFiles reports;
  std::string witness_file;
  ConfirmationArguments confirmation;
  std::string assumptions_file;
  std::string certificate_out;
  std::string certificate;
  std::string monitors_out;
  bool force = false;
  bool quiet = false;
  bool verbose = false;
  bool no_classes = false;
  bool no_explain = false;
  bool no_fold = false;
  bool no_infer = false;
  bool discard_lineage = false;
  bool require_anchor = false;
  std::string engine = "hybrid";
  std::string executor = "local";
  std::string collective_order = "index-map";
  double timeout_s = 0;             // of the whole run; 0: none
  std::string expect_schedule;      // empty: any
  std::vector<std::string> extend;  // AXIS=SIZE
  frontend::LoadOptions load;
  StoreArguments stores;
  stages::VerifyOptions verify;
};

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

stages::Engine EngineNamed(const std::string& name) {
  if (name == "smt") return stages::Engine::kSmt;
  if (name == "audit") return stages::Engine::kAudit;
  return stages::Engine::kHybrid;
}

stages::PipelineSchedule ScheduleNamed(const std::string& name) {
  if (name == "gpipe") return stages::PipelineSchedule::kGPipe;
  if (name == "1f1b") return stages::PipelineSchedule::k1F1B;
  if (name == "interleaved") return stages::PipelineSchedule::kInterleaved;
  return stages::PipelineSchedule::kAny;
}

// "dp=64" as an axis and its extent; false if it is something else.
bool ReadExtent(const std::string& text, std::pair<std::string, int64_t>* axis) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  axis->first = text.substr(0, equals);
  return absl::SimpleAtoi(text.substr(equals + 1), &axis->second) && axis->second > 0;
}

// Makes the directory that files go to; false (with a message) if nothing can be written there.
bool MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && access(path.c_str(), W_OK | X_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  if (!error && !std::filesystem::is_directory(path, error))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error) return true;
  std::fprintf(stderr, "planproof: --dump-smt %s: %s\n", path.c_str(), error.message().c_str());
  return false;
}

// For a run that is stopped while it does this.
LastWords WordsIfStopped(const VerifyArguments& arguments, const std::string& why,
                         const std::string& doing,
                         const std::vector<stages::AssumedRelation>& assumed) {
  stages::Result result;
  result.assumed = assumed;
  stages::Violation violation;
  violation.kind = why;
  violation.message = violation.cause = why + " while " + doing;
  result.violations.push_back(std::move(violation));
  result.verdict = stages::Verdict::kUnknown;
  result.engine = arguments.engine;
  LastWords words;
  words.exit_code = stages::VerdictExitCode(result.verdict);
  words.output = report::TextReport(result, {});
  if (arguments.quiet) words.output.resize(words.output.find('\n') + 1);
  for (ReportText& report : ReportTexts(arguments.reports, result, arguments.files)) {
    if (report.path == "-") {
      words.output = std::move(report.text);
    } else {
      words.files.emplace_back(std::move(report.path), std::move(report.text));
    }
  }
  return words;
}

WordsInTime LastWordsFor(const VerifyArguments& arguments, const std::string& doing,
                         const std::vector<stages::AssumedRelation>& assumed = {}) {
  return {WordsIfStopped(arguments, "interrupted", doing, assumed),
          WordsIfStopped(arguments, "out of time", doing, assumed)};
}

// People write these plans, and claim relations in them.
bool LineageCanBeClaimed(const std::vector<std::string>& files) {
  const absl::StatusOr<frontend::InputFile> file = frontend::OpenInput(files.back());
  const frontend::Reader* reader = file.ok() ? frontend::ReaderOf(*file) : nullptr;
  return reader != nullptr && reader->LineageCanBeClaimed(*file);
}

absl::StatusOr<inference::Certificate> ReadCertificate(const std::string& path) {
  const absl::StatusOr<std::string> text = frontend::ReadWholeFile(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<inference::Certificate> certificate = inference::FromText(*text);
  if (certificate.ok()) return certificate;
  return frontend::UsageError(certificate.status().code(),
                              absl::StrCat(path, ": ", std::string(certificate.status().message()),
                                           "; write it anew with --certificate-out"));
}

// False: it could not be written, which is said.
bool WriteCertificate(const std::string& path, const stages::Result& result) {
  std::ofstream file(path);
  file << inference::ToText(inference::CertificateOf(result));
  file.close();
  if (file.good()) return true;
  std::fprintf(stderr, "planproof: cannot write %s\n", path.c_str());
  return false;
}

// The exit code if there was nothing to write for the verdict, or writing failed, which is said.
std::optional<int> WriteMonitors(const VerifyArguments& arguments,
                                 const absl::StatusOr<lineage::Problem>& problem,
                                 const std::optional<frontend::Recording>& recording,
                                 const stages::Result& result) {
  if (arguments.monitors_out.empty() || !problem.ok()) return std::nullopt;
  const absl::Status written = WriteMonitorsOf(
      arguments.monitors_out, *problem, recording ? &*recording : nullptr, result, arguments.force);
  if (written.ok()) return std::nullopt;
  std::fprintf(stderr, "planproof: --monitors-out: %s\n", std::string(written.message()).c_str());
  if (result.verdict != stages::Verdict::kProved) return std::nullopt;
  return kUsageError;
}

// False, which is said: what runs the plan on numbers would run the approximations.
bool RunsAsAssumed(const VerifyArguments& arguments) {
  const char* option = arguments.confirmation.Asked()          ? "--confirm"
                       : IsStageScript(arguments.witness_file) ? "--witness-out with a name in .npz"
                                                               : nullptr;
  if (option == nullptr) return true;
  std::fprintf(stderr,
               "planproof: %s runs the plan with its approximations, which --assume takes for "
               "something else; leave one of the two out\n",
               option);
  return false;
}

int RunVerify(const VerifyArguments& arguments) {
  const Clock::time_point start = Clock::now();
  const std::string& dump = arguments.verify.dump_smt_directory;
  if (!dump.empty() && !MakeDirectory(dump)) return kUsageError;
  if (Collide(arguments.reports)) return kUsageError;
  if (!arguments.assumptions_file.empty() && !RunsAsAssumed(arguments)) return kUsageError;
  std::unique_ptr<cluster::SharedExecutor> executor;
  if (arguments.executor == "mpi") {
    if (arguments.engine != "hybrid") {
      std::fprintf(stderr, "planproof: --executor mpi shares the work of --engine hybrid only\n");
      return kUsageError;
    }
    auto port = cluster::JoinMpi();
    if (!port.ok()) {
      std::fprintf(stderr, "planproof: %s\n", std::string(port.status().message()).c_str());
      return kUsageError;
    }
    executor = std::make_unique<cluster::SharedExecutor>(*std::move(port));
  }
  frontend::LoadOptions load = arguments.load;
  load.collective_by_rank = arguments.collective_order == "rank";
  for (const std::string& axis : arguments.extend) {
    if (ReadExtent(axis, &load.extend.emplace_back())) continue;
    std::fprintf(stderr, "planproof: --extend %s: expected an axis with its size, such as dp=64\n",
                 axis.c_str());
    return kUsageError;
  }
  const bool leads = executor == nullptr || executor->Leads();
  if (!leads) IgnoreTermination();
  absl::StatusOr<ProofStores> stores;
  std::vector<std::string> asked = arguments.files;  // as the journal names it
  if (!arguments.extend.empty()) {
    asked.push_back(absl::StrCat("--extend ", absl::StrJoin(arguments.extend, ",")));
  }
  if (leads) stores = ProofStores::Open(arguments.stores, asked);
  if (leads && !stores.ok()) return ReportError(stores.status());
  stages::StopRequest* stop = nullptr;
  if (leads) stop = StopOnSignals(LastWordsFor(arguments, "the plan was read"));
  if (leads && arguments.timeout_s > 0) StopAfter(arguments.timeout_s);
  std::optional<frontend::Recording> recording;
  if (leads) load.recording = &recording;
  absl::StatusOr<lineage::Problem> problem = frontend::LoadProblem(arguments.files, load);
  const double read_s = SecondsSince(start);
  anchor::AnchorComparison anchored;
  if (recording) {
    absl::StatusOr<anchor::AnchorComparison> compared =
        CompareRecording(*recording, problem.ok() ? &*problem : nullptr);
    if (compared.ok()) {
      anchored = *std::move(compared);
      if (problem.ok()) problem->sample = RecordedSample(*recording, *problem);
    } else if (problem.ok()) {
      problem = compared.status();
    }
  }
  const double anchor_s = SecondsSince(start) - read_s;
  if (leads && !problem.ok()) ForgetLastWords();
  stages::Result result;
  const stages::StopWatch watch(stop);
  // Processes that help would wait for what is decided.
  const bool settled = anchored.DecidesAlone() && executor == nullptr;
  if (problem.ok() && settled) {
    if (leads) ForgetLastWords();
    result.assumptions = problem->assumptions;
  } else if (problem.ok()) {
    stages::VerifyOptions options = arguments.verify;
    if (!arguments.assumptions_file.empty()) {
      auto assumptions = frontend::ReadAssumptions(arguments.assumptions_file, *problem);
      if (!assumptions.ok()) {
        if (leads) ForgetLastWords();
        return ReportError(assumptions.status());
      }
      options.assume = *std::move(assumptions);
    }
    if (leads) {
      SetLastWords(LastWordsFor(arguments, "the plan was verified",
                                diagnosis::DescribeAssumptions(*problem, options.assume)));
    }
    ProgressBar bar;
    options.use_classes = !arguments.no_classes;
    options.explain = !arguments.no_explain;
    options.fold_ranks = !arguments.no_fold;
    const inference::RelationInference inference;
    if (!arguments.no_infer) options.inference = &inference;
    std::optional<inference::CertifiedRelations> certified;
    if (!arguments.certificate.empty()) {
      absl::StatusOr<inference::Certificate> certificate = ReadCertificate(arguments.certificate);
      if (!certificate.ok()) {
        if (leads) ForgetLastWords();
        return ReportError(certificate.status());
      }
      certified.emplace(*std::move(certificate), !arguments.no_infer);
      options.inference = &*certified;
    }
    options.keep_relations =
        !arguments.certificate_out.empty() || IsStageScript(arguments.witness_file);
    if (arguments.discard_lineage) inference::DiscardLineage(&*problem);
    options.engine = EngineNamed(arguments.engine);
    options.expect_schedule = ScheduleNamed(arguments.expect_schedule);
    options.keep_account = arguments.reports.Any();
    options.keep_witness = !arguments.witness_file.empty() || arguments.confirmation.Asked();
    options.progress = [&bar](const stages::Progress& progress) { bar.Update(progress); };
    options.advise_lineage = leads && LineageCanBeClaimed(arguments.files);
    options.executor = executor.get();
    options.stop = stop;
    if (leads) stores->SetOptions(&options);
    result = strategy::Verify(*problem, options);
    if (result.worker_only) return kSuccess;  // whoever leads reports
    if (leads) ForgetLastWords();
    if (leads) stores->Close(!stop->requested, &result);
    if (executor) {
      result.warnings.insert(result.warnings.end(), executor->warnings().begin(),
                             executor->warnings().end());
    }
  } else if (!leads) {
    // The report is written elsewhere, and from other copies of the files perhaps.
    std::fprintf(stderr, "planproof: a process that helps: %s\n",
                 std::string(problem.status().message()).c_str());
    return kSuccess;
  } else if (frontend::IsUsageError(problem.status()) ||
             frontend::IsInternalError(problem.status())) {
    return ReportError(problem.status());
  } else {
    result = strategy::ResultOfReaderError(problem.status());
  }
  if (!leads) return kSuccess;  // it found what the one that leads finds
  cli::ApplyAnchor(std::move(anchored), arguments.require_anchor, &result);
  result.time_s.read = read_s;
  result.time_s.anchor = recording ? anchor_s : 0;
  result.time_s.total = SecondsSince(start);
  const double own_peak_mb = stages::PeakResidentMegabytes();
  result.peak_rss_mb.largest = std::max(result.peak_rss_mb.largest, own_peak_mb);
  result.peak_rss_mb.total = std::max(result.peak_rss_mb.total, own_peak_mb);
  result.engine = arguments.engine;
  if (problem.ok() && arguments.confirmation.Asked()) {
    const double left = arguments.timeout_s > 0 ? arguments.timeout_s - result.time_s.total : 120;
    Confirm(arguments.confirmation, *problem, std::max(0.0, left), &result);
  }

  if (!WriteReports(ReportTexts(arguments.reports, result, arguments.files))) return kUsageError;
  if (!arguments.witness_file.empty() &&
      !WriteWitness(arguments.witness_file, problem.ok() ? &*problem : nullptr, result))
    return kUsageError;
  if (!arguments.certificate_out.empty() && !WriteCertificate(arguments.certificate_out, result))
    return kUsageError;
  const std::optional<int> no_monitors = WriteMonitors(arguments, problem, recording, result);
  if (!arguments.reports.TakeOutput()) {
    report::TextOptions text;
    text.color = ColorOnOutput();
    if (!arguments.quiet) text.columns = OutputColumns();  // the first line stays one
    text.verbose = arguments.verbose;
    text.lineage_can_be_claimed = LineageCanBeClaimed(arguments.files);
    std::string report = report::TextReport(result, text);
    if (arguments.quiet) report.resize(report.find('\n') + 1);
    std::fputs(report.c_str(), stdout);
    std::fflush(stdout);  // before other processes are waited for
  }
  return no_monitors.value_or(stages::VerdictExitCode(result.verdict));
}

}  // namespace

void AddVerifyCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "verify", "Prove that a parallel plan computes what the logical graph says, or refute it");
  auto arguments = std::make_shared<VerifyArguments>();
  arguments->verify.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  command
      ->add_option(
          "FILES", arguments->files,
          "One plan file with specification and plan, LOGICAL PARALLEL, or PyTorch traces: "
          "REFERENCE RANK...")
      ->required()
      ->expected(-1);
  AddReportOptions(command, &arguments->reports);
  command->add_flag("-q,--quiet", arguments->quiet, "Print the first line of the report only");
  command->add_flag("-v,--verbose", arguments->verbose,
                    "Print the values of a counterexample in full, and all its inputs");
  command->add_option("-j,--jobs", arguments->verify.jobs, "Worker processes (default: cores)")
      ->check(CLI::Range(1, 1024));
  command->add_flag(
      "--require-anchor", arguments->require_anchor,
      "PyTorch traces: give no verdict where what was read of them cannot be compared "
      "with recorded numbers (docs/anchor.md)");
  command
      ->add_option(
          "--timeout", arguments->timeout_s,
          "Seconds for the whole run, which then ends with what is known; at most two more "
          "for the report")
      ->check(CLI::Range(0.001, 1e9));
  command
      ->add_option("--stage-timeout", arguments->verify.stage_timeout_s,
                   "Seconds for one claim; then it is UNKNOWN")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  command
      ->add_option("--memory-limit", arguments->verify.memory_limit_mb,
                   "Memory of one worker, in MB; beyond it the claim is UNKNOWN")
      ->check(CLI::Range(16, 1 << 24))
      ->capture_default_str();
  command
      ->add_option("--work-limit", arguments->verify.work_limit,
                   "Work on one claim, as a multiple of the usual; then it is UNKNOWN")
      ->check(CLI::Range(0.01, 1e4))
      ->capture_default_str();
  command
      ->add_option("--engine", arguments->engine,
                   "hybrid: normal form; smt: Z3 in its place; audit: both on every claim")
      ->check(CLI::IsMember({"hybrid", "smt", "audit"}))
      ->capture_default_str();
  command
      ->add_option("--executor", arguments->executor,
                   "local: worker processes here; mpi: classes are shared among the processes that"
                   " mpirun or srun started")
      ->check(CLI::IsMember({"local", "mpi"}))
      ->capture_default_str();
  command->add_flag("--no-classes", arguments->no_classes,
                    "Decide every claim by itself, also where an equal one is decided");
  command->add_flag("--no-fold", arguments->no_fold,
                    "Decide a plan that spells every rank out as it is, without a coordinate for "
                    "ranks that do the same");
  command->add_flag("--no-infer", arguments->no_infer,
                    "Use the relations that the plan states only; do not infer those of other "
                    "tensors");
  command->add_flag("--discard-lineage", arguments->discard_lineage,
                    "Forget what the plan says of tensors that it computes, and infer it");
  command->add_flag("--no-explain", arguments->no_explain,
                    "Do not look for a counterexample: a wrong plan is UNKNOWN, but soon");
  command->add_flag("--accept-restrictions", arguments->verify.accept_restrictions,
                    "Prove also a plan that has no value on some inputs on which the model has one "
                    "(a division by zero of its own); the conditions are listed");
  command
      ->add_option("--expect-schedule", arguments->expect_schedule,
                   "Check that the pipeline's order of microbatches is gpipe, 1f1b or interleaved")
      ->check(CLI::IsMember({"gpipe", "1f1b", "interleaved"}));
  command->add_option(
      "--witness-out", arguments->witness_file,
      "Write the counterexample, if there is one, as data into this file; to a name in"
      " .npz the stage that is wrong, and beside it a script that runs it in NumPy"
      " (docs/witness-format.md)");
  AddConfirmationOptions(command, &arguments->confirmation);
  command->add_option("--assume", arguments->assumptions_file,
                      "Take the relations of this file for granted: approximations that somebody "
                      "approves, such as batch statistics per rank. Everything else is still "
                      "proved, and every report lists them (docs/assumptions.md)");
  command->add_option("--certificate-out", arguments->certificate_out,
                      "Write the relations that were proved into this file (docs/inference.md)");
  command->add_option("--certificate", arguments->certificate,
                      "Claim the relations of this file; what it does not mention is inferred, "
                      "with --no-infer nothing else");
  command->add_option("--monitors-out", arguments->monitors_out,
                      "Write what a proof says of the tensors that ranks hold into this file, for "
                      "planproof monitor check --monitors (docs/monitor-format.md)");
  command->add_flag("--force", arguments->force,
                    "Write monitors of a verdict that is not anchored, too");
  command->add_option("--dump-smt", arguments->verify.dump_smt_directory,
                      "Write every claim as SMT-LIB 2 into this directory");
  AddStoreOptions(command, &arguments->stores);
  command->add_option("--operators", arguments->load.operators_file,
                      "Declarations of further operators");
  command
      ->add_option("--extend", arguments->extend,
                   "PyTorch traces of some ranks: those that are missing along this axis of the "
                   "mesh, which is of this size, run the same program with their own coordinates. "
                   "Give two ranks or more along it; what contradicts it in them is an error, and "
                   "that it is so is listed as assumed (docs/torch.md)")
      ->type_name("AXIS=SIZE")
      ->allow_extra_args(false)  // files may follow
      ->delimiter(',');
  command
      ->add_option("--collective-order", arguments->collective_order,
                   "Order of the pieces of a collective in nnScaler plans: by the index maps that"
                   " the file declares, or by position in the group as a runtime does")
      ->check(CLI::IsMember({"index-map", "rank"}))
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  planproof verify examples/mlp_tp2.json\n"
      "  planproof verify single_device.pkl dp2_pp2_tp2.pkl --json report.json\n"
      "  planproof verify plan.json --html report.html --sarif report.sarif --junit report.xml\n"
      "  planproof verify plan.json --operators my.op --engine audit\n"
      "  planproof verify plan.json --assume approved.json\n"
      "  planproof verify reference.trace rank0.trace rank1.trace --extend dp=64\n"
      "  mpirun -n 4 planproof verify logical.plan parallel.plan --executor mpi --journal "
      "run.journal\n"
      "Exit code: 0 PROVED, 1 REFUTED, 2 MALFORMED, 3 UNKNOWN, 64 usage, 70 internal error.");
  command->callback(
      [arguments, &action] { action = [arguments] { return RunVerify(*arguments); }; });
}

}  // namespace planproof::cli
