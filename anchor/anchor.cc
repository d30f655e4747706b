#include "anchor/anchor.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "anchor/call_comparison.h"
#include "anchor/held_comparison.h"
#include "anchor/initial_values.h"
#include "anchor/recorded_values.h"
#include "anchor/result_comparison.h"
#include "anchor/translation_comparison.h"
#include "sdfg/status_macros.h"

namespace planproof::anchor {
namespace {

using anchor::AnchorComparison;
using frontend::RecordedProgram;
using frontend::Recording;
using sdfg::TensorId;
using stages::AnchorOutcome;
using stages::AnchorReport;
using stages::RecordedDifference;

// Differences that a report lists; there may be one for each result.
constexpr size_t kMostDifferences = 16;

void KeepFirst(std::vector<RecordedDifference>* differences) {
  if (differences->size() > kMostDifferences) differences->resize(kMostDifferences);
}

absl::StatusOr<RecordedFiles> OpenFiles(const Recording& recording) {
  PLAN_ASSIGN_OR_RETURN(RecordedValues reference, RecordedValues::Open(recording.reference));
  RecordedFiles files{std::move(reference), {}};
  for (const RecordedProgram& program : recording.ranks) {
    PLAN_ASSIGN_OR_RETURN(RecordedValues values, RecordedValues::Open(program));
    files.ranks.push_back(std::move(values));
  }
  return files;
}

void AddResults(const RecordedProgram& program, std::vector<TensorId>* wanted) {
  for (const frontend::RecordedResult& result : program.results) {
    if (result.tensor != sdfg::kNone) wanted->push_back(result.tensor);
  }
}

// Whether required results are computed from a tensor, by tensor: what is not may have been changed
// by the reader's passes, which keep results alone.
std::vector<bool> BeforeResults(const sdfg::Graph& graph, std::vector<TensorId> results) {
  std::vector<bool> before(graph.tensors.size(), false);
  while (!results.empty()) {
    const TensorId tensor = results.back();
    results.pop_back();
    if (before[tensor]) continue;
    before[tensor] = true;
    const sdfg::OperatorId producer = graph.tensors[tensor].producer;
    if (producer == sdfg::kNone) continue;
    const std::vector<TensorId>& inputs = graph.operators[producer].inputs;
    results.insert(results.end(), inputs.begin(), inputs.end());
  }
  return before;
}

// The tensors that are compared: all results, and numbers that Python read on the way to them.
std::vector<TensorId> Compared(const std::vector<const RecordedProgram*>& programs,
                               const sdfg::Graph& graph) {
  std::vector<TensorId> wanted;
  for (const RecordedProgram* program : programs) AddResults(*program, &wanted);
  const std::vector<bool> before = BeforeResults(graph, wanted);
  for (const RecordedProgram* program : programs) {
    for (const frontend::RecordedItem& item : program->items) {
      if (item.tensor >= 0 && item.tensor < static_cast<TensorId>(before.size()) &&
          before[item.tensor])
        wanted.push_back(item.tensor);
    }
  }
  return wanted;
}

std::vector<const RecordedProgram*> RanksOf(const Recording& recording) {
  std::vector<const RecordedProgram*> programs;
  for (const RecordedProgram& program : recording.ranks) programs.push_back(&program);
  return programs;
}

class RecordingCheck {
 public:
  RecordingCheck(const Recording& recording, const lineage::Problem* problem,
                 const RunLimits& limits, RecordedFiles files)
      : recording_(recording), problem_(problem), limits_(limits), files_(std::move(files)) {}

  absl::StatusOr<AnchorComparison> Compare() {
    PLAN_ASSIGN_OR_RETURN(AnchorReport report, Run());
    return AnchorComparison{std::move(report), may_follow_from_graphs_};
  }

