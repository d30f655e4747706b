#include "frontend/torch/carried_state.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/torch/listed_constant.h"
#include "sdfg/native_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

bool HoldsConstant(const Storage& storage) {
  return storage.uniform || !storage.values.empty() || !storage.minus_infinity.empty() ||
         !storage.digest.empty();
}

bool IsFilledWithWholeNumber(const Storage& storage) {
  return (storage.uniform && storage.uniform->IsInteger()) ||
         (storage.values.empty() && !storage.minus_infinity.empty());
}

// The storages that operators and collectives write. That something of what they held before is
// read, too, the recorder has seen: it describes no others as constants.
std::set<StorageId> WrittenStorages(const Trace& trace) {
  std::set<StorageId> written;
  const auto add = [&](const std::vector<TensorNumber>& tensors) {
    for (TensorNumber tensor : tensors) written.insert(trace.tensors[tensor].storage);
  };
  for (const Executed& executed : trace.operators) {
    add(executed.writes);
    if (executed.collective) add(executed.collective->out);
  }
  return written;
}

// Where the storage is read or written first.
const Executed* FirstUse(const Trace& trace, StorageId storage) {
  for (const Executed& executed : trace.operators) {
    const auto uses = [&](const std::vector<TensorNumber>& tensors) {
      for (TensorNumber tensor : tensors) {
        if (trace.tensors[tensor].storage == storage) return true;
      }
      return false;
    };
    bool found = uses(executed.writes);
    for (const Value& value : executed.args) found = found || uses(TensorsIn(value));
    for (const auto& [name, value] : executed.kwargs) found = found || uses(TensorsIn(value));
    if (executed.collective) found = found || uses(executed.collective->in);
    if (found) return &executed;
  }
  return nullptr;
}

absl::Status Unnamed(const Trace& trace, StorageId id) {
  const Storage& storage = trace.storages[id];
  const Executed* use = FirstUse(trace, id);
  // The remedy first: what is long is cut where it is shown.
  return absl::UnimplementedError(absl::StrCat(
      trace.path, ": state that nobody named: pass its optimizer, make it a buffer or name it in ",
      "inputs=; an earlier iteration left these ", storage.size, " ",
      sdfg::DTypeName(storage.dtype), ", the reference has no such, at ",
      use == nullptr || use->source.empty() ? "the step" : use->source));
}

}  // namespace

std::vector<StorageId> CarriedStorages(const Trace& trace) {
  std::set<StorageId> named;
  for (const Input& input : trace.inputs) named.insert(trace.tensors[input.tensor].storage);
  // Since version 2 the recorder says it, which has looked at every element.
  const std::set<StorageId> written =
      trace.version == 1 ? WrittenStorages(trace) : std::set<StorageId>();
  std::vector<StorageId> carried;
  for (StorageId id = 0; id < static_cast<StorageId>(trace.storages.size()); ++id) {
    const Storage& storage = trace.storages[id];
    if (!sdfg::IsFloating(storage.dtype) || !HoldsConstant(storage) || named.count(id) != 0)
      continue;
    if (storage.carried || written.count(id) != 0) carried.push_back(id);
  }
  return carried;
}

CarriedState::CarriedState(const Trace& reference) {
  for (const Storage& storage : reference.storages) {
    if (HoldsConstant(storage)) known_.insert(ContentOf(storage));
  }
}

absl::Status CarriedState::Start(const Trace& trace, GraphWriter* writer, Memory* memory) {
  for (StorageId id : CarriedStorages(trace)) {
    const Storage& storage = trace.storages[id];
    if (IsFilledWithWholeNumber(storage) || known_.count(ContentOf(storage)) != 0) continue;
    const std::string name = absl::StrCat("state ", id, " of rank ", trace.rank);
    PLAN_ASSIGN_OR_RETURN(
        const sdfg::TensorId tensor,
        writer->Emit("state", name,
                     [&]() -> absl::StatusOr<sdfg::IndexFunction> {
                       sdfg::IndexFunctionBuilder builder("state");
                       const int output =
                           builder.AddOutput("y", sdfg::Shape{storage.size}, storage.dtype);
                       builder.SetBody(
                           output, builder.Opaque(name, false, -1,
                                                  {builder.Index(builder.OutputDims(output)[0])}));
                       return sdfg::Finish(&builder);
                     },
                     {}));
    PLAN_RETURN_IF_ERROR(memory->Write({id, storage.dtype, false, 0, {storage.size}, {1}}, tensor));
    held_[tensor] = {&trace, id};
  }
  return absl::OkStatus();
}

absl::Status CarriedState::Check(const lineage::ProblemBuilder& problem) const {
  if (held_.empty()) return absl::OkStatus();
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
    if (const auto found = held_.find(tensor); found != held_.end()) {
      return Unnamed(*found->second.trace, found->second.storage);
    }
    if (graph.tensors[tensor].producer == sdfg::kNone) continue;
    const sdfg::Operator& op = graph.operators[graph.tensors[tensor].producer];
    pending.insert(pending.end(), op.inputs.begin(), op.inputs.end());
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
