#include "report/html/finding_section.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "report/html/graph_drawing.h"
#include "report/markup.h"
#include "report/phrases.h"
#include "report/text_layout.h"

namespace planproof::report {
namespace {

using stages::Violation;

constexpr size_t kMostDrawn = 8;  // of further findings, the words

std::string Row(const char* label, const std::string& text) {
  if (text.empty()) return "";
  return absl::StrCat("<dt>", label, "</dt><dd>", MarkupText(text), "</dd>\n");
}

std::string List(const char* summary, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string html = absl::StrCat("<details><summary>", summary, " (", items.size(),
                                  ")</summary><ul class=\"mono\">");
  for (const std::string& item : items) absl::StrAppend(&html, "<li>", MarkupText(item), "</li>");
  return html + "</ul></details>\n";
}

std::string PlacesRow(const char* label, const std::vector<sdfg::SourceLocation>& places) {
  if (places.empty()) return "";
  std::string html = absl::StrCat("<dt>", label, "</dt><dd><ul class=\"mono plain\">");
  for (const sdfg::SourceLocation& place : places)
    absl::StrAppend(&html, "<li>", MarkupText(place.ToString()), "</li>");
  return html + "</ul></dd>\n";
}

std::string WitnessTable(const Violation& violation) {
  if (violation.witness_logical.empty() && violation.witness_parallel.empty()) return "";
  const auto value = [](const std::string& in_short, const std::string& exact) {
    std::string html =
        absl::StrCat("<td><b>", MarkupText(in_short.empty() ? exact : in_short), "</b>");
    if (!in_short.empty() && in_short != exact)
      absl::StrAppend(&html, "<small>", MarkupText(exact), "</small>");
    return html + "</td>";
  };
  std::string html =
      "<h4>Witness</h4>\n<div class=\"scroll\"><table class=\"witness\"><thead><tr>"
      "<th scope=\"col\">element</th><th scope=\"col\">model</th>"
      "<th scope=\"col\">plan</th></tr></thead><tbody><tr><th scope=\"row\">";
  absl::StrAppend(&html, MarkupText(violation.witness_place), "</th>",
                  value(violation.witness_logical_short, violation.witness_logical),
                  value(violation.witness_parallel_short, violation.witness_parallel),
                  "</tr></tbody></table></div>\n");
  if (violation.witness_precision > 0)
    absl::StrAppend(&html, "<p class=\"note\">Enclosures at ", violation.witness_precision,
                    " bits: they do not overlap.</p>\n");
  absl::StrAppend(&html, List("Inputs for which they differ", violation.witness_example),
                  List("All inputs, exactly", violation.witness_inputs));
  return html;
}

std::string Figure(const char* caption, const Drawing& drawing) {
  if (drawing.svg.empty()) return "";
  std::string html = absl::StrCat("<figure><figcaption>", caption);
  if (drawing.left_out > 0)
    absl::StrAppend(&html, " <small>", drawing.left_out,
                    " more operators are not drawn; the JSON report has all</small>");
  return absl::StrCat(html,
                      "</figcaption><div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                      "aria-label=\"",
                      caption, "\">", drawing.svg, "</div></figure>\n");
}

// Beside each other, in one scale as far as there is room.
std::string Graphs(const Report& report, const FindingGraphs& graphs) {
  const Drawing model = DrawStage(report.logical, graphs.logical, 0, graphs.relation.logical,
                                  "Operators of the model in this stage");
  const Drawing plan = DrawStage(report.parallel, graphs.parallel, graphs.suspected,
                                 graphs.relation.parallel, "Operators of the plan in this stage");
  if (model.svg.empty() && plan.svg.empty()) return "";
  constexpr double kNarrowest = 0.4;  // of the other
  std::string columns;
  if (!model.svg.empty() && !plan.svg.empty()) {
    columns = absl::StrCat(
        " style=\"grid-template-columns:minmax(0,",
        static_cast<int>(std::max(model.width, kNarrowest * plan.width)), "fr) minmax(0,",
        static_cast<int>(std::max(plan.width, kNarrowest * model.width)), "fr)\"");
  }
  return absl::StrCat("<div class=\"sides\"", columns, ">\n",
                      Figure("What the model computes", model),
                      Figure("What the plan computes", plan), "</div>\n");
}

std::string Finding(const Report& report, const Violation& violation, size_t number, bool drawn) {
  const FindingGraphs& graphs = report.graphs[&violation - report.result.violations.data()];
  std::string html =
      absl::StrCat("<article class=\"finding v-", stages::VerdictName(violation.verdict),
                   "\" aria-labelledby=\"f", number, "\">\n<h3 id=\"f", number,
                   "\"><span class=\"badge\">", stages::VerdictName(violation.verdict), "</span> ",
                   MarkupText(Headline(violation)), "</h3>\n<dl>\n");
  if (violation.cause.size() > 200) html += Row("cause", violation.cause);
  absl::StrAppend(&html, Row("kind", violation.kind), Row("logical", LogicalSide(violation)),
                  Row("parallel", ParallelSide(violation)), Row("lineage", violation.lineage),
                  violation.message == violation.cause ? "" : Row("that is", violation.message),
                  violation.cause.empty() ? Row("missing", WhereRelationsEnd(report.result)) : "",
                  Row("try", violation.advice), PlacesRow("in files", violation.parallel_places),
                  "</dl>\n", WitnessTable(violation), drawn ? Graphs(report, graphs) : "");
  return html + "</article>\n";
}

}  // namespace

std::string FindingsSection(const Report& report) {
  const std::vector<const Violation*> violations = WorstFirst(report.result);
  if (violations.empty()) return "";
  std::string html = absl::StrCat(
      "<section id=\"findings\" aria-labelledby=\"findings-title\">\n<h2 id=\"findings-title\">",
      violations.size() == 1 ? "Finding" : "Findings", "</h2>\n");
  for (size_t i = 0; i < violations.size(); ++i)
    html += Finding(report, *violations[i], i, i < kMostDrawn);
  return html + "</section>\n";
}

}  // namespace planproof::report