 private:
  absl::StatusOr<AnchorReport> Run() {
    const lineage::Problem& relations = problem_ != nullptr ? *problem_ : *recording_.relations;
    PLAN_ASSIGN_OR_RETURN(HeldComparison held,
                          CompareHeld(recording_, relations, nullptr, &files_));
    if (problem_ == nullptr && held.differences.empty()) {
      PLAN_RETURN_IF_ERROR(CompareRanks(relations, nullptr));
      if (report_.outcome != AnchorOutcome::kResultsDiffer) {
        report_.outcome = AnchorOutcome::kNotAnchored;
        report_.why = "the programs could not be read";
      }
      return std::move(report_);
    }
    ExpectedResults expected;
    absl::Status run;
    if (problem_ != nullptr && (held.differences.empty() || held.only_by_steps)) {
      run = RunGraphs(&expected);
      if (absl::IsInvalidArgument(run) || absl::IsInternal(run)) return run;
      if (run.ok() && !held.differences.empty()) {
        PLAN_ASSIGN_OR_RETURN(held,
                              CompareHeld(recording_, relations, &expected.reference, &files_));
      }
    }
    report_.held = held.compared;
    if (!held.differences.empty()) {
      if (problem_ != nullptr && held.only_by_steps) {
        PLAN_ASSIGN_OR_RETURN(may_follow_from_graphs_, GraphsMayBeWrong(run, expected));
      }
      return HeldDiffers(std::move(held));
    }
    PLAN_RETURN_IF_ERROR(CompareRanks(relations, run.ok() ? &expected : nullptr));
    if (run.ok()) {
      PLAN_RETURN_IF_ERROR(CompareTranslations(expected));
    } else if (absl::IsFailedPrecondition(run)) {
      ReportUndefined(std::string(run.message()));
    }
    const std::string why = !run.ok()                           ? std::string(run.message())
                            : report_.computed == report_.blind ? "rounding explains all numbers"
                                                                : held.missing;
    if (report_.outcome == AnchorOutcome::kAnchored && !why.empty()) {
      report_.outcome = AnchorOutcome::kNotAnchored;
      report_.why = why;
    }
    return std::move(report_);
  }

  static AnchorReport HeldDiffers(HeldComparison held) {
    AnchorReport report;
    report.held = held.compared;
    report.outcome = AnchorOutcome::kHeldDiffers;
    report.differences = std::move(held.differences);
    report.text = report.differences[0].text;
    KeepFirst(&report.differences);
    return report;
  }

  // Whether a refutation of the graphs would be one of the programs: nothing shows that they do not
  // compute what was recorded.
  absl::StatusOr<bool> GraphsMayBeWrong(const absl::Status& run, const ExpectedResults& expected) {
    if (absl::IsFailedPrecondition(run)) return false;
    if (run.ok()) PLAN_RETURN_IF_ERROR(CompareTranslations(expected));
    return report_.outcome != AnchorOutcome::kTranslationDiffers;
  }

  // Both graphs, with what rounding makes of their results.
  absl::Status RunGraphs(ExpectedResults* expected) {
    GraphRuns reference(problem_->logical, limits_), ranks(problem_->parallel, limits_);
    PLAN_RETURN_IF_ERROR(reference.CheckCost());
    PLAN_RETURN_IF_ERROR(ranks.CheckCost());
    PLAN_ASSIGN_OR_RETURN(const InitialValues of_reference,
                          InitialOfReference(recording_, problem_->logical, &files_));
    PLAN_ASSIGN_OR_RETURN(const InitialValues of_ranks,
                          InitialOfRanks(recording_, problem_->parallel, &files_));
    const std::vector<TensorId> wanted = Compared({&recording_.reference}, problem_->logical);
    PLAN_ASSIGN_OR_RETURN(expected->reference, reference.Run(of_reference, wanted, true));
    PLAN_ASSIGN_OR_RETURN(const std::optional<InitialValues> from_ranks,
                          InitialFromRanks(*problem_, of_reference, of_ranks));
    if (from_ranks) {
      PLAN_ASSIGN_OR_RETURN(expected->from_ranks, reference.Run(*from_ranks, wanted, false));
    }
    PLAN_ASSIGN_OR_RETURN(
        expected->ranks,
        ranks.Run(of_ranks, Compared(RanksOf(recording_), problem_->parallel), true));
    return absl::OkStatus();
  }

  absl::Status CompareRanks(const lineage::Problem& relations, const ExpectedResults* expected) {
    PLAN_ASSIGN_OR_RETURN(ResultComparison results,
                          CompareResults(recording_, relations, expected, &files_));
    report_.results = results.compared;
    if (results.differences.empty()) {
      report_.outcome = AnchorOutcome::kAnchored;
      report_.text = absl::StrFormat(
          "%d results of the ranks are the reference's to %.1g (relative%s)", results.compared,
          results.error, results.most.empty() ? "" : absl::StrCat(", most in ", results.most));
      return absl::OkStatus();
    }
    report_.outcome = AnchorOutcome::kResultsDiffer;
    report_.differences = std::move(results.differences);
    report_.text = report_.differences[0].text;
    if (report_.differences.size() > 1) {
      absl::StrAppend(&report_.text, "; with it ", report_.differences.size() - 1,
                      " other results differ");
    }
    KeepFirst(&report_.differences);
    return absl::OkStatus();
  }

  // What was recorded has values.
  void ReportUndefined(const std::string& what) {
    RecordedDifference difference;
    difference.text = absl::StrCat(
        "the reader does not understand the program: what was read of it has no value from the "
        "recorded ones (",
        what, "); please report this with the traces and their values");
    report_.outcome = AnchorOutcome::kTranslationDiffers;
    report_.text = difference.text;
    report_.differences = {std::move(difference)};
  }

