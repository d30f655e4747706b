#include "diagnosis/exceptions.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"

namespace planproof::diagnosis {

using lineage::Lineage;
using lineage::LineageKind;
using sdfg::AxisId;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxStageOperators = 8192;
constexpr size_t kMaxOperatorsBefore = 512;

}  // namespace

std::vector<OperatorId> StageOf(const sdfg::Graph& graph, const std::vector<Lineage>& lineage,
                                TensorId tensor) {
  std::set<OperatorId> stage;
  std::vector<TensorId> work = {tensor};
  while (!work.empty() && stage.size() < kMaxStageOperators) {
    const TensorId t = work.back();
    work.pop_back();
    const OperatorId producer = graph.tensors[t].producer;
    if (producer == kNone || (t != tensor && lineage[t].kind == LineageKind::kFull)) continue;
    if (!stage.insert(producer).second) continue;
    for (TensorId input : graph.operators[producer].inputs) work.push_back(input);
  }
  return {stage.begin(), stage.end()};
}

bool IsException(const sdfg::Graph& graph, OperatorId id) {
  return graph.operators[id].kind == sdfg::OperatorKind::kRankOverride;
}

std::vector<OperatorId> SinceExceptions(const sdfg::Graph& graph,
                                        const std::vector<OperatorId>& stage, TensorId tensor) {
  const auto exception = [&](OperatorId id) { return IsException(graph, id); };
  if (std::any_of(stage.begin(), stage.end(), exception)) return {};
  std::set<OperatorId> before;
  std::vector<TensorId> level = {tensor};
  bool found = false;
  while (!found && !level.empty() && before.size() < kMaxOperatorsBefore) {
    std::vector<TensorId> next;
    for (const TensorId t : level) {
      const OperatorId producer = graph.tensors[t].producer;
      if (producer == kNone || !before.insert(producer).second) continue;
      found |= exception(producer);
      const auto& inputs = graph.operators[producer].inputs;
      next.insert(next.end(), inputs.begin(), inputs.end());
    }
    level = std::move(next);
  }
  if (!found) return {};
  return {before.begin(), before.end()};
}

void NarrowTo(const sdfg::Graph& graph, const sdfg::Operator& op, Fault* fault) {
  const sdfg::Tensor& tensor = graph.tensors[op.outputs[0]];
  std::vector<int> devices = {tensor.device};
  std::set<size_t> named;
  for (const auto& [axis, coordinates] : op.override_at) {
    if (graph.axes[axis].kind == sdfg::AxisKind::kMicrobatch) {
      fault->microbatches = absl::StrJoin(coordinates, ", ");
      continue;
    }
    if (axis >= static_cast<AxisId>(graph.axis_device_stride.size())) continue;
    named.insert(axis);
    std::vector<int> next;
    for (const int64_t coordinate : coordinates) {
      for (int device : devices) {
        next.push_back(device + static_cast<int>(coordinate * graph.axis_device_stride[axis]));
      }
    }
    devices = std::move(next);
  }
  // At every coordinate of the axes that it does not name.
  for (const sdfg::AxisId axis : tensor.axes) {
    const int64_t stride = graph.axis_device_stride[axis];
    if (stride == 0 || named.count(static_cast<size_t>(axis)) != 0) continue;
    std::vector<int> next;
    for (int64_t c = 0; c < std::min(graph.axes[axis].extent, kMaxInstances); ++c) {
      for (const int device : devices) next.push_back(device + static_cast<int>(c * stride));
    }
    if (next.size() <= static_cast<size_t>(kMaxInstances)) devices = std::move(next);
  }
  std::sort(devices.begin(), devices.end());
  fault->devices = std::move(devices);
}

Fault SuspectExceptions(const lineage::Problem& problem, TensorId tensor) {
  Fault suspect;
  std::set<int> devices;
  for (OperatorId id : StageOf(problem.parallel, problem.lineage, tensor)) {
    const sdfg::Operator& op = problem.parallel.operators[id];
    if (!IsException(problem.parallel, id)) continue;
    suspect.operators.push_back(id);
    NarrowTo(problem.parallel, op, &suspect);
    devices.insert(suspect.devices.begin(), suspect.devices.end());
  }
  suspect.devices.assign(devices.begin(), devices.end());
  if (suspect.operators.size() != 1) suspect.microbatches.clear();
  return suspect;
}

std::vector<TensorId> SuspectOperands(const lineage::Problem& problem, TensorId tensor) {
  std::set<TensorId> logical;
  for (OperatorId id : SuspectExceptions(problem, tensor).operators) {
    for (TensorId output : problem.parallel.operators[id].outputs) {
      for (OperatorId before : StageOf(problem.parallel, problem.lineage, output)) {
        for (TensorId input : problem.parallel.operators[before].inputs) {
          const Lineage& lineage = problem.lineage[input];
          if (lineage.kind == LineageKind::kFull) logical.insert(lineage.logical);
        }
      }
    }
  }
  return {logical.begin(), logical.end()};
}

}  // namespace planproof::diagnosis
