#include "frontend/torch/relations.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/listed_constant.h"
#include "sdfg/collectives.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

using lineage::IndexMap;
using lineage::Lineage;
using sdfg::TensorId;
using Range = std::pair<int64_t, int64_t>;

sdfg::TensorRole RoleOf(InputRole role) {
  switch (role) {
    case InputRole::kParameter:
    case InputRole::kState:  // is updated as it was read, as a parameter is
      return sdfg::TensorRole::kParameter;
    case InputRole::kBuffer:
      return sdfg::TensorRole::kBuffer;
    default:
      return sdfg::TensorRole::kInput;
  }
}

// What an operator made is called by what it is at the end.
void NameResult(sdfg::Graph* graph, TensorId tensor, const TraceResult& result) {
  if (graph->tensors[tensor].role == sdfg::TensorRole::kIntermediate) {
    graph->tensors[tensor].name = NameOf(result.kind, result.name);
  }
}

// Index of one dimension of the whole, where the tensor's index is that of its dimension `dim`; a
// list of ranges must be equally long and equally far apart. Nothing if it is not.
std::optional<IndexMap> MapOf(const std::vector<Range>& ranges, int32_t dim) {
  IndexMap map;
  if (ranges.empty()) return map;
  map.constant = ranges[0].first;
  if (ranges.size() == 1) {
    map.terms.push_back({dim, 1, 1, 0});
    return map;
  }
  const int64_t length = ranges[0].second, apart = ranges[1].first - ranges[0].first;
  for (size_t r = 0; r < ranges.size(); ++r) {
    if (ranges[r].second != length ||
        ranges[r].first != ranges[0].first + static_cast<int64_t>(r) * apart) {
      return std::nullopt;
    }
  }
  map.terms.push_back({dim, 1, 1, length});
  map.terms.push_back({dim, apart, length, 0});
  return map;
}

}  // namespace

absl::Status Relations::Error(const Trace& trace, const std::string& name,
                              const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat(trace.path, ": ", name, ": ", what));
}

absl::StatusOr<Lineage> Relations::LineageOf(const Trace& trace, const std::string& name,
                                             const Part& part, TensorId logical,
                                             const sdfg::Shape& local) const {
  const sdfg::Shape& whole = shapes_.at(name);
  Lineage lineage;
  lineage.kind = lineage::LineageKind::kFull;
  lineage.logical = logical;
  if (part.whole && *part.whole != whole) {
    return Error(trace, name,
                 absl::StrCat("the whole is [", absl::StrJoin(*part.whole, ","), "] here, and [",
                              absl::StrJoin(whole, ","), "] in the reference"));
  }
  sdfg::Shape expected;
  if (flat_.count(name) != 0) {
    if (!part.place.empty()) {
      return absl::UnimplementedError(absl::StrCat(
          trace.path, ": ", name, ": some ranks hold flat parts and this one a slice"));
    }
    const Range range = part.flat.value_or(Range{0, ElementsOf(whole)});
    expected = part.flat ? sdfg::Shape{range.second} : whole;
    IndexMap map{range.first, {}};
    int64_t stride = 1;
    for (size_t d = expected.size(); d > 0; --d) {
      map.terms.push_back({static_cast<int32_t>(d - 1), stride, 1, 0});
      stride *= expected[d - 1];
    }
    lineage.map = {std::move(map)};
  } else {
    for (size_t d = 0; d < whole.size(); ++d) {
      std::vector<Range> ranges = {{0, whole[d]}};
      if (!part.place.empty()) ranges = part.place[d];
      int64_t extent = 0;
      for (const Range& range : ranges) extent += range.second;
      expected.push_back(extent);
      std::optional<IndexMap> map = MapOf(ranges, static_cast<int32_t>(d));
      if (!map) {
        return absl::UnimplementedError(absl::StrCat(
            trace.path, ": ", name, ": the ranges of dimension ", d,
            " are not equally long and equally far apart, which has no declared form"));
      }
      lineage.map.push_back(*std::move(map));
    }
  }
  if (expected != local) {
    return Error(trace, name,
                 absl::StrCat("the tensor is [", absl::StrJoin(local, ","), "], its place says [",
                              absl::StrJoin(expected, ","), "]"));
  }
  return lineage;
}

