#include "monitor/proved/export_layout.h"

#include <functional>
#include <map>
#include <set>

#include "sdfg/dense_evaluator.h"

namespace planproof::monitor {
namespace {

// What is fixed of the index is part of the constant, where no gate decides.
void AddMap(const sdfg::IndexMap& map, const sdfg::Shape& shape,
            const std::vector<int64_t>& coordinates, PlaceKey* key) {
  const auto fixed = static_cast<int32_t>(coordinates.size());
  int64_t constant = map.constant;
  key->push_back(0);
  for (const sdfg::IndexTerm& term : map.terms) {
    if (!term.gated() && term.dim < fixed) {
      constant += term.scale * term.At(coordinates[term.dim]);
      continue;
    }
    const auto extent = [&](int32_t dim) {
      return dim < fixed ? -1 - coordinates[dim] : shape[dim];
    };
    // Dimensions beyond coordinates have the numbers that they have without any.
    key->insert(key->end(),
                {term.dim - fixed, term.scale, term.div, term.mod, term.offset, extent(term.dim)});
    if (!term.gated()) continue;
    const sdfg::IndexDigit& gate = term.gate;
    key->insert(key->end(), {gate.dim - fixed, gate.div, gate.mod, gate.offset, extent(gate.dim)});
  }
  key->front() = constant;
}

// By rank, then by dimension of the whole. Ranks that hold no element are left out.
std::map<int32_t, std::vector<PlaceKey>> PlacesOf(const lineage::Problem& problem,
                                                  const ExportedSet& set) {
  std::map<int32_t, std::vector<PlaceKey>> places;
  for (const ExportedPart& part : set.parts) {
    if (part.required < 0) continue;
    if (ElementsOfPart(problem, part) > 0) places[part.rank] = PlaceOf(problem, part);
  }
  return places;
}

// The axes along which ranks that differ in nothing else have other parts of this dimension.
std::vector<int32_t> AxesThatCut(const std::vector<ProvedAxis>& axes,
                                 const std::map<int32_t, std::vector<PlaceKey>>& places,
                                 size_t dim) {
  std::vector<int32_t> cut;
  int64_t stride = 1;
  for (size_t a = axes.size(); a-- > 0;) {
    bool differs = false;
    for (const auto& [rank, place] : places) {
      const auto next = places.find(static_cast<int32_t>(rank + stride));
      const bool last = rank / stride % axes[a].extent + 1 == axes[a].extent;
      if (last || next == places.end()) continue;
      differs = differs || next->second[dim] != place[dim];
    }
    if (differs) cut.insert(cut.begin(), static_cast<int32_t>(a));
    stride *= axes[a].extent;
  }
  return cut;
}

// Whether ranks hold the same part exactly where they agree on all axes that cut.
bool AxesSayIt(const std::vector<ProvedAxis>& axes,
               const std::map<int32_t, std::vector<PlaceKey>>& places,
               const std::vector<std::vector<int32_t>>& cut) {
  std::set<int32_t> all;
  for (const std::vector<int32_t>& of : cut) all.insert(of.begin(), of.end());
  std::map<PlaceKey, std::vector<PlaceKey>> by_coordinates;
  std::set<std::vector<PlaceKey>> parts;
  for (const auto& [rank, place] : places) {
    const std::vector<int64_t> coordinates = CoordinatesOf(axes, rank);
    PlaceKey key;
    for (const int32_t axis : all) key.push_back(coordinates[axis]);
    if (by_coordinates.emplace(key, place).first->second != place) return false;
    parts.insert(place);
  }
  return parts.size() == by_coordinates.size();
}

// Coordinates of ranks may be axes of the plan's graph.
std::vector<lineage::MeshAxis> MeshOf(const lineage::Problem& problem) {
  if (!problem.mesh.empty()) return problem.mesh;
  std::vector<lineage::MeshAxis> mesh;
  for (size_t a = 0; a < problem.parallel.axes.size(); ++a) {
    const sdfg::Axis& axis = problem.parallel.axes[a];
    const int64_t stride = problem.parallel.axis_device_stride[a];
    if (stride > 0) mesh.push_back({axis.name, axis.extent, stride});
  }
  return mesh;
}

}  // namespace

std::vector<PlaceKey> PlaceOf(const lineage::Problem& problem, const ExportedPart& part) {
  const sdfg::Shape& shape = problem.parallel.tensors[part.after].shape;
  std::vector<PlaceKey> place;
  for (const sdfg::IndexMap& map : problem.required[part.required].lineage.map) {
    AddMap(map, shape, part.coordinates, &place.emplace_back());
  }
  return place;
}

int64_t ElementsOfPart(const lineage::Problem& problem, const ExportedPart& part) {
  const sdfg::Shape& shape = problem.parallel.tensors[part.after].shape;
  int64_t elements = 1;
  for (size_t d = part.coordinates.size(); d < shape.size(); ++d) elements *= shape[d];
  return elements;
}

std::vector<ProvedAxis> AxesOf(const lineage::Problem& problem, int32_t world) {
  std::vector<ProvedAxis> axes;
  const std::vector<lineage::MeshAxis> mesh = MeshOf(problem);
  int64_t ranks = 1;
  for (const lineage::MeshAxis& axis : mesh) ranks *= axis.extent;
  if (mesh.empty() || ranks != world) return {{"rank", world}};
  std::map<int64_t, ProvedAxis, std::greater<>> by_stride;
  for (const lineage::MeshAxis& axis : mesh) {
    if (axis.extent > 1) by_stride[axis.stride] = {axis.name, axis.extent};
  }
  for (const auto& [stride, axis] : by_stride) axes.push_back(axis);
  return axes;
}

std::vector<int64_t> CoordinatesOf(const std::vector<ProvedAxis>& axes, int64_t rank) {
  std::vector<int64_t> coordinates(axes.size());
  for (size_t a = axes.size(); a-- > 0;) {
    coordinates[a] = rank % axes[a].extent;
    rank /= axes[a].extent;
  }
  return coordinates;
}

void SetLayout(const lineage::Problem& problem, const std::vector<ProvedAxis>& axes,
               const ExportedSet& set, TensorMonitor* monitor) {
  const std::map<int32_t, std::vector<PlaceKey>> places = PlacesOf(problem, set);
  if (places.empty()) return;
  int64_t world = 1;
  for (const ProvedAxis& axis : axes) world *= axis.extent;
  std::vector<std::vector<int32_t>> cut;
  for (size_t d = 0; d < places.begin()->second.size(); ++d) {
    cut.push_back(AxesThatCut(axes, places, d));
  }
  if (static_cast<int64_t>(places.size()) == world && AxesSayIt(axes, places, cut)) {
    if (!set.flat) {
      monitor->cut = std::move(cut);
    } else {
      monitor->flat.emplace();
      for (const std::vector<int32_t>& of : cut) {
        monitor->flat->insert(monitor->flat->end(), of.begin(), of.end());
      }
    }
    return;
  }
  std::map<std::vector<PlaceKey>, std::vector<int32_t>> groups;
  for (const auto& [rank, place] : places) groups[place].push_back(rank);
  for (auto& [place, ranks] : groups) monitor->groups.push_back(std::move(ranks));
}

}  // namespace planproof::monitor
