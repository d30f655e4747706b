#include "stages/schedule/shared_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "stages/schedule/in_place.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::TensorId;

SharedMemory::SharedMemory(const StepOrder& order, Views views) {
  for (const auto& [tensor, storage] : order.problem().schedule.storage) {
    const int32_t program = order.PlaceOf(tensor).program;
    Region& region = buffers_[{program, storage.buffer}];
    region.name = absl::StrCat("buffer \"", storage.buffer, "\" of program \"",
                               order.ProgramName(program), "\"");
    region.slots = storage.slots;
    region_of_[tensor] = &region;
  }
  JoinOverwritten(order);
  if (views == Views::kOfBuffers) AddViewsOfBuffers(order);
  JoinPlaces(order);
}

const Region* SharedMemory::RegionOf(TensorId tensor) const {
  const auto found = region_of_.find(tensor);
  return found == region_of_.end() ? nullptr : found->second;
}

TensorId SharedMemory::Groups::Root(TensorId tensor) {
  while (parent_.try_emplace(tensor, tensor).first->second != tensor) {
    TensorId& parent = parent_[tensor];
    parent = parent_[parent];
    tensor = parent;
  }
  return tensor;
}

std::map<TensorId, std::vector<TensorId>> SharedMemory::Groups::Members() {
  std::map<TensorId, std::vector<TensorId>> members;
  for (const auto& [tensor, parent] : parent_) members[Root(tensor)].push_back(tensor);
  return members;
}

bool SharedMemory::SamePlaces(TensorId a, TensorId b) const {
  const auto first = places_.find(a), second = places_.find(b);
  return a == b ||
         (first != places_.end() && second != places_.end() && first->second == second->second);
}

void SharedMemory::JoinOverwritten(const StepOrder& order) {
  const sdfg::Graph& graph = order.problem().parallel;
  Groups one_memory;
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
        if (read[i]) one_memory.Join(op.inputs[i], output);
      }
    }
  }
  const auto operand_of = [](const sdfg::Operator& op) { return op.inputs[op.memory.overwrites]; };
  for (const sdfg::Operator* op : overwriting) {
    for (TensorId output : op->outputs) {
      if (output != kNone) one_memory.Join(operand_of(*op), output);
    }
  }
  const std::map<TensorId, std::vector<TensorId>> groups = one_memory.Members();
  std::set<TensorId> done;  // roots
  for (const sdfg::Operator* op : overwriting) {
    const TensorId operand = operand_of(*op);
    const TensorId root = one_memory.Root(operand);
    const std::vector<TensorId>& group = groups.at(root);
    if (!done.insert(root).second) continue;
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

// Operators come after those that make their operands, so that views of views are met in order.
void SharedMemory::AddViewsOfBuffers(const StepOrder& order) {
  for (const sdfg::Operator& op : order.problem().parallel.operators) {
    if (!op.memory.view) continue;
    const std::vector<bool> read = InputsRead(op);
    for (TensorId output : op.outputs) {
      if (output == kNone) continue;
      for (size_t i = 0; i < op.inputs.size() && region_of_.count(output) == 0; ++i) {
        const auto source = region_of_.find(op.inputs[i]);
        if (!read[i] || source == region_of_.end()) continue;
        if (order.PlaceOf(op.inputs[i]).program != order.PlaceOf(output).program) continue;
        region_of_[output] = source->second;
        views_.insert(output);
      }
    }
  }
}

// What the plan puts into a buffer lies there from the start of the slot on. A view that keeps the
// order of the elements lies where its operand does, and a result in place where the operand was.
void SharedMemory::JoinPlaces(const StepOrder& order) {
  const sdfg::Graph& graph = order.problem().parallel;
  Groups same;
  std::map<const Region*, TensorId> first;
  for (const auto& [tensor, storage] : order.problem().schedule.storage) {
    same.Join(first.try_emplace(region_of_.at(tensor), tensor).first->second, tensor);
  }
  for (const sdfg::Operator& op : graph.operators) {
    const bool in_place = op.memory.overwrites != kNone;
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      const TensorId output = op.outputs[o];
      if (output == kNone || region_of_.count(output) == 0) continue;
      if (in_place) same.Join(op.inputs[op.memory.overwrites], output);
      if (!IsView(output)) continue;
      const std::vector<InputReads> reads = ReadsOf(graph, op)[o];
      for (size_t i = 0; i < reads.size(); ++i) {
        if (reads[i].any && reads[i].own_element) same.Join(op.inputs[i], output);
      }
    }
  }
  for (const auto& [root, members] : same.Members()) {
    for (TensorId tensor : members) places_[tensor] = root;
  }
}

}  // namespace planproof::stages
