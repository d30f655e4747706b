#include "frontend/torch/problem_of_traces.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/torch/carried_state.h"
#include "frontend/torch/chosen_rows.h"
#include "frontend/torch/execution.h"
#include "frontend/torch/listed_constant.h"
#include "frontend/torch/lost_gradients.h"
#include "frontend/torch/recording_of_traces.h"
#include "frontend/torch/sorted_rows.h"
#include "frontend/torch/unfollowed_numbers.h"
#include "frontend/torch/unnamed_states.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

absl::Status In(const std::string& where, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

template <typename Texts>
void Add(const Texts& texts, std::vector<std::string>* list) {
  for (const std::string& text : texts) {
    if (std::find(list->begin(), list->end(), text) == list->end()) list->push_back(text);
  }
}

std::set<std::string> FlatNames(const std::vector<Trace>& ranks) {
  std::set<std::string> names;
  for (const Trace& trace : ranks) {
    for (const Input& input : trace.inputs) {
      if (input.part.flat) names.insert(input.name);
    }
    for (const TraceResult& result : trace.results) {
      if (result.part.flat) names.insert(result.name);
    }
  }
  return names;
}

// Rows that data sorts or chooses are taken in another order, or with all others. What is related
// or required must be what it was.
absl::Status FollowRows(const std::vector<bool>& kept, const sdfg::OperatorLibrary& operators,
                        const RecordedElements* recorded, const std::string& whose,
                        sdfg::Graph* graph, std::vector<std::string>* assumptions) {
  if (recorded != nullptr) {
    PLAN_ASSIGN_OR_RETURN(const ChosenRows chosen,
                          TakeAllRowsOfChoices(operators, kept, *recorded, graph));
    if (!chosen.choices.empty()) {
      assumptions->push_back(absl::StrCat(whose, " choose what was recorded, by ",
                                          chosen.choices.size(), " operators, the first ",
                                          chosen.choices[0]));
    }
  }
  return TakeSortedRowsInTheirOwnOrder(operators, kept, graph);
}

// Tensors of ranks whose recorded values no verdict may rest on, and what reads them.
using Uncertain = std::map<sdfg::TensorId, std::string>;

// What a required result is computed from is known, and not only recorded.
absl::Status CheckCertain(const Uncertain& uncertain, const lineage::ProblemBuilder& problem) {
  if (uncertain.empty()) return absl::OkStatus();
  const sdfg::Graph& graph = problem.parallel;
  std::vector<bool> seen(graph.tensors.size(), false);
  std::vector<sdfg::TensorId> pending;
  for (const lineage::RequiredRelation& required : problem.required()) {
    pending.push_back(required.parallel);
  }
  while (!pending.empty()) {
    const sdfg::TensorId tensor = pending.back();
    pending.pop_back();
    if (seen[tensor]) continue;
    seen[tensor] = true;
    const sdfg::OperatorId producer = graph.tensors[tensor].producer;
    if (producer == sdfg::kNone) continue;
    for (sdfg::TensorId input : graph.operators[producer].inputs) pending.push_back(input);
  }
  for (const auto& [tensor, place] : uncertain) {
    if (!seen[tensor]) continue;
    return absl::UnimplementedError(absl::StrCat(
        place,
        " reads values from before the iteration that have no name, and which tensor of the "
        "reference they are is not certain; name them as a state or an input, on the ranks and in "
        "the program of one process"));
  }
  return absl::OkStatus();
}

absl::Status FollowRowsOfReference(const Relations& relations,
                                   const sdfg::OperatorLibrary& operators,
                                   const RecordedElements* recorded,
                                   lineage::ProblemBuilder* problem) {
  std::vector<bool> kept(problem->logical.tensors.size(), false);
  for (const auto& [result, tensor] : relations.results()) kept[tensor] = true;
  return FollowRows(kept, operators, recorded, "the reference's operators", &problem->logical,
                    &problem->assumptions);
}

absl::Status FollowRowsOfRanks(lineage::ProblemBuilder* problem,
                               const sdfg::OperatorLibrary& operators,
                               const RecordedElements* recorded) {
  const auto tensors = static_cast<sdfg::TensorId>(problem->parallel.tensors.size());
  std::vector<bool> kept(tensors, false);
  for (const lineage::RequiredRelation& required : problem->required()) {
    kept[required.parallel] = true;
  }
  for (sdfg::TensorId tensor = 0; tensor < tensors; ++tensor) {
    if (problem->LineageOf(tensor).kind != lineage::LineageKind::kNone) kept[tensor] = true;
  }
  return FollowRows(kept, operators, recorded, "the ranks' operators", &problem->parallel,
                    &problem->assumptions);
}

}  // namespace

