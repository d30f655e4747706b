#include "monitor/proved/run_layout.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace planproof::monitor {
namespace {

constexpr size_t kMostPartsCompared = 256;
constexpr size_t kMostMeshes = 4096;

// "layers.*.weight" of "layers.3.weight"; the name itself where there is no number.
std::string WithoutNumbers(const std::string& name) {
  std::vector<std::string> parts = absl::StrSplit(name, '.');
  for (std::string& part : parts) {
    const bool number = !part.empty() && std::all_of(part.begin(), part.end(), absl::ascii_isdigit);
    if (number) part = "*";
  }
  return absl::StrJoin(parts, ".");
}

bool SameDefinition(const SetMonitor& a, const SetMonitor& b) {
  if (a.definition.has_value() != b.definition.has_value()) return false;
  if (!a.definition) return true;
  const auto equal = [](const LinearTerm& x, const LinearTerm& y) {
    return x.factor == y.factor && x.set == y.set;
  };
  return a.definition->constant == b.definition->constant &&
         std::equal(a.definition->terms.begin(), a.definition->terms.end(),
                    b.definition->terms.begin(), b.definition->terms.end(), equal);
}

bool SameContributions(const TensorMonitor& a, const TensorMonitor& b) {
  if (a.contributions.has_value() != b.contributions.has_value()) return false;
  return !a.contributions || (a.contributions->factor == b.contributions->factor &&
                              a.contributions->axes == b.contributions->axes);
}

// But for numbers: extents of the whole, places and order.
bool SameRelations(const TensorMonitor& a, const TensorMonitor& b) {
  const auto equal = [](const SetMonitor& x, const SetMonitor& y) {
    return x.set == y.set && x.kind == y.kind && x.same == y.same && x.ranks == y.ranks &&
           SameDefinition(x, y);
  };
  return a.of.size() == b.of.size() && a.cut == b.cut && a.flat == b.flat && a.groups == b.groups &&
         a.clipped == b.clipped && SameContributions(a, b) &&
         std::equal(a.sets.begin(), a.sets.end(), b.sets.begin(), b.sets.end(), equal);
}

// The tensors of one name, by rank that holds some of it.
using HeldByRank = std::map<int, const HeldTensor*>;

int64_t ElementsOfWhole(const std::vector<int64_t>& of) {
  int64_t elements = 1;
  for (const int64_t extent : of) elements *= extent;
  return elements;
}

bool SamePart(const HeldTensor& a, const HeldTensor& b) {
  return a.place == b.place && a.flat == b.flat && a.local == b.local && a.of == b.of;
}

using Segments = std::vector<std::pair<int64_t, int64_t>>;

bool SegmentsOverlap(const Segments& a, const Segments& b) {
  for (const auto& [start, length] : a) {
    for (const auto& [other, extent] : b) {
      if (start < other + extent && other < start + length) return true;
    }
  }
  return false;
}

bool PartsOverlap(const HeldTensor& a, const HeldTensor& b) {
  if (a.flat && b.flat) return SegmentsOverlap({*a.flat}, {*b.flat});
  if (a.flat || b.flat || a.place.empty() || b.place.empty()) return true;
  for (size_t d = 0; d < a.place.size() && d < b.place.size(); ++d) {
    if (!SegmentsOverlap(a.place[d], b.place[d])) return false;
  }
  return true;
}

// Whether ranks of a group hold one part, and the parts of all groups are the whole, each once.
bool GroupsCover(const HeldByRank& held, const std::vector<std::vector<int>>& groups) {
  std::vector<const HeldTensor*> parts;
  int64_t elements = 0;
  for (const std::vector<int>& group : groups) {
    const HeldTensor* first = held.at(group.front());
    for (const int rank : group) {
      if (!SamePart(*first, *held.at(rank))) return false;
    }
    parts.push_back(first);
    elements += first->local;
  }
  if (parts.empty() || elements != ElementsOfWhole(parts[0]->of)) return false;
  if (parts.size() > kMostPartsCompared) return true;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (PartsOverlap(*parts[i], *parts[j])) return false;
    }
  }
  return true;
}

