// The reader of PyTorch traces, as the registry knows it: a reference and the traces of all ranks.
#include <algorithm>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "frontend/registry.h"
#include "frontend/torch/execution.h"
#include "frontend/torch/relations.h"
#include "frontend/torch/trace.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

absl::Status In(const std::string& where, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

// The ranks' traces, rank 0 first.
absl::StatusOr<std::vector<Trace>> ReadRanks(const std::vector<std::string>& paths) {
  std::vector<Trace> ranks;
  for (size_t i = 1; i < paths.size(); ++i) {
    PLAN_ASSIGN_OR_RETURN(ranks.emplace_back(), ReadTrace(paths[i]));
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const Trace& a, const Trace& b) { return a.rank < b.rank; });
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].world != static_cast<int32_t>(ranks.size())) {
      return absl::InvalidArgumentError(absl::StrCat(ranks[r].path, ": is a trace of one of ",
                                                     ranks[r].world, " ranks, and ", ranks.size(),
                                                     " traces are given; give all of them"));
    }
    if (ranks[r].rank != static_cast<int32_t>(r)) {
      return absl::InvalidArgumentError(absl::StrCat(ranks[r].path, ": two traces of rank ",
                                                     ranks[r].rank, " are given; give each once"));
    }
  }
  return ranks;
}

std::set<std::string> FlatNames(const std::vector<Trace>& ranks) {
  std::set<std::string> names;
  for (const Trace& trace : ranks) {
    for (const Input& input : trace.inputs) {
      if (input.part.flat) names.insert(input.name);
    }
  }
  return names;
}

absl::StatusOr<lineage::Problem> BuildProblem(const Trace& reference,
                                              const std::vector<Trace>& ranks,
                                              const sdfg::OperatorLibrary& operators) {
  if (reference.world != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(reference.path,
                     ": the first file must be the trace of one process, this is "
                     "one of ",
                     reference.world, " ranks"));
  }
  lineage::ProblemBuilder problem;
  Relations relations(&problem, FlatNames(ranks));
  std::set<std::string> assumptions, decided;
  FunctionTable logical_functions, parallel_functions;
  {
    GraphWriter writer(&problem.logical, &operators, -1, &logical_functions);
    Communications alone(&problem.logical, &logical_functions, 1);  // groups of one rank
    Execution execution(
        reference, &writer,
        [&](const Storage& storage) -> absl::StatusOr<sdfg::TensorId> {
          return relations.LogicalConstant(storage);
        },
        &alone);
    PLAN_RETURN_IF_ERROR(relations.StartReference(reference, &writer, &execution.memory()));
    PLAN_RETURN_IF_ERROR(execution.Run());
    PLAN_RETURN_IF_ERROR(alone.Connect());
    PLAN_RETURN_IF_ERROR(relations.FinishReference(reference, &writer, &execution.memory()));
    assumptions.insert(writer.assumptions().begin(), writer.assumptions().end());
    decided.insert(execution.unused_items().begin(), execution.unused_items().end());
  }
  Communications communications(&problem.parallel, &parallel_functions,
                                static_cast<int32_t>(ranks.size()));
  for (const Trace& trace : ranks) {
    GraphWriter writer(&problem.parallel, &operators, trace.rank, &parallel_functions);
    Execution execution(
        trace, &writer,
        [&](const Storage& storage) {
          return relations.RankConstant(storage, trace.rank, &writer);
        },
        &communications);
    PLAN_RETURN_IF_ERROR(relations.StartRank(trace, &writer, &execution.memory()));
    PLAN_RETURN_IF_ERROR(execution.Run());
    PLAN_RETURN_IF_ERROR(relations.FinishRank(trace, &execution.memory()));
    assumptions.insert(writer.assumptions().begin(), writer.assumptions().end());
    decided.insert(execution.unused_items().begin(), execution.unused_items().end());
  }
  PLAN_RETURN_IF_ERROR(communications.Connect());
  PLAN_RETURN_IF_ERROR(relations.RequireReduced());
  problem.assumptions.assign(assumptions.begin(), assumptions.end());
  if (!decided.empty()) {
    problem.assumptions.push_back(absl::StrCat(
        "the program takes the recorded way whatever numbers Python reads from tensors, at ",
        decided.size(), " places, the first ", *decided.begin()));
  }
  for (const Trace* trace : {&reference, &ranks[0]}) {
    for (const std::string& note : trace->notes) problem.assumptions.push_back(note);
  }
  return problem.Build(
      [&](const lineage::ProblemBuilder::Subject& subject, const absl::Status& status) {
        const bool model = subject.kind == lineage::ProblemBuilder::Subject::Kind::kModel;
        return In(model ? reference.path : "the ranks' traces", status);
      });
}

class TraceReader : public Reader {
 public:
  std::string_view Name() const override { return "PyTorch trace"; }
  // gzip, and the ending.
  bool Recognises(const InputFile& file) const override {
    return file.path.ends_with(".trace") && file.start.size() > 2 && file.start[0] == '\x1f' &&
           file.start[1] == '\x8b';
  }
  Files HowMany() const override { return {2, 1 + (1 << 16), "REFERENCE.trace RANK.trace..."}; }
  absl::StatusOr<lineage::Problem> Read(const std::vector<std::string>& paths,
                                        const ReadOptions& options) const override {
    PLAN_ASSIGN_OR_RETURN(const Trace reference, ReadTrace(paths[0]));
    PLAN_ASSIGN_OR_RETURN(const std::vector<Trace> ranks, ReadRanks(paths));
    return BuildProblem(reference, ranks, *options.operators);
  }
};

}  // namespace

const Reader& Traces() {
  static const auto* const reader = new TraceReader;
  return *reader;
}

}  // namespace planproof::frontend::torch
