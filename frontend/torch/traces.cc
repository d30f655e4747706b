// The reader of PyTorch traces, as the registry knows it: a reference and the traces of all ranks.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/registry.h"
#include "frontend/torch/flat_pieces.h"
#include "frontend/torch/problem_of_traces.h"
#include "frontend/torch/rank_extension.h"
#include "frontend/torch/recording_of_traces.h"
#include "frontend/torch/trace.h"
#include "frontend/torch/trace_format.h"
#include "frontend/torch/unnamed_states.h"
#include "frontend/torch/wrapper_names.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// The reference's trace, then the ranks' in their order. The reference is the first, or, where
// several ranks are given, the one of one process.
absl::StatusOr<std::vector<Trace>> ReadAll(const std::vector<std::string>& paths) {
  std::vector<Trace> traces;
  for (const std::string& path : paths) {
    PLAN_ASSIGN_OR_RETURN(traces.emplace_back(), ReadTrace(path));
  }
  const auto alone = [](const Trace& trace) { return trace.world == 1; };
  const auto reference = std::find_if(traces.begin(), traces.end(), alone);
  if (traces.size() > 2 && reference != traces.end()) {
    std::rotate(traces.begin(), reference, reference + 1);
  }
  return traces;
}

// Each rank once, rank 0 first.
absl::Status OrderRanks(std::vector<Trace>* given) {
  std::vector<Trace>& ranks = *given;
  std::sort(ranks.begin(), ranks.end(),
            [](const Trace& a, const Trace& b) { return a.rank < b.rank; });
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].world != static_cast<int32_t>(ranks.size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          ranks[r].path, ": is a trace of one of ", ranks[r].world, " ranks, and ", ranks.size(),
          " traces are given; give all of them, or say with --extend "
          "AXIS=SIZE that those that are missing run "
          "the same program"));
    }
    if (ranks[r].rank != static_cast<int32_t>(r)) {
      return absl::InvalidArgumentError(absl::StrCat(ranks[r].path, ": two traces of rank ",
                                                     ranks[r].rank, " are given; give each once"));
    }
  }
  return absl::OkStatus();
}

// A program that names no input reads its batch all the same.
void AddConstantBatch(const Trace& reference, std::vector<std::string>* assumptions) {
  const bool named =
      std::any_of(reference.inputs.begin(), reference.inputs.end(),
                  [](const Input& input) { return input.role == InputRole::kInput; });
  if (named) return;
  assumptions->push_back(
      "the program names no input, so its batch is a constant of the recording: pass inputs= to "
      "have it proved for all batches");
}

// Of programs that cannot be read: how their recorded numbers are related, which does not depend on
// what operators mean.
void RelateWithoutOperators(Trace reference, std::vector<Trace> ranks,
                            const sdfg::OperatorLibrary& operators,
                            std::optional<Recording>* recording) {
  reference.operators.clear();
  for (Trace& trace : ranks) trace.operators.clear();
  Recording& relations = recording->emplace(RecordingOfTraces(reference, ranks));
  absl::StatusOr<lineage::Problem> problem =
      ProblemOfTraces(reference, ranks, operators, &relations);
  relations.translated_reference.reset();
  relations.translated_ranks.reset();
  if (problem.ok()) {
    relations.relations = *std::move(problem);
  } else {
    recording->reset();  // relations are wrong, too, and the first error says so
  }
}

class TraceReader : public TraceFormat {
 public:
  absl::StatusOr<lineage::Problem> Read(const std::vector<std::string>& paths,
                                        const ReadOptions& options) const override {
    PLAN_ASSIGN_OR_RETURN(std::vector<Trace> ranks, ReadAll(paths));
    Trace reference = std::move(ranks.front());
    ranks.erase(ranks.begin());
    std::vector<std::string> assumptions;
    PLAN_RETURN_IF_ERROR(NameAsTheReference(reference, &ranks, &assumptions));
    if (!options.extend.empty()) {
      PLAN_RETURN_IF_ERROR(ExtendRanks(options.extend, &ranks, &assumptions));
    }
    PLAN_RETURN_IF_ERROR(OrderRanks(&ranks));
    PLAN_RETURN_IF_ERROR(PlaceFlatPieces(reference, &ranks, &assumptions));
    NameStates(&reference, &ranks, &assumptions);
    Recording* recording = nullptr;
    if (options.recording != nullptr) {
      recording = &options.recording->emplace(RecordingOfTraces(reference, ranks));
    }
    absl::StatusOr<lineage::Problem> problem =
        ProblemOfTraces(reference, ranks, *options.operators, recording);
    if (!problem.ok() && recording != nullptr) {
      RelateWithoutOperators(reference, ranks, *options.operators, options.recording);
    }
    if (problem.ok()) {
      AddConstantBatch(reference, &assumptions);
    }
    if (assumptions.empty()) return problem;
    if (!problem.ok()) {
      return absl::Status(problem.status().code(),
                          absl::StrCat(std::string(problem.status().message()),
                                       "; assumed: ", absl::StrJoin(assumptions, "; ")));
    }
    problem->assumptions.insert(problem->assumptions.begin(), assumptions.begin(),
                                assumptions.end());
    return problem;
  }
};

}  // namespace

const Reader& Traces() {
  static const auto* const reader = new TraceReader;
  return *reader;
}

}  // namespace planproof::frontend::torch