absl::Status AddReference(const Trace& reference, const sdfg::OperatorLibrary& operators,
                          lineage::ProblemBuilder* problem, Relations* relations, bool chosen,
                          std::set<std::string>* decided, Recording* recording) {
  if (reference.world != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(reference.path,
                     ": the first file must be the trace of one process, this is "
                     "one of ",
                     reference.world, " ranks"));
  }
  FunctionTable functions;
  GraphWriter writer(&problem->logical, &operators, -1, &functions);
  Communications alone(&problem->logical, &functions, 1);  // groups of one rank
  Execution execution(
      reference, &writer,
      [&](StorageId storage) -> absl::StatusOr<sdfg::TensorId> {
        if (CountsUp(reference.storages[storage])) return sdfg::kNone;  // positions are a formula
        return relations->LogicalConstant(reference, storage);
      },
      &alone);
  if (recording != nullptr && recording->has_values) execution.NoteWhatIsMade();
  PLAN_RETURN_IF_ERROR(relations->StartReference(reference, &writer, &execution.memory()));
  PLAN_RETURN_IF_ERROR(execution.Run());
  PLAN_RETURN_IF_ERROR(alone.Connect());
  PLAN_RETURN_IF_ERROR(relations->FinishReference(reference, &writer, &execution.memory()));
  if (recording != nullptr) {
    AddExecution(execution, writer, execution.memory(), &recording->reference);
    if (recording->has_values) recording->translated_reference = problem->logical;
  }
  PLAN_RETURN_IF_ERROR(FollowRowsOfReference(*relations, operators,
                                             chosen ? &execution.recorded() : nullptr, problem));
  Add(writer.assumptions(), &problem->assumptions);
  decided->insert(execution.unused_items().begin(), execution.unused_items().end());
  return absl::OkStatus();
}

absl::StatusOr<lineage::Problem> ProblemOfTraces(const Trace& reference,
                                                 const std::vector<Trace>& ranks,
                                                 const sdfg::OperatorLibrary& operators,
                                                 Recording* recording) {
  PLAN_RETURN_IF_ERROR(CheckGradientsReachOptimizer(reference, ranks));
  PLAN_RETURN_IF_ERROR(SameUnfollowedNumbers(reference, ranks));
  lineage::ProblemBuilder problem;
  Relations relations(&problem, FlatNames(ranks), recording);
  std::set<std::string> decided;
  const bool chosen =
      SizesAreChosen(reference) || std::any_of(ranks.begin(), ranks.end(), SizesAreChosen);
  PLAN_RETURN_IF_ERROR(
      AddReference(reference, operators, &problem, &relations, chosen, &decided, recording));
  RecordedElements recorded;
  Uncertain uncertain;
  CarriedState carried(reference);
  FunctionTable parallel_functions;
  Communications communications(&problem.parallel, &parallel_functions,
                                static_cast<int32_t>(ranks.size()));
  for (const Trace& trace : ranks) {
    GraphWriter writer(&problem.parallel, &operators, trace.rank, &parallel_functions);
    Execution execution(
        trace, &writer,
        [&](StorageId storage) { return relations.RankConstant(trace, storage, &writer); },
        &communications);
    if (recording != nullptr && recording->has_values) execution.NoteWhatIsMade();
    PLAN_RETURN_IF_ERROR(relations.StartRank(trace, &writer, &execution.memory()));
    PLAN_RETURN_IF_ERROR(carried.Start(trace, &writer, &execution.memory()));
    PLAN_RETURN_IF_ERROR(execution.Run());
    PLAN_RETURN_IF_ERROR(relations.FinishRank(trace, &execution.memory()));
    Add(writer.assumptions(), &problem.assumptions);
    decided.insert(execution.unused_items().begin(), execution.unused_items().end());
    recorded.insert(execution.recorded().begin(), execution.recorded().end());
    for (const auto& [storage, place] : UncertainStorages(reference, trace)) {
      const auto constant = execution.memory().constants().find(storage);
      if (constant != execution.memory().constants().end()) uncertain[constant->second] = place;
    }
    if (recording != nullptr) {
      AddExecution(execution, writer, execution.memory(), &recording->ranks[trace.rank]);
    }
  }
  PLAN_RETURN_IF_ERROR(communications.Connect());
  PLAN_RETURN_IF_ERROR(CheckResultsArePresent(reference, ranks, problem.logical,
                                              relations.results(), &problem.assumptions));
  PLAN_RETURN_IF_ERROR(relations.RequireReduced());
  PLAN_RETURN_IF_ERROR(CheckCertain(uncertain, problem));
  if (recording != nullptr && recording->has_values) {
    recording->translated_ranks = problem.parallel;
  }
  PLAN_RETURN_IF_ERROR(carried.Check(problem));
  PLAN_RETURN_IF_ERROR(relations.FoldConstants(operators));
  PLAN_RETURN_IF_ERROR(FollowRowsOfRanks(&problem, operators, chosen ? &recorded : nullptr));
  if (!decided.empty()) {
    problem.assumptions.push_back(absl::StrCat(
        "the program takes the recorded way whatever numbers Python reads from tensors, at ",
        decided.size(), " places, the first ", *decided.begin()));
  }
  Add(AssumedOfNumbers(reference, ranks), &problem.assumptions);
  Add(AssumedOfEnvironment(reference, ranks), &problem.assumptions);
  Add(reference.notes, &problem.assumptions);
  for (const Trace& trace : ranks) Add(trace.notes, &problem.assumptions);
  absl::StatusOr<lineage::Problem> built = problem.Build(
      [&](const lineage::ProblemBuilder::Subject& subject, const absl::Status& status) {
        const bool model = subject.kind == lineage::ProblemBuilder::Subject::Kind::kModel;
        return In(model ? reference.path : "the ranks' traces", status);
      });
  // Names are made from modules, which have other operators in other programs.
  if (!built.ok()) return built;
  built->names_tell = false;
  int64_t stride = 1;
  for (auto axis = ranks[0].axes.rbegin(); axis != ranks[0].axes.rend(); ++axis) {
    built->mesh.push_back({axis->first, axis->second, stride});
    stride *= axis->second;
  }
  return built;
}

}  // namespace planproof::frontend::torch
