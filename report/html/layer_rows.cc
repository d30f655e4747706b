#include "report/html/layer_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "report/ranks.h"

namespace planproof::report {
namespace {

// "layers" and "12" of "layers.12".
std::pair<std::string, std::string> Parts(const std::string& layer) {
  const size_t dot = layer.rfind('.');
  if (dot == std::string::npos) return {layer, ""};
  return {layer.substr(0, dot), layer.substr(dot + 1)};
}

bool Alike(const std::vector<MapCell>& a, const std::vector<MapCell>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.state != State::kRefuted && std::tie(x.kind, x.state, x.ranks, x.count) ==
                                             std::tie(y.kind, y.state, y.ranks, y.count);
  });
}

std::string NameOf(const LayerMap& map, const LayerRow& row) {
  const std::string& first = map.layers[row.layers.front()];
  if (first.empty()) return map.layers.size() == 1 ? "the plan" : "outside of layers";
  if (row.layers.size() == 1) return first;
  return first + "-" + Parts(map.layers[row.layers.back()]).second;
}

}  // namespace

std::vector<LayerRow> FoldLayers(const LayerMap& map) {
  std::vector<std::vector<MapCell>> cells(map.layers.size());
  for (const MapCell& cell : map.cells) cells[cell.layer].push_back(cell);
  std::vector<LayerRow> rows;
  for (size_t layer = 0; layer < cells.size(); ++layer) {
    const std::string& name = map.layers[layer];
    const bool folds = !rows.empty() && !name.empty() && Alike(rows.back().cells, cells[layer]) &&
                       Parts(map.layers[rows.back().layers[0]]).first == Parts(name).first;
    if (!folds) rows.push_back({{}, std::move(cells[layer]), "", {}});
    rows.back().layers.push_back(static_cast<int>(layer));
  }
  for (LayerRow& row : rows) {
    row.name = NameOf(map, row);
    for (const MapCell& cell : row.cells) row.ranks = Union(row.ranks, map.rank_sets[cell.ranks]);
  }
  return rows;
}

}  // namespace planproof::report
