#include "report/html/map_section.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "report/markup.h"
#include "report/ranks.h"
#include "report/text_layout.h"

namespace planproof::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostSegments = 16;

constexpr State kShown[] = {State::kProved,  State::kRefuted, State::kAfterFault,
                            State::kUnknown, State::kGivenUp, State::kNoEffect};

const char* Meaning(State state) {
  switch (state) {
    case State::kProved:
      return "proved, with all on which it rests";
    case State::kRefuted:
      return "in a stage that is wrong";
    case State::kAfterFault:
      return "not shown: it rests on, or shares a stage with, what is wrong";
    case State::kUnknown:
      return "neither proved nor refuted";
    case State::kGivenUp:
      return "its stated relation is not used";
    case State::kNoEffect:
      break;
  }
  return "no required output depends on it";
}

std::string Legend(const LayerMap& map) {
  std::string html = "<ul class=\"legend\">";
  for (const State state : kShown) {
    const bool used = std::any_of(map.cells.begin(), map.cells.end(),
                                  [state](const MapCell& cell) { return cell.state == state; });
    if (!used) continue;
    absl::StrAppend(&html, "<li><span class=\"swatch ", ClassOf(state), "\"></span><b>",
                    StateName(state), "</b> ", Meaning(state), "</li>");
  }
  return html + "</ul>\n";
}

// The cells of one kind: a segment for each, or for each state where there are many.
std::string CellContent(const std::vector<const MapCell*>& cells) {
  std::vector<const MapCell*> segments;
  for (const MapCell* cell : cells) {
    const bool known = std::any_of(segments.begin(), segments.end(),
                                   [&](const MapCell* s) { return s->state == cell->state; });
    if (cells.size() <= kMostSegments || !known) segments.push_back(cell);
  }
  int64_t count = 0;
  State worst = State::kNoEffect;
  std::string html;
  for (const MapCell* cell : segments)
    absl::StrAppend(&html, "<i class=", ClassOf(cell->state), "></i>");
  for (const MapCell* cell : cells) {
    count += cell->count;
    worst = std::max(worst, cell->state);
  }
  return absl::StrCat("<b>", html, "</b><span>", worst == State::kRefuted ? "\u2717" : "", count,
                      "</span><span class=vh> ", StateName(worst), "</span>");
}

std::string Row(const LayerMap& map, const LayerRow& row, size_t number) {
  std::string html =
      absl::StrCat("<tr data-row=\"", number, "\"><th scope=\"row\"><span>", MarkupText(row.name),
                   "</span><small title=\"", MarkupText(Named(row.ranks)), "\">",
                   MarkupText(OneLine(Named(row.ranks), 60)), "</small></th>");
  for (size_t kind = 0; kind < map.kinds.size(); ++kind) {
    std::vector<const MapCell*> cells;
    for (const MapCell& cell : row.cells) {
      if (cell.kind == static_cast<int>(kind)) cells.push_back(&cell);
    }
    absl::StrAppend(&html, cells.empty() ? "<td class=none>" : "<td>",
                    cells.empty() ? "" : CellContent(cells), "</td>");
  }
  return html + "</tr>\n";
}

}  // namespace

std::string ClassOf(State state) {
  std::string name = std::string("s-") + StateName(state);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string MapSection(const LayerMap& map, const std::vector<LayerRow>& rows) {
  std::string html =
      "<section id=\"map\" aria-labelledby=\"map-title\">\n<h2 id=\"map-title\">Map of the "
      "plan</h2>\n";
  if (map.cells.empty()) {
    return html + "<p>There is none: the plan was not taken apart into stages.</p>\n</section>\n";
  }
  size_t layers = map.layers.size();
  if (layers > 0 && map.layers.back().empty()) --layers;
  RankSet all;
  for (const RankSet& set : map.rank_sets) all = Union(all, set);
  absl::StrAppend(&html, "<p>", layers == 0 ? "No layers are named; " : "",
                  layers == 0 ? "" : absl::StrCat(layers, layers == 1 ? " layer, " : " layers, "),
                  map.kinds.size(), " kinds of operators, ", Grouped(CountOf(all)),
                  " ranks. A number counts operators of the plan. ",
                  layers == 0 ? "" : "Layers that are alike share a row. ",
                  "A cell has a segment for each set of ranks.</p>\n", Legend(map));
  html +=
      "<div class=\"controls\" hidden><label>Rank <input id=\"rank\" type=\"number\" min=\"0\" "
      "placeholder=\"all\"></label><label><input id=\"unfold\" type=\"checkbox\"> every layer in a "
      "row of its own</label><span class=\"hint\">Arrow keys, Home, End move in the "
      "map.</span></div>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"map-title\">\n"
      "<table id=\"grid\" class=\"map\"><thead><tr><th scope=\"col\">layer</th>";
  for (const std::string& kind : map.kinds) {
    absl::StrAppend(&html, "<th scope=\"col\"><span title=\"", MarkupText(kind), "\">",
                    MarkupText(OneLine(kind, 26)), "</span></th>");
  }
  html += "</tr></thead>\n<tbody>\n";
  for (size_t row = 0; row < rows.size(); ++row) html += Row(map, rows[row], row);
  return html +
         "</tbody></table>\n</div>\n<div id=\"cell\" class=\"detail\" aria-live=\"polite\" "
         "hidden></div>\n</section>\n";
}

std::string MapData(const LayerMap& map, const std::vector<LayerRow>& rows) {
  Json ranks = Json::array(), list = Json::array();
  for (const RankSet& set : map.rank_sets) ranks.push_back(ToText(set));
  for (const LayerRow& row : rows) {
    Json layers = Json::array(), cells = Json::array();
    for (const int layer : row.layers) layers.push_back(map.layers[layer]);
    for (const MapCell& cell : row.cells) {
      cells.push_back(
          {cell.kind, static_cast<int>(cell.state), cell.ranks, cell.count, cell.operators});
    }
    list.push_back({{"name", row.name}, {"layers", layers}, {"cells", cells}});
  }
  const Json data = {
      {"kinds", map.kinds}, {"ranks", ranks}, {"operators", map.operators}, {"rows", list}};
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace planproof::report
