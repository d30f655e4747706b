#include "report/html/html_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/html/finding_section.h"
#include "report/html/layer_rows.h"
#include "report/html/map_section.h"
#include "report/html/page_files.h"
#include "report/markup.h"
#include "report/phrases.h"
#include "report/ranks.h"
#include "report/text_layout.h"
#include "strategy/assumed_relations.h"

namespace planproof::report {
namespace {

using Json = nlohmann::ordered_json;
using stages::Result;

constexpr size_t kMostOpen = 12;  // items of a list that is shown without being asked for

std::string Head(const Report& report) {
  const std::string verdict = strategy::VerdictInWords(report.result);
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; img-src data:; script-src '",
      PageScriptHash(),
      "'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"planproof ",
      MarkupText(report.version), "\">\n<link rel=\"icon\" href=\"data:,\">\n<title>", verdict,
      ": ", MarkupText(OneLine(absl::StrJoin(report.files, " "), 120)), "</title>\n<style>",
      PageStyle(), "</style>\n</head>\n");
}

std::string Banner(const Report& report) {
  const Result& result = report.result;
  const char* verdict = stages::VerdictName(result.verdict);
  const bool found = !result.violations.empty();
  std::string after = found ? Headline(*WorstFirst(result).front()) : AfterVerdict(result);
  if (after.starts_with(": ")) after.erase(0, 2);
  std::string html = absl::StrCat(
      "<body class=\"v-", verdict,
      "\">\n<a class=\"skip\" href=\"#main\">Skip to the report</a>\n"
      "<header>\n<p class=\"brand\">planproof</p>\n<h1><span class=\"badge\">",
      strategy::VerdictInWords(result), "</span> <span class=\"says\">", MarkupText(after),
      "</span></h1>\n<p class=\"files mono\">", MarkupText(absl::StrJoin(report.files, "  ")),
      "</p>\n<nav aria-label=\"Parts of the report\"><ul>");
  const auto link = [&html](const char* id, const char* name) {
    absl::StrAppend(&html, "<li><a href=\"#", id, "\">", name, "</a></li>");
  };
  if (!result.violations.empty()) link("findings", "Findings");
  link("summary", "Summary");
  link("map", "Map");
  link("stages", "Stages");
  link("rests", "What it rests on");
  link("times", "Times");
  return html + "</ul></nav>\n</header>\n<main id=\"main\" tabindex=\"-1\">\n";
}

std::string Figure(const std::string& number, const std::string& label) {
  return absl::StrCat("<li><b>", number, "</b> ", MarkupText(label), "</li>");
}

std::string Summary(const Result& result) {
  std::string html =
      "<section id=\"summary\" aria-labelledby=\"summary-title\">\n<h2 id=\"summary-title\">Summary"
      "</h2>\n<ul class=\"figures\">";
  const auto add = [&html](int64_t number, const std::string& label) {
    html += Figure(Grouped(number), label);
  };
  add(result.outputs.required, "outputs required");
  add(result.stages.total, "stages in " + Grouped(result.stages.classes) + " classes");
  const bool proved = result.verdict == stages::Verdict::kProved;
  add(result.stages.proved, proved ? "stages proved" : "stages proved by themselves");
  if (result.stages.refuted > 0) add(result.stages.refuted, "stages not shown or wrong");
  if (result.stages.unknown > 0) add(result.stages.unknown, "stages unknown");
  add(result.operators.parallel, "operator instances in the plan");
  add(result.operators.covered, "of them covered by a proof");
  add(result.operators.logical, "in the model");
  html += Figure(Seconds(result.time_s.total) + " s", "in all");
  return html + "</ul>\n</section>\n";
}

std::string Stages(const Report& report) {
  std::string html =
      "<section id=\"stages\" aria-labelledby=\"stages-title\">\n<h2 "
      "id=\"stages-title\">Stages</h2>\n";
  if (report.stages.empty())
    return html + "<p>None: the plan was not taken apart into stages.</p>\n</section>\n";
  std::map<State, int64_t> counts;
  for (const StageLine& line : report.stages) ++counts[line.state];
  std::string by_state;
  for (const auto& [state, count] : counts)
    by_state += (by_state.empty() ? "" : ", ") + Grouped(count) + " " + StateName(state);
  absl::StrAppend(&html, "<p>", Grouped(static_cast<int64_t>(report.stages.size())),
                  " claims, one for each required output and each tensor in between whose relation "
                  "to the model is known. With all on which they rest: ",
                  by_state, ".");
  if (!report.result.tiers.empty()) {
    std::string tiers;
    for (const auto& [tier, count] : report.result.tiers)
      tiers += (tiers.empty() ? "" : ", ") + tier + " " + Grouped(count);
    absl::StrAppend(&html, " Classes by the step that proved them: ", MarkupText(tiers), ".");
  }
  return html +
         "</p>\n<div class=\"controls\" hidden><label>Find a stage <input id=\"find\" "
         "type=\"search\" "
         "placeholder=\"layers.0\"></label><label>State <select id=\"state\"><option value=\"\">any"
         "</option></select></label><span id=\"found\" role=\"status\"></span></div>\n"
         "<div id=\"list\"></div>\n<noscript><p>The list of stages needs the page's script; the "
         "JSON "
         "report and <code>planproof explain</code> have it, too.</p></noscript>\n</section>\n";
}

std::string List(const char* title, const std::vector<std::string>& items, const char* what) {
  if (items.empty()) return "";
  const size_t open = std::min(items.size(), kMostOpen);
  const auto list = [&](size_t from, size_t to) {
    std::string html = "<ul class=\"mono\">";
    for (size_t i = from; i < to; ++i)
      absl::StrAppend(&html, "<li>", MarkupText(items[i]), "</li>");
    return html + "</ul>";
  };
  std::string html =
      absl::StrCat("<h3>", title, "</h3>\n<p class=\"note\">", what, "</p>\n", list(0, open));
  if (items.size() > open)
    absl::StrAppend(&html, "<details><summary>", Grouped(static_cast<int64_t>(items.size() - open)),
                    " more</summary>", list(open, items.size()), "</details>\n");
  return html;
}

std::vector<std::string> Recorded(const Result& result) {
  std::vector<std::string> lines;
  if (std::string line = RecordedInWords(result); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string Rests(const Result& result) {
  std::string html =
      "<section id=\"rests\" aria-labelledby=\"rests-title\">\n<h2 id=\"rests-title\">What it "
      "rests "
      "on</h2>\n";
  const std::string lists = absl::StrCat(
      List("Assumed and not proved", AssumedInWords(result),
           "Approved by whoever verified: the verdict holds if these tensors have the model's "
           "values."),
      List("Unproved", result.behind_assumptions,
           "Operators on which outputs depend through assumed tensors only."),
      List("Recorded numbers", Recorded(result),
           "What the programs were recorded to hold and to compute, compared with each other and "
           "with what was read of them."),
      List("Assumptions", result.assumptions, "Taken for granted about how the plan is run."),
      List("Premises", result.premises, "Of the specification, on inputs."),
      List("Restrictions", result.restrictions, "Without them the plan has no value."),
      List("Required", result.relations, "What every output must be."),
      List("Warnings", result.warnings, "They do not change the verdict."),
      List("No effect", result.without_effect, "Operators on which no required output depends."));
  return html + (lists.empty() ? "<p>Nothing is listed.</p>\n" : lists) + "</section>\n";
}

std::string Times(const Result& result) {
  const auto& t = result.time_s;
  const std::vector<std::pair<const char*, double>> steps = {
      {"read", t.read},         {"compare recorded numbers", t.anchor},
      {"check", t.check},       {"infer", t.infer},
      {"cut", t.cut},           {"reduce", t.reduce},
      {"evaluate", t.evaluate}, {"decide", t.decide},
      {"workers", t.workers}};
  double sum = 0;
  for (const auto& [step, seconds] : steps) sum += seconds;
  std::string html = absl::StrCat(
      "<section id=\"times\" aria-labelledby=\"times-title\">\n<h2 id=\"times-title\">Times</h2>\n"
      "<table class=\"times\"><thead><tr><th scope=\"col\">step</th><th scope=\"col\">seconds</th>"
      "<th><span class=\"vh\">share</span></th></tr></thead><tbody>\n");
  for (const auto& [step, seconds] : steps) {
    const double share = std::min(100.0, 100 * seconds / std::max({t.total, sum, 1e-9}));
    absl::StrAppend(&html, "<tr><th scope=\"row\">", step, "</th><td>", Seconds(seconds),
                    "</td><td><div class=\"bar\" style=\"width:", Seconds(share),
                    "%\"></div></td></tr>\n");
  }
  absl::StrAppend(&html, "<tr><th scope=\"row\">total</th><td>", Seconds(t.total),
                  "</td><td></td></tr>\n</tbody></table>\n<p class=\"note\">");
  if (result.peak_rss_mb.total > 0)
    absl::StrAppend(&html, "Peak memory ", absl::StrFormat("%.0f", result.peak_rss_mb.total),
                    " MB. ");
  if (result.cache.used)
    absl::StrAppend(&html, Grouped(result.cache.hits), " classes were proved by earlier runs. ");
  return absl::StrCat(html, "Engine ", MarkupText(result.engine), ".</p>\n</section>\n");
}

// What page.js needs: states by number, the map, and a line for each stage.
std::string Data(const Report& report, const std::vector<LayerRow>& rows) {
  Json states = Json::array(), stages = Json::array(), ranks = Json::array(),
       methods = Json::array();
  for (int s = 0; s <= static_cast<int>(State::kRefuted); ++s)
    states.push_back(StateName(static_cast<State>(s)));
  std::map<RankSet, size_t> sets;
  std::map<std::string, size_t> steps;
  const auto number = [](auto* known, const auto& value, Json* list, const std::string& text) {
    const auto [at, added] = known->try_emplace(value, list->size());
    if (added) list->push_back(text);
    return at->second;
  };
  for (const StageLine& line : report.stages) {
    const size_t set = number(&sets, line.ranks, &ranks, ToText(line.ranks));
    const size_t step = number(&steps, line.method, &methods, line.method);
    Json entry = {line.stage, static_cast<int>(line.state), set, step, line.relation.text};
    const std::string place = line.place.line > 0 ? line.place.ToString() : "";
    if (!line.required.empty() || !line.reason.empty() || !place.empty())
      entry.push_back(line.required);
    if (!line.reason.empty() || !place.empty()) entry.push_back(place);
    if (!line.reason.empty()) entry.push_back(line.reason);
    stages.push_back(std::move(entry));
  }
  const auto text = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  return absl::StrCat("{\"states\":", text(states), ",\"map\":", MapData(report.map, rows),
                      ",\"methods\":", text(methods), ",\"ranks\":", text(ranks),
                      ",\"stages\":", text(stages), "}");
}

}  // namespace

std::string HtmlReport(const Report& report) {
  const std::vector<LayerRow> rows = FoldLayers(report.map);
  return absl::StrCat(Head(report), Banner(report), FindingsSection(report), Summary(report.result),
                      MapSection(report.map, rows), Stages(report), Rests(report.result),
                      Times(report.result), "</main>\n<footer><p>Written by planproof ",
                      MarkupText(report.version),
                      ". This page loads nothing from elsewhere.</p></footer>\n"
                      "<script type=\"application/json\" id=\"data\">",
                      JsonInScript(Data(report, rows)), "</script>\n<script>", PageScript(),
                      "</script>\n</body>\n</html>\n");
}

}  // namespace planproof::report