std::vector<int64_t> CoordinatesAt(const std::vector<ProvedAxis>& axes, int64_t rank) {
  std::vector<int64_t> coordinates(axes.size());
  for (size_t a = axes.size(); a-- > 0;) {
    coordinates[a] = rank % axes[a].extent;
    rank /= axes[a].extent;
  }
  return coordinates;
}

// Ranks that hold one part as the monitor says it; nothing if it cannot be so in this mesh.
std::vector<std::vector<int>> GroupsOf(const TensorMonitor& monitor,
                                       const std::vector<ProvedAxis>& axes,
                                       const HeldByRank& held) {
  std::vector<std::vector<int>> groups;
  if (!monitor.by_axes()) {
    for (const std::vector<int32_t>& ranks : monitor.groups) {
      std::vector<int> group;
      for (const int32_t rank : ranks) {
        if (held.count(rank) == 0) return {};
        group.push_back(rank);
      }
      groups.push_back(std::move(group));
    }
    return groups;
  }
  std::set<int32_t> cut;
  for (const std::vector<int32_t>& dim : monitor.cut) cut.insert(dim.begin(), dim.end());
  if (monitor.flat) cut.insert(monitor.flat->begin(), monitor.flat->end());
  std::map<std::vector<int64_t>, std::vector<int>> by_coordinates;
  for (const auto& [rank, tensor] : held) {
    const std::vector<int64_t> coordinates = CoordinatesAt(axes, rank);
    std::vector<int64_t> key;
    for (const int32_t axis : cut) key.push_back(coordinates[axis]);
    by_coordinates[key].push_back(rank);
  }
  for (auto& [key, ranks] : by_coordinates) {
    if (held.at(ranks.front())->local > 0) groups.push_back(std::move(ranks));
  }
  return groups;
}

// All ways to give the axes extents whose product is the world; those of the proof first.
void ListMeshes(const std::vector<ProvedAxis>& proved, int64_t world, std::vector<ProvedAxis> begun,
                std::vector<std::vector<ProvedAxis>>* meshes) {
  if (meshes->size() >= kMostMeshes) return;
  if (begun.size() == proved.size()) {
    if (world == 1) meshes->push_back(std::move(begun));
    return;
  }
  for (int64_t extent = 1; extent <= world; ++extent) {
    if (world % extent != 0) continue;
    std::vector<ProvedAxis> next = begun;
    next.push_back({proved[begun.size()].name, extent});
    ListMeshes(proved, world / extent, std::move(next), meshes);
  }
}

struct NamedTensor {
  MonitorNames::Found found;
  HeldByRank held;
};
using NamedTensors = std::map<std::string, NamedTensor>;

NamedTensors TensorsOf(const MonitorNames& names, const std::map<int, const TensorTable*>& tables) {
  NamedTensors tensors;
  for (const auto& [rank, table] : tables) {
    for (const HeldTensor& tensor : *table) {
      if (tensor.shared_with.has_value()) continue;
      NamedTensor& named = tensors[tensor.name];
      if (named.held.empty()) named.found = names.Find(tensor.name);
      named.held.emplace(rank, &tensor);
    }
  }
  return tensors;
}

size_t CountCovered(const NamedTensors& tensors, const std::vector<ProvedAxis>& axes) {
  size_t count = 0;
  for (const auto& [name, tensor] : tensors) {
    const TensorMonitor* monitor = tensor.found.monitor;
    if (monitor == nullptr || !monitor->by_axes()) continue;
    const auto groups = GroupsOf(*monitor, axes, tensor.held);
    if (GroupsCover(tensor.held, groups)) ++count;
  }
  return count;
}

std::vector<ProvedAxis> MeshOfRun(const ProvedMonitors& monitors, const NamedTensors& tensors,
                                  int64_t world) {
  if (world == monitors.world) return monitors.axes;
  std::vector<std::vector<ProvedAxis>> meshes;
  ListMeshes(monitors.axes, world, {}, &meshes);
  size_t most = 0;
  const std::vector<ProvedAxis>* best = nullptr;
  bool unique = true;
  for (const std::vector<ProvedAxis>& mesh : meshes) {
    const size_t count = CountCovered(tensors, mesh);
    if (count == most) unique = false;
    if (count <= most) continue;
    most = count;
    best = &mesh;
    unique = true;
  }
  return best != nullptr && unique ? *best : std::vector<ProvedAxis>{};
}