absl::Status Relations::StartReference(const Trace& trace, GraphWriter* writer, Memory* memory) {
  reference_ = &trace;
  std::map<std::pair<StorageId, int64_t>, std::pair<const Tensor*, TensorId>> known;
  for (const Input& input : trace.inputs) {
    const Tensor& tensor = trace.tensors[input.tensor];
    if (inputs_.count(input.name) != 0) return Error(trace, input.name, "is named twice");
    if (!input.part.place.empty() || input.part.flat) {
      return Error(trace, input.name, "the reference holds a part; record it in one process");
    }
    shapes_[input.name] = tensor.shape;
    const auto at = known.find({tensor.storage, tensor.offset});
    if (at != known.end() && SamePositions(ViewOf(*at->second.first), ViewOf(tensor))) {
      inputs_[input.name] = at->second.second;  // tied
      RecordInput(trace, input, at->second.second);
      continue;
    }
    if (memory->HoldsAnyOf(tensor)) {
      return Error(trace, input.name, "overlaps another input");
    }
    const bool flat = flat_.count(input.name) != 0;
    const TensorId logical =
        writer->AddTensor(input.name, flat ? sdfg::Shape{ElementsOf(tensor.shape)} : tensor.shape,
                          tensor.dtype, RoleOf(input.role));
    inputs_[input.name] = logical;
    RecordInput(trace, input, logical);
    known[{tensor.storage, tensor.offset}] = {&tensor, logical};
    using Premise = lineage::Problem::InputPremise;
    if (input.nonnegative) {
      problem_->premises.push_back({logical, Premise::Kind::kNonNegative});
    }
    if (input.domain) {
      problem_->premises.push_back(
          {logical, Premise::Kind::kIntegerRange, input.domain->first, input.domain->second});
    }
    PLAN_ASSIGN_OR_RETURN(const TensorId value, writer->Reshape(logical, tensor.shape));
    PLAN_RETURN_IF_ERROR(memory->Write(tensor, value));
  }
  return absl::OkStatus();
}

absl::Status Relations::FinishReference(const Trace& trace, GraphWriter* writer, Memory* memory) {
  for (const TraceResult& result : trace.results) {
    const Tensor& tensor = trace.tensors[result.tensor];
    if (results_.count({result.kind, result.name}) != 0) {
      return Error(trace, result.name, "stands twice among the results of one kind");
    }
    if (!result.part.place.empty() || result.part.flat || result.reduce) {
      return Error(trace, result.name,
                   "the reference has a part or a summand of it; record it in one process");
    }
    PLAN_ASSIGN_OR_RETURN(TensorId value, memory->Read(tensor));
    if (result.kind != ResultKind::kOutput) {
      const auto shape = shapes_.find(result.name);
      if (shape == shapes_.end() || shape->second != tensor.shape) {
        return Error(trace, result.name, "has no input of this name and shape");
      }
    } else {
      shapes_[result.name] = tensor.shape;
    }
    if (flat_.count(result.name) != 0) {
      PLAN_ASSIGN_OR_RETURN(value, writer->Reshape(value, {ElementsOf(tensor.shape)}));
    }
    NameResult(&problem_->logical, value, result);
    results_[{result.kind, result.name}] = value;
    const auto number = static_cast<int32_t>(&result - trace.results.data());
    result_numbers_[{result.kind, result.name}] = number;
    if (recording_ != nullptr) recording_->reference.results[number].tensor = value;
    if (result.kind == ResultKind::kUpdated) problem_->MustBeRequired(value);
  }
  if (trace.results.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(trace.path, ": the reference has no results, so nothing is required"));
  }
  return absl::OkStatus();
}

absl::Status Relations::StartRank(const Trace& trace, GraphWriter* writer, Memory* memory) {
  held_.clear();
  std::map<std::pair<StorageId, int64_t>, std::pair<const Tensor*, std::string>> known;
  const std::string holder = absl::StrCat("rank ", trace.rank);
  for (const Input& input : trace.inputs) {
    const Tensor& tensor = trace.tensors[input.tensor];
    const auto logical = inputs_.find(input.name);
    if (logical == inputs_.end()) {
      return Error(trace, input.name, "the reference has no input of this name");
    }
    const auto at = known.find({tensor.storage, tensor.offset});
    const bool empty = ElementsOf(tensor.shape) == 0;  // shares nothing with another
    if (!empty && at != known.end() && SamePositions(ViewOf(*at->second.first), ViewOf(tensor))) {
      if (inputs_.at(at->second.second) != logical->second) {
        return Error(trace, input.name,
                     absl::StrCat("is one with ", at->second.second,
                                  ", which is another tensor in the reference"));
      }
      held_[input.name] = held_.at(at->second.second);
      RecordInput(trace, input, held_[input.name]);
      continue;
    }
    if (memory->HoldsAnyOf(tensor)) {
      return Error(trace, input.name, "overlaps another input");
    }
    PLAN_ASSIGN_OR_RETURN(Lineage lineage,
                          LineageOf(trace, input.name, input.part, logical->second, tensor.shape));
    const TensorId held =
        writer->AddTensor(input.name, tensor.shape, tensor.dtype, RoleOf(input.role));
    PLAN_RETURN_IF_ERROR(problem_->RelateInput(held, std::move(lineage), {holder}));
    held_[input.name] = held;
    RecordInput(trace, input, held);
    if (!empty) known[{tensor.storage, tensor.offset}] = {&tensor, input.name};
    PLAN_RETURN_IF_ERROR(memory->Write(tensor, held));
  }
  return StartUniformConstants(trace, writer, memory);
}

