#include "frontend/nnscaler/plan_objects.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/nnscaler/plan_reader.h"
#include "sdfg/limit.h"

namespace planproof::frontend::nnscaler {
namespace {

constexpr int64_t kMaxDevices = 1 << 20;
constexpr size_t kMaxNesting = 16;
constexpr size_t kMaxNodesPerCell = 1 << 20;

}  // namespace

void PlanReader::ReadHeader(ValueId root) {
  std::vector<int64_t> devices = access_.GetInts(root, Field::kDevices, 0, kMaxDevices);
  std::sort(devices.begin(), devices.end());
  if (ok() && devices.empty()) Malformed("ModuleCodeGen, devices: the plan has none");
  for (size_t i = 0; i < devices.size() && ok(); ++i) {
    if (devices[i] != static_cast<int64_t>(i)) {
      Malformed(absl::StrCat("ModuleCodeGen, devices: expected 0 to ", devices.size() - 1,
                             ", each once; ", i, " is missing"));
    }
    plan_.devices.push_back(static_cast<int>(devices[i]));
  }
  const int64_t run_time = access_.GetInt(root, Field::kRuntimeNdevs, 1, kMaxDevices);
  const bool copies = access_.GetBool(root, Field::kEnableDp);
  if (!ok() || !copies) return;
  if (run_time % devices.size() != 0) {
    Malformed(absl::StrCat("ModuleCodeGen, runtime_ndevs: ", run_time,
                           " is no multiple of the plan's ", devices.size(), " devices"));
    return;
  }
  plan_.copies = run_time / static_cast<int64_t>(devices.size());
}

int PlanReader::ReadBody(ValueId cell) {
  const auto [it, inserted] = bodies_.try_emplace(cell, kNoIndex);
  if (!inserted) return it->second;
  std::vector<int> body;
  if (pickle_.ClassName(cell) == "IRSegment") {
    std::vector<std::pair<absl::Span<const ValueId>, size_t>> stack;
    stack.emplace_back(access_.GetSequence(cell, Field::kNodes), 0);
    while (!stack.empty() && ok()) {
      auto& [nodes, next] = stack.back();
      if (next == nodes.size()) {
        stack.pop_back();
        continue;
      }
      const ValueId node = nodes[next++];
      if (pickle_.ClassName(node) == "IRSegment") {
        if (stack.size() >= kMaxNesting) {
          Malformed(absl::StrCat(access_.Describe(cell), ": segments are nested too deeply"));
          break;
        }
        stack.emplace_back(access_.GetSequence(node, Field::kNodes), 0);
        continue;
      }
      body.push_back(ReadNode(node));
      if (body.size() > kMaxNodesPerCell) {
        access_.Fail(sdfg::BeyondLimit(absl::StrCat(access_.Describe(cell), ": nodes"), body.size(),
                                       kMaxNodesPerCell));
      }
    }
  } else {
    body.push_back(ReadNode(cell));
  }
  if (!ok()) return kNoIndex;
  plan_.bodies.push_back(std::move(body));
  return bodies_[cell] = static_cast<int>(plan_.bodies.size() - 1);
}

void PlanReader::ReadSequences(ValueId execplan) {
  const ValueId sequences = access_.Get(execplan, Field::kSeq);
  if (!ok()) return;
  if (!pickle_.Is(sequences, ValueKind::kDict)) {
    access_.Expect(execplan, Field::kSeq, sequences, "a dict from device to list of cells");
    return;
  }
  const absl::Span<const ValueId> items = pickle_.Items(sequences);
  for (size_t i = 0; i + 1 < items.size() && ok(); i += 2) {
    const ValueId device = items[i], list = items[i + 1];
    if (!pickle_.Is(device, ValueKind::kInt) || pickle_.Int(device) < 0 ||
        pickle_.Int(device) >= static_cast<int64_t>(plan_.devices.size()) ||
        (!pickle_.Is(list, ValueKind::kList) && !pickle_.Is(list, ValueKind::kTuple))) {
      access_.Expect(execplan, Field::kSeq, device,
                     "devices of the plan, each with a list of cells");
      return;
    }
    DeviceSequence sequence;
    sequence.device = static_cast<int>(pickle_.Int(device));
    for (ValueId cell : pickle_.Items(list)) {
      if (pickle_.ClassName(cell) == "ExeReuseCell") cell = access_.GetObject(cell, Field::kCell);
      if (!ok()) return;
      Cell entry;
      entry.id = access_.GetInt(cell, Field::kId, 0, int64_t{1} << 40);
      entry.body = ReadBody(cell);
      sequence.cells.push_back(entry);
      if (!ok()) return;
    }
    plan_.sequences.push_back(std::move(sequence));
  }
  std::sort(plan_.sequences.begin(), plan_.sequences.end(),
            [](const DeviceSequence& a, const DeviceSequence& b) { return a.device < b.device; });
  for (size_t i = 0; i < plan_.sequences.size() && ok(); ++i) {
    if (i > 0 && plan_.sequences[i].device == plan_.sequences[i - 1].device) {
      Malformed(
          absl::StrCat("execplan, _seq: device ", plan_.sequences[i].device, " stands twice"));
    }
  }
  if (ok() && plan_.sequences.size() != plan_.devices.size()) {
    Malformed(absl::StrCat("execplan, _seq: has ", plan_.sequences.size(), " devices, the plan ",
                           plan_.devices.size()));
  }
}

absl::StatusOr<Plan> PlanReader::Run() {
  const ValueId root = pickle_.root();
  if (!pickle_.Is(root, ValueKind::kObject) || pickle_.ClassName(root) != "ModuleCodeGen") {
    return absl::InvalidArgumentError(absl::StrCat("the pickle holds a ", access_.Describe(root),
                                                   ", expected nnScaler's ModuleCodeGen"));
  }
  ReadHeader(root);
  const ValueId execplan = access_.GetObject(root, Field::kExecplan);
  if (ok()) ReadSequences(execplan);
  if (ok()) ReadMirrors();
  if (ok()) ReadFullGradients();
  if (!ok()) return access_.status();
  return std::move(plan_);
}

absl::StatusOr<Plan> ReadPlan(const Pickle& pickle) { return PlanReader(pickle).Run(); }

}  // namespace planproof::frontend::nnscaler