std::string WhyNot(const ProvedMonitors& monitors, const NamedTensor& tensor, int64_t world,
                   const std::vector<ProvedAxis>& axes) {
  if (tensor.found.monitor == nullptr) return "the proof has no tensor of this name";
  if (tensor.held.begin()->second->of.size() != tensor.found.monitor->of.size()) {
    return "it has other dimensions than in the proof";
  }
  if (!tensor.found.monitor->by_axes() && world != monitors.world) {
    return "where its parts lie was proved for another number of ranks only";
  }
  if (axes.size() != monitors.axes.size()) return "the run's mesh is not known from its parts";
  return "";
}

}  // namespace

MonitorNames::MonitorNames(const ProvedMonitors& monitors) {
  std::map<std::string, std::vector<const TensorMonitor*>> alike;
  for (const TensorMonitor& monitor : monitors.tensors) {
    by_name_[monitor.name] = &monitor;
    alike[WithoutNumbers(monitor.name)].push_back(&monitor);
  }
  for (const auto& entry : alike) {
    const auto& tensors = entry.second;
    const bool same = std::all_of(tensors.begin(), tensors.end(), [&](const TensorMonitor* other) {
      return SameRelations(*tensors.front(), *other);
    });
    if (same && tensors.size() >= 2) by_pattern_[entry.first] = tensors.front();
  }
}

MonitorNames::Found MonitorNames::Find(const std::string& name) const {
  if (const auto at = by_name_.find(name); at != by_name_.end()) return {at->second, true};
  const auto at = by_pattern_.find(WithoutNumbers(name));
  return {at == by_pattern_.end() ? nullptr : at->second, false};
}

std::vector<int> LineOf(const std::vector<ProvedAxis>& axes, const std::vector<int32_t>& along,
                        int rank) {
  std::vector<int64_t> strides(axes.size(), 1);
  for (size_t a = axes.size(); a-- > 1;) strides[a - 1] = strides[a] * axes[a].extent;
  const std::vector<int64_t> own = CoordinatesAt(axes, rank);
  std::vector<int64_t> line = {rank};
  for (const int32_t axis : along) {
    std::vector<int64_t> longer;
    for (const int64_t from : line) {
      for (int64_t i = 0; i < axes[axis].extent; ++i) {
        longer.push_back(from + (i - own[axis]) * strides[axis]);
      }
    }
    line = std::move(longer);
  }
  std::sort(line.begin(), line.end());
  return {line.begin(), line.end()};
}

RunLayout LayoutOfRun(const ProvedMonitors& monitors, const MonitorNames& names,
                      const std::map<int, const TensorTable*>& tables) {
  const NamedTensors tensors = TensorsOf(names, tables);
  const auto world = static_cast<int64_t>(tables.size());
  RunLayout layout;
  layout.axes = MeshOfRun(monitors, tensors, world);
  for (const auto& [name, tensor] : tensors) {
    const HeldTensor& first = *tensor.held.begin()->second;
    if (tensor.found.monitor == nullptr && first.buffer) continue;
    std::string why = WhyNot(monitors, tensor, world, layout.axes);
    MonitoredTensor own;
    if (why.empty()) {
      own.groups = GroupsOf(*tensor.found.monitor, layout.axes, tensor.held);
      if (!GroupsCover(tensor.held, own.groups)) {
        why = "ranks hold other parts of it than in the proof";
      }
    }
    if (!why.empty()) {
      layout.contradicted = layout.contradicted || tensor.found.monitor != nullptr;
      layout.without.emplace_back(name, std::move(why));
      continue;
    }
    own.monitor = tensor.found.monitor;
    own.name = name;
    own.of = first.of;
    const bool same_sizes =
        tensor.found.by_name && first.of == own.monitor->of && world == monitors.world;
    own.tier = same_sizes ? Tier::kProved : Tier::kDerived;
    layout.tensors.push_back(std::move(own));
  }
  layout.contradicted = layout.contradicted || layout.tensors.empty();
  return layout;
}

}  // namespace planproof::monitor
