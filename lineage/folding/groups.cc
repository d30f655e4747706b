#include "lineage/folding/groups.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

namespace planproof::lineage::folding {

using sdfg::Device;
using sdfg::kNone;

namespace {

// Devices of one group may differ in a few operators: one of them may be wrong, or the first one
// may do what is done once (norms of what all of them hold).
constexpr int64_t kDifferingOperators = 4;
constexpr int64_t kDifferingShare = 8;  // one of so many

using Programs = std::map<Device, std::map<std::string, int64_t>>;  // operators by name

bool Alike(const std::map<std::string, int64_t>& a, const std::map<std::string, int64_t>& b) {
  int64_t differing = 0, all = 0;
  for (const auto& [name, count] : a) {
    all += count;
    const auto found = b.find(name);
    differing += std::abs(count - (found == b.end() ? 0 : found->second));
  }
  for (const auto& [name, count] : b) differing += a.count(name) == 0 ? count : 0;
  return differing <= std::max(kDifferingOperators, all / kDifferingShare);
}

bool Spaced(const std::vector<Device>& devices) {
  for (size_t i = 2; i < devices.size(); ++i) {
    if (devices[i] - devices[i - 1] != devices[1] - devices[0]) return false;
  }
  return true;
}

}  // namespace

Device DeviceOf(const sdfg::Graph& graph, const sdfg::Operator& op) {
  for (sdfg::TensorId output : op.outputs) {
    if (output != kNone) return graph.tensors[output].device;
  }
  return -1;
}

Groups FindGroups(const sdfg::Graph& graph) {
  Programs programs;
  std::map<std::vector<Device>, int64_t> sets;  // how often each communicates
  for (const sdfg::Operator& op : graph.operators) {
    const Device device = DeviceOf(graph, op);
    if (device < 0) continue;
    ++programs[device][op.name];
    if (op.inputs.size() < 2) continue;
    std::vector<Device> devices;
    for (sdfg::TensorId input : op.inputs) devices.push_back(graph.tensors[input].device);
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    if (devices.size() > 1 && devices[0] >= 0) ++sets[devices];
  }
  std::vector<std::pair<std::vector<Device>, int64_t>> candidates(sets.begin(), sets.end());
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    const auto collectives = [](const auto& c) {
      return c.second / static_cast<int64_t>(c.first.size());
    };
    return collectives(a) != collectives(b) ? collectives(a) > collectives(b)
                                            : a.first.size() > b.first.size();
  });
  Groups found;
  for (const auto& [devices, times] : candidates) {
    const bool fits =
        Spaced(devices) &&
        std::all_of(devices.begin(), devices.end(), [&, &devices = devices](Device device) {
          return found.of_device.count(device) == 0 &&
                 Alike(programs[device], programs[devices[0]]);
        });
    if (!fits) continue;
    const int group = static_cast<int>(found.groups.size());
    found.groups.push_back(
        {devices[0], devices[1] - devices[0], static_cast<int32_t>(devices.size())});
    for (size_t r = 0; r < devices.size(); ++r) {
      found.of_device[devices[r]] = {group, static_cast<int32_t>(r)};
    }
  }
  return found;
}

}  // namespace planproof::lineage::folding