absl::Status Relations::CheckUpdates(const Trace& trace) const {
  std::set<std::string> updated;
  for (const TraceResult& result : trace.results) {
    if (result.kind == ResultKind::kUpdated) updated.insert(result.name);
  }
  for (const auto& [name, tensor] : held_) {
    if (results_.count({ResultKind::kUpdated, name}) == 0 || updated.count(name) != 0) continue;
    if (ElementsOf(problem_->parallel.tensors[tensor].shape) == 0) continue;
    return Error(trace, name,
                 "the reference changes it, and this rank holds it and has no new value of it");
  }
  return absl::OkStatus();
}

void Relations::RecordInput(const Trace& trace, const Input& input, TensorId tensor) {
  if (recording_ == nullptr) return;
  RecordedOf(trace).inputs[&input - trace.inputs.data()].tensor = tensor;
}

void Relations::RecordRequirement(ResultKind kind, const std::string& name,
                                  std::vector<RecordedRequirement::Term> terms, bool mean) {
  if (recording_ == nullptr) return;
  recording_->requirements.push_back({std::move(terms), mean, result_numbers_.at({kind, name}),
                                      static_cast<int32_t>(problem_->required().size()) - 1});
}

// A new value lies where the old one does; a trace that says otherwise contradicts itself.
absl::Status Relations::CheckPlaceOfUpdate(const Trace& trace, const TraceResult& result,
                                           TensorId held, TensorId logical) const {
  const Part& part = result.part;
  if (!part.whole && part.place.empty() && !part.flat) return absl::OkStatus();
  PLAN_ASSIGN_OR_RETURN(const Lineage lineage, LineageOf(trace, result.name, part, logical,
                                                         trace.tensors[result.tensor].shape));
  if (lineage.map == problem_->LineageOf(held).map) return absl::OkStatus();
  return Error(trace, result.name,
               "the new value is said to be another part of the whole than the one that this rank "
               "holds; record again");
}

absl::Status Relations::FinishResult(const Trace& trace, const TraceResult& result,
                                     RecordedRequirement::Term recorded, Memory* memory) {
  const Tensor& tensor = trace.tensors[result.tensor];
  const auto logical = results_.find({result.kind, result.name});
  if (logical == results_.end())
    return Error(trace, result.name, "the reference has no such result");
  PLAN_ASSIGN_OR_RETURN(const TensorId value, memory->Read(tensor));
  NameResult(&problem_->parallel, value, result);
  if (recording_ != nullptr)
    recording_->ranks[recorded.rank].results[recorded.result].tensor = value;
  const lineage::ProblemBuilder::Holding holder{absl::StrCat("rank ", trace.rank)};
  const auto held = held_.find(result.name);
  if (result.kind != ResultKind::kOutput && held == held_.end()) {
    return Error(trace, result.name, "this rank has a result of what it does not hold");
  }
  if (result.kind == ResultKind::kUpdated) {
    PLAN_RETURN_IF_ERROR(CheckPlaceOfUpdate(trace, result, held->second, logical->second));
    PLAN_RETURN_IF_ERROR(problem_->RequireAsHeld(value, logical->second, held->second,
                                                 NameOf(result.kind, result.name), holder));
    RecordRequirement(result.kind, result.name, {recorded}, false);
    return absl::OkStatus();
  }
  Lineage lineage;
  if (result.kind == ResultKind::kGradient && !result.part.whole) {
    // As its parameter is held, or all of it.
    lineage = problem_->LineageOf(held->second);
    lineage.logical = logical->second;
    if (problem_->parallel.tensors[held->second].shape != tensor.shape) {
      PLAN_ASSIGN_OR_RETURN(lineage,
                            LineageOf(trace, result.name, {}, logical->second, tensor.shape));
    }
  } else {
    PLAN_ASSIGN_OR_RETURN(
        lineage, LineageOf(trace, result.name, result.part, logical->second, tensor.shape));
  }
  if (result.reduce) {
    const std::vector<int32_t>& ranks = trace.groups[result.group];
    if (std::find(ranks.begin(), ranks.end(), trace.rank) == ranks.end()) {
      return Error(trace, result.name,
                   absl::StrCat("is the reduction over ranks ", absl::StrJoin(ranks, ", "),
                                ", of which rank ", trace.rank, " is none"));
    }
    reduced_[{result.kind, result.name, trace.groups[result.group]}].push_back(
        {value, *result.reduce, std::move(lineage), recorded});
    return absl::OkStatus();
  }
  PLAN_RETURN_IF_ERROR(
      problem_->RequireOutput(value, std::move(lineage), NameOf(result.kind, result.name), holder));
  RecordRequirement(result.kind, result.name, {recorded}, false);
  return absl::OkStatus();
}

