// Renders the map of layers x kinds of operators x ranks, as a table.
#ifndef PLANPROOF_REPORT_HTML_MAP_SECTION_H_
#define PLANPROOF_REPORT_HTML_MAP_SECTION_H_

#include <string>
#include <vector>

#include "report/html/layer_rows.h"
#include "report/report.h"

namespace planproof::report {

// A grid with a cell for each kind of operator in each row of layers; page.js makes it one that the
// arrow keys move in.
std::string MapSection(const LayerMap& map, const std::vector<LayerRow>& rows);

// What page.js shows of the cells, as JSON.
std::string MapData(const LayerMap& map, const std::vector<LayerRow>& rows);

// The class of a state in page.css: "s-proved".
std::string ClassOf(State state);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_HTML_MAP_SECTION_H_
