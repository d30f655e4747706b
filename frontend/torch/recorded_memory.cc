#include "frontend/torch/recorded_memory.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torch/strided.h"

namespace planproof::frontend::torch {
namespace {

// The storages of what the operator reads or writes; `elements`: of which it uses any element.
std::set<StorageId> UsedBy(const Trace& trace, const Executed& executed, bool elements) {
  std::set<StorageId> used;
  const auto add = [&](TensorNumber number) {
    const Tensor& tensor = trace.tensors[number];
    if (!elements || ElementsOf(tensor.shape) > 0) used.insert(tensor.storage);
  };
  const auto add_all = [&](const Value& value) {
    for (const TensorNumber number : TensorsIn(value)) add(number);
  };
  for (const Value& value : executed.args) add_all(value);
  for (const auto& [name, value] : executed.kwargs) add_all(value);
  for (const TensorNumber number : executed.writes) add(number);
  if (executed.collective) {
    for (const TensorNumber number : executed.collective->in) add(number);
    for (const TensorNumber number : executed.collective->out) add(number);
  }
  return used;
}

std::string PlaceOf(const Trace& trace, const Executed& executed) {
  return absl::StrCat(trace.path, ": ", executed.op,
                      executed.source.empty() ? "" : absl::StrCat(", at ", executed.source));
}

}  // namespace

std::set<StorageId> AllocatedBy(const Trace& trace, const Executed& executed) {
  std::set<StorageId> allocated;
  if (executed.collective) return allocated;
  for (const Value& value : executed.out) {
    for (const TensorNumber number : TensorsIn(value)) {
      allocated.insert(trace.tensors[number].storage);
    }
  }
  for (const StorageId storage : UsedBy(trace, executed, false)) allocated.erase(storage);
  return allocated;
}

absl::Status CheckMemory(const Trace& trace) {
  // Storages that hold something at the start are there, and so are those that an operator used.
  std::vector<bool> there(trace.storages.size(), false);
  for (const Input& input : trace.inputs) there[trace.tensors[input.tensor].storage] = true;
  for (StorageId id = 0; id < static_cast<StorageId>(trace.storages.size()); ++id) {
    const Storage& storage = trace.storages[id];
    there[id] = there[id] || storage.uniform || !storage.values.empty() ||
                !storage.minus_infinity.empty() || !storage.digest.empty();
  }
  for (const Executed& executed : trace.operators) {
    for (const StorageId id : AllocatedBy(trace, executed)) {
      if (there[id] && trace.storages[id].size > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(PlaceOf(trace, executed), ": the result is new memory, but storage ", id,
                         " holds something before, or an operator has used it; record again"));
      }
      there[id] = true;
    }
    for (const StorageId id : UsedBy(trace, executed, true)) there[id] = true;
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