absl::Status Relations::FinishRank(const Trace& trace, Memory* memory) {
  PLAN_RETURN_IF_ERROR(CheckUpdates(trace));
  for (size_t number = 0; number < trace.results.size(); ++number) {
    PLAN_RETURN_IF_ERROR(FinishResult(trace, trace.results[number],
                                      {trace.rank, static_cast<int32_t>(number)}, memory));
  }
  return absl::OkStatus();
}

absl::Status Relations::RequireReduced() {
  sdfg::Graph& graph = problem_->parallel;
  for (const auto& [key, parts] : reduced_) {
    const std::string& name = key.name;
    const std::vector<int32_t>& ranks = key.ranks;
    if (parts.size() != ranks.size()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": is the reduction over ranks ",
                                                     absl::StrJoin(ranks, ", "), ", of which ",
                                                     parts.size(), " have it"));
    }
    std::vector<TensorId> inputs;
    for (const Reduced& part : parts) inputs.push_back(part.tensor);
    const sdfg::Tensor first = graph.tensors[inputs[0]];
    for (size_t i = 0; i < parts.size(); ++i) {
      const sdfg::Tensor& input = graph.tensors[inputs[i]];
      if (input.shape != first.shape || input.dtype != first.dtype ||
          parts[i].lineage.map != parts[0].lineage.map ||
          parts[i].reduction != parts[0].reduction) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": ranks have different parts of it, and are to be added up"));
      }
    }
    const sdfg::ReduceKind kind =
        parts[0].reduction == Reduction::kAverage ? sdfg::ReduceKind::kAvg : sdfg::ReduceKind::kSum;
    PLAN_ASSIGN_OR_RETURN(
        sdfg::IndexFunction function,
        sdfg::AllReduce(first.shape, first.dtype, static_cast<int>(parts.size()), kind));
    const std::shared_ptr<const sdfg::IndexFunction> interned = graph.Intern(std::move(function));
    // On every rank, as a collective would, so that ranks that do the same stay alike.
    for (size_t i = 0; i < parts.size(); ++i) {
      sdfg::Tensor whole = graph.tensors[inputs[i]];
      whole.name = NameOf(key.kind, name);
      whole.producer = sdfg::kNone;
      whole.role = sdfg::TensorRole::kIntermediate;
      sdfg::Operator op;
      op.name = kind == sdfg::ReduceKind::kAvg ? "average over ranks" : "sum over ranks";
      op.kind = sdfg::OperatorKind::kAllReduce;
      op.group.assign(ranks.begin(), ranks.end());
      op.devices = {whole.device};
      op.inputs = inputs;
      op.outputs = {graph.AddTensor(std::move(whole))};
      op.function = interned;
      const TensorId result = op.outputs[0];
      graph.AddOperator(std::move(op));
      PLAN_RETURN_IF_ERROR(
          problem_->RequireOutput(result, parts[i].lineage, NameOf(key.kind, name),
                                  {absl::StrCat("ranks ", absl::StrJoin(ranks, ", "))}));
      if (i > 0) continue;  // the others require the same
      std::vector<RecordedRequirement::Term> terms;
      for (const Reduced& part : parts) terms.push_back(part.recorded);
      RecordRequirement(key.kind, name, std::move(terms), kind == sdfg::ReduceKind::kAvg);
    }
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
