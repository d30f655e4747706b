#include "anchor/initial_values.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime_check/positions.h"
#include "sdfg/status_macros.h"

namespace planproof::anchor {
namespace {

using frontend::RecordedConstant;
using frontend::RecordedProgram;
using runtime_check::CountOf;
using runtime_check::Values;
using sdfg::TensorId;

absl::Status Set(const sdfg::Graph& graph, TensorId id, Values values, InitialValues* initial) {
  if (values.size() != CountOf(graph.tensors[id].shape)) {
    return absl::InternalError(
        absl::StrCat("recorded values of ", graph.tensors[id].name, " have another size"));
  }
  values.shape = graph.tensors[id].shape;
  initial->tensors[id] = std::move(values);
  return absl::OkStatus();
}

// A graph that was changed may not have all tensors any more, and others instead.
bool IsSource(const sdfg::Graph& graph, TensorId id) {
  return id >= 0 && id < static_cast<TensorId>(graph.tensors.size()) &&
         graph.tensors[id].producer == sdfg::kNone;
}

absl::Status AddConstants(const std::vector<RecordedConstant>& constants, const sdfg::Graph& graph,
                          RecordedValues* values, InitialValues* initial) {
  for (const RecordedConstant& constant : constants) {
    if (!IsSource(graph, constant.tensor)) continue;
    const sdfg::Tensor& tensor = graph.tensors[constant.tensor];
    const int64_t count = CountOf(tensor.shape);
    absl::StatusOr<Values> recorded = values->Before(constant.storage, constant.begin, count);
    if (absl::IsNotFound(recorded.status()) && constant.uniform) {
      recorded = Values::Zeros(tensor.shape, tensor.dtype, sdfg::DType::kFloat64);
      for (int64_t i = 0; i < count; ++i) recorded->Set(i, *constant.uniform);
    }
    if (!recorded.ok()) return recorded.status();
    PLAN_RETURN_IF_ERROR(Set(graph, constant.tensor, *std::move(recorded), initial));
  }
  return absl::OkStatus();
}

// Of a tensor that an operator makes: its values are known otherwise.
bool MadeInShape(const sdfg::Graph& graph, TensorId id, int64_t elements) {
  return id >= 0 && id < static_cast<TensorId>(graph.tensors.size()) &&
         graph.tensors[id].producer != sdfg::kNone && CountOf(graph.tensors[id].shape) == elements;
}

bool IsRead(const sdfg::Graph& graph, TensorId id) {
  return std::any_of(graph.operators.begin(), graph.operators.end(), [&](const auto& op) {
    return std::find(op.inputs.begin(), op.inputs.end(), id) != op.inputs.end();
  });
}

absl::Status AddProgram(const RecordedProgram& program, const sdfg::Graph& graph,
                        RecordedValues* values, InitialValues* initial) {
  for (const frontend::RecordedInput& input : program.inputs) {
    if (!IsSource(graph, input.tensor)) continue;
    if (initial->tensors[input.tensor].storage != Values::Storage::kNone) continue;  // tied
    PLAN_ASSIGN_OR_RETURN(Values recorded, values->Before(input.view));
    PLAN_RETURN_IF_ERROR(Set(graph, input.tensor, std::move(recorded), initial));
  }
  PLAN_RETURN_IF_ERROR(AddConstants(program.constants, graph, values, initial));
  for (const RecordedConstant& unwritten : program.unwritten) {
    if (!MadeInShape(graph, unwritten.tensor, CountOf(graph.tensors[unwritten.tensor].shape))) {
      continue;
    }
    const int64_t count = CountOf(graph.tensors[unwritten.tensor].shape);
    absl::StatusOr<Values> recorded = values->Before(unwritten.storage, unwritten.begin, count);
    if (absl::IsNotFound(recorded.status())) continue;
    if (!recorded.ok()) continue;  // the storage was recorded up to what was read
    recorded->shape = graph.tensors[unwritten.tensor].shape;
    initial->instead[unwritten.tensor] = *std::move(recorded);
  }
  for (const frontend::RecordedCall& call : program.calls) {
    if (!MadeInShape(graph, call.tensor, 1)) continue;
    const std::optional<double> number = call.value ? call.value : call.meant;
    if (!number) {
      if (!IsRead(graph, call.tensor)) continue;
      return absl::NotFoundError(absl::StrCat("the number that ", call.function,
                                              "() gave was not recorded, for ", call.place));
    }
    const sdfg::Tensor& tensor = graph.tensors[call.tensor];
    Values values = Values::Zeros(tensor.shape, tensor.dtype, sdfg::DType::kFloat64);
    values.Set(0, *number);
    initial->instead[call.tensor] = std::move(values);
  }
  for (const auto& [id, indices] : program.choices) {
    if (!MadeInShape(graph, id, static_cast<int64_t>(indices.size()))) continue;
    const sdfg::Tensor& tensor = graph.tensors[id];
    Values chosen = Values::Zeros(tensor.shape, tensor.dtype, sdfg::DType::kFloat64);
    if (chosen.storage != Values::Storage::kInteger) continue;
    chosen.integers = indices;
    initial->instead[id] = std::move(chosen);
  }
  return absl::OkStatus();
}

absl::Status CheckComplete(const sdfg::Graph& graph, const InitialValues& initial) {
  for (size_t id = 0; id < graph.tensors.size(); ++id) {
    const sdfg::Tensor& tensor = graph.tensors[id];
    if (tensor.producer != sdfg::kNone || tensor.role == sdfg::TensorRole::kOne ||
        tensor.role == sdfg::TensorRole::kZero ||
        initial.tensors[id].storage != Values::Storage::kNone) {
      continue;
    }
    return absl::NotFoundError(absl::StrCat("no values of ", tensor.name, " were recorded"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<InitialValues> InitialOfReference(const frontend::Recording& recording,
                                                 const sdfg::Graph& graph, RecordedFiles* files) {
  InitialValues initial;
  initial.tensors.resize(graph.tensors.size());
  PLAN_RETURN_IF_ERROR(AddProgram(recording.reference, graph, &files->reference, &initial));
  for (size_t rank = 0; rank < recording.ranks.size(); ++rank) {
    PLAN_RETURN_IF_ERROR(
        AddConstants(recording.ranks[rank].model_constants, graph, &files->ranks[rank], &initial));
  }
  PLAN_RETURN_IF_ERROR(CheckComplete(graph, initial));
  return initial;
}

absl::StatusOr<InitialValues> InitialOfRanks(const frontend::Recording& recording,
                                             const sdfg::Graph& graph, RecordedFiles* files) {
  InitialValues initial;
  initial.tensors.resize(graph.tensors.size());
  for (size_t rank = 0; rank < recording.ranks.size(); ++rank) {
    PLAN_RETURN_IF_ERROR(AddProgram(recording.ranks[rank], graph, &files->ranks[rank], &initial));
  }
  PLAN_RETURN_IF_ERROR(CheckComplete(graph, initial));
  return initial;
}

absl::StatusOr<std::optional<InitialValues>> InitialFromRanks(const lineage::Problem& problem,
                                                              const InitialValues& reference,
                                                              const InitialValues& ranks) {
  std::optional<InitialValues> merged;
  for (size_t id = 0; id < problem.parallel.tensors.size(); ++id) {
    const Values& part = ranks.tensors[id];
    const lineage::Lineage& lineage = problem.lineage[id];
    if (part.storage != Values::Storage::kDouble || lineage.kind != lineage::LineageKind::kFull) {
      continue;
    }
    const Values& whole = reference.tensors[lineage.logical];
    if (whole.storage != Values::Storage::kDouble) continue;
    runtime_check::ForEachPosition(lineage.map, whole.shape, part.shape,
                                   [&](int64_t i, int64_t at) {
                                     if (at < 0 || part.Same(i, whole, at)) return;
                                     if (!merged) merged = reference;
                                     merged->tensors[lineage.logical].doubles[at] = part.doubles[i];
                                   });
  }
  return merged;
}

}  // namespace planproof::anchor
