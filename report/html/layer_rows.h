// Merges rows of the map: layers that follow each other and are alike share one.
#ifndef PLANPROOF_REPORT_HTML_LAYER_ROWS_H_
#define PLANPROOF_REPORT_HTML_LAYER_ROWS_H_

#include <string>
#include <vector>

#include "report/report.h"

namespace planproof::report {

struct LayerRow {
  std::vector<int> layers;     // in LayerMap::layers, ascending
  std::vector<MapCell> cells;  // of the first of them
  std::string name;            // "layers.0-7", "outside of layers"
  RankSet ranks;
};

// Two layers are alike if the same kinds of operators, as many of each, are known equally well on
// the same ranks, and if no operator in them is refuted.
std::vector<LayerRow> FoldLayers(const LayerMap& map);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_HTML_LAYER_ROWS_H_
