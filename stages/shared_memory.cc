#include "stages/shared_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "stages/in_place.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::TensorId;

SharedMemory::SharedMemory(const StepOrder& order) {
  for (const auto& [tensor, storage] : order.problem().schedule.storage) {
    const int32_t program = order.PlaceOf(tensor).program;
    Region& region = buffers_[{program, storage.buffer}];
    region.name = absl::StrCat("buffer \"", storage.buffer, "\" of program \"",
                               order.ProgramName(program), "\"");
    region.slots = storage.slots;
    region_of_[tensor] = &region;
  }
  JoinOverwritten(order);
}

const Region* SharedMemory::RegionOf(TensorId tensor) const {
  const auto found = region_of_.find(tensor);
  return found == region_of_.end() ? nullptr : found->second;
}

TensorId SharedMemory::Root(TensorId tensor) {
  while (parent_.try_emplace(tensor, tensor).first->second != tensor) {
    TensorId& parent = parent_[tensor];
    parent = parent_[parent];
    tensor = parent;
  }
  return tensor;
}

void SharedMemory::Join(TensorId a, TensorId b) { parent_[Root(b)] = Root(a); }

void SharedMemory::JoinOverwritten(const StepOrder& order) {
  const sdfg::Graph& graph = order.problem().parallel;
  std::vector<const sdfg::Operator*> overwriting;
  for (const sdfg::Operator& op : graph.operators) {
    if (op.memory.overwrites == kNone || order.PlaceOf(op).program == kNone) continue;
    overwriting.push_back(&op);
  }
  if (overwriting.empty()) return;
  for (const sdfg::Operator& op : graph.operators) {
    if (!op.memory.view) continue;
    const std::vector<bool> read = InputsRead(op);
    for (TensorId output : op.outputs) {
      if (output == kNone || region_of_.count(output) > 0) continue;
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (read[i]) Join(op.inputs[i], output);
      }
    }
  }
  const auto operand_of = [](const sdfg::Operator& op) { return op.inputs[op.memory.overwrites]; };
  for (const sdfg::Operator* op : overwriting) {
    for (TensorId output : op->outputs) {
      if (output != kNone) Join(operand_of(*op), output);
    }
  }
  std::map<TensorId, std::vector<TensorId>> groups;
  for (const auto& [tensor, parent] : parent_) groups[Root(tensor)].push_back(tensor);
  std::set<TensorId> done;  // roots
  for (const sdfg::Operator* op : overwriting) {
    const TensorId operand = operand_of(*op);
    const std::vector<TensorId>& group = groups[Root(operand)];
    if (!done.insert(Root(operand)).second) continue;
    Region* region = nullptr;
    TensorId example = kNone;
    bool varies = false;
    bool once = false;
    for (TensorId tensor : group) {
      (order.Varies(tensor) ? varies : once) = true;
      const auto stated = region_of_.find(tensor);
      if (stated == region_of_.end()) continue;
      const Region* found = stated->second;
      if (region != nullptr && found != region && !violation_) {
        violation_ = OrderViolation(
            "two buffers for one memory",
            absl::StrCat(op->name, " (", op->label, ") computes in place (\"inplace\"), so that ",
                         graph.tensors[example].name, " and ", graph.tensors[tensor].name,
                         " are one memory"),
            absl::StrCat(order.OperatorText(*op), ": ", graph.tensors[example].name, " lies in ",
                         region->name, ", ", graph.tensors[tensor].name, " in ", found->name,
                         "; name one buffer, or leave \"inplace\" out"));
        Concerns(*op, &*violation_);
      }
      for (auto& [key, buffer] : buffers_) {
        if (&buffer == found) region = &buffer;
      }
      example = tensor;
    }
    if (region == nullptr) {
      region = &regions_[group.front()];
      region->name = absl::StrCat("the memory of ", graph.tensors[operand].name);
      region->slots = static_cast<int32_t>(std::min<int64_t>(order.microbatches(), 1 << 24));
    }
    // A part of what is one for all microbatches belongs to each of them.
    if (varies && once) region->slots = 1;
    for (TensorId tensor : group) {
      region_of_[tensor] = region;
      const sdfg::OperatorId producer = graph.tensors[tensor].producer;
      const bool stated = order.problem().schedule.storage.count(tensor) > 0;
      if (!stated && producer != kNone && graph.operators[producer].memory.view) {
        views_.insert(tensor);
      }
    }
  }
}

}  // namespace planproof::stages