  absl::Status CompareTranslations(const ExpectedResults& expected) {
    if (std::optional<RecordedDifference> call = CompareCalls(recording_); call) {
      report_.outcome = AnchorOutcome::kTranslationDiffers;
      report_.text = call->text;
      report_.differences = {*std::move(call)};
      return absl::OkStatus();
    }
    PLAN_RETURN_IF_ERROR(
        CompareProgram(recording_.reference, expected.reference, &files_.reference));
    for (size_t rank = 0; rank < recording_.ranks.size(); ++rank) {
      PLAN_RETURN_IF_ERROR(
          CompareProgram(recording_.ranks[rank], expected.ranks, &files_.ranks[rank]));
    }
    return absl::OkStatus();
  }

  absl::Status CompareProgram(const RecordedProgram& program, const ComputedTensors& computed,
                              RecordedValues* values) {
    PLAN_ASSIGN_OR_RETURN(TranslationComparison comparison,
                          CompareTranslation(program, computed, values));
    report_.computed += comparison.compared;
    report_.blind += comparison.blind;
    if (comparison.differences.empty() || report_.outcome == AnchorOutcome::kTranslationDiffers) {
      return absl::OkStatus();
    }
    report_.outcome = AnchorOutcome::kTranslationDiffers;
    report_.differences = std::move(comparison.differences);
    KeepFirst(&report_.differences);
    PLAN_RETURN_IF_ERROR(Locate(program, comparison.first, values));
    for (RecordedDifference& difference : report_.differences) DescribeTranslation(&difference);
    report_.text = report_.differences[0].text;
    return absl::OkStatus();
  }

  // Whether the difference is there as operators were translated, and from which operator on.
  absl::Status Locate(const RecordedProgram& program, int32_t result, RecordedValues* values) {
    const bool reference = program.rank < 0;
    RecordedDifference& first = report_.differences[0];
    const auto& translated =
        reference ? recording_.translated_reference : recording_.translated_ranks;
    if (!translated) return absl::OkStatus();
    sdfg::Graph graph = *translated;
    PLAN_RETURN_IF_ERROR(graph.Check());
    GraphRuns runs(graph, limits_);
    if (!runs.CheckCost().ok()) return absl::OkStatus();
    PLAN_ASSIGN_OR_RETURN(const InitialValues initial,
                          reference ? InitialOfReference(recording_, graph, &files_)
                                    : InitialOfRanks(recording_, graph, &files_));
    PLAN_ASSIGN_OR_RETURN(std::vector<TensorId> wanted, SketchedTensors(program, values));
    const std::vector<TensorId> compared = Compared({&program}, graph);
    wanted.insert(wanted.end(), compared.begin(), compared.end());
    PLAN_ASSIGN_OR_RETURN(const ComputedTensors computed, runs.Run(initial, wanted, true));
    PLAN_ASSIGN_OR_RETURN(const TranslationComparison before,
                          CompareTranslation(program, computed, values));
    if (before.differences.empty()) {
      first.source =
          "what was changed after all operators were read (constants that are folded, "
          "rows that data chose)";
      return absl::OkStatus();
    }
    PLAN_ASSIGN_OR_RETURN(const bool found, FindOperator(program, graph, computed, values, &first));
    if (!found && result >= 0) NameProducer(graph, program.results[result], &first);
    return absl::OkStatus();
  }

  // Without sketches the operator that makes the result is named with its line: it, or one before
  // it.
  static void NameProducer(const sdfg::Graph& graph, const frontend::RecordedResult& result,
                           RecordedDifference* difference) {
    const sdfg::OperatorId producer = graph.tensors[result.tensor].producer;
    if (producer != sdfg::kNone) difference->source = graph.operators[producer].source.ToString();
  }

  const Recording& recording_;
  const lineage::Problem* problem_;
  const RunLimits& limits_;
  RecordedFiles files_;
  AnchorReport report_;
  bool may_follow_from_graphs_ = false;
};

}  // namespace

absl::StatusOr<AnchorComparison> CompareRecording(const Recording& recording,
                                                  const lineage::Problem* problem,
                                                  const RunLimits& limits) {
  AnchorComparison comparison;
  comparison.report.outcome = AnchorOutcome::kNotAnchored;
  absl::StatusOr<RecordedFiles> files = OpenFiles(recording);
  absl::Status status = files.status();
  if (files.ok() && problem == nullptr && !recording.relations) {
    status = absl::NotFoundError("the programs could not be read");
  }
  if (status.ok()) {
    absl::StatusOr<AnchorComparison> compared =
        RecordingCheck(recording, problem, limits, *std::move(files)).Compare();
    if (compared.ok()) return compared;
    status = compared.status();
  }
  if (absl::IsInvalidArgument(status)) return status;
  comparison.report.why = absl::StrCat(absl::IsInternal(status) ? "a mistake in planproof: " : "",
                                       std::string(status.message()));
  return comparison;
}

}  // namespace planproof::anchor
