#include "report/stage_text.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "report/phrases.h"
#include "report/ranks.h"
#include "report/text_layout.h"
#include "sdfg/declaration_ast.h"

namespace planproof::report {
namespace {

constexpr size_t kMostNear = 5, kLongest = 2000;

void AddRow(const char* label, const std::string& content, const TextOptions& options,
            std::string* text) {
  if (content.empty()) return;
  const std::string row = Labelled(label, OneLine(content, kLongest));
  absl::StrAppend(text, options.columns == 0 ? row : Wrapped(row, options.columns, kLabelColumns),
                  "\n");
}

std::string ClaimText(const StageLine& line, const TextOptions& options) {
  std::string text = absl::StrCat("stage ", OneLine(line.stage), ": ", StateName(line.state));
  if (!line.method.empty()) absl::StrAppend(&text, " (", OneLine(line.method), ")");
  text += "\n";
  AddRow("required", line.required, options, &text);
  AddRow("lineage", line.relation.text, options, &text);
  AddRow("held by", Named(line.ranks), options, &text);
  if (line.place.line > 0) AddRow("logical", "at " + line.place.ToString(), options, &text);
  AddRow("inferred", line.relation.inferred ? "nobody states this relation" : "", options, &text);
  AddRow("because", line.reason, options, &text);
  if (line.state != State::kProved) {
    AddRow("the model's", line.logical_term, options, &text);
    AddRow("the plan's", line.parallel_term, options, &text);
    AddRow("difference", line.difference, options, &text);
  }
  return text;
}

// Names that contain the text, or else the one that comes nearest.
std::string Near(const Report& report, const std::string& stage) {
  std::vector<std::string> known;
  std::set<std::string> near;
  for (const StageLine& line : report.stages) {
    known.push_back(line.stage);
    if (line.stage.find(stage) != std::string::npos) near.insert(line.stage);
  }
  for (const stages::Violation& violation : report.result.violations) {
    if (!violation.stage.empty()) known.push_back(violation.stage);
  }
  if (near.empty()) {
    const std::string nearest = sdfg::Nearest(stage, known);
    return nearest.empty() ? "" : "; did you mean " + OneLine(nearest, 100) + "?";
  }
  return "; there are " + FirstOf({near.begin(), near.end()}, kMostNear);
}

}  // namespace

absl::StatusOr<std::string> StageText(const Report& report, const std::string& stage,
                                      const TextOptions& options) {
  std::string text;
  for (const stages::Violation* violation : WorstFirst(report.result)) {
    if (violation->stage == stage) text += FindingText(*violation, options) + "\n";
  }
  for (const StageLine& line : report.stages) {
    if (line.stage == stage || line.required == stage) text += ClaimText(line, options);
  }
  if (text.empty()) {
    return absl::NotFoundError(
        absl::StrCat("the report knows no stage ", OneLine(stage, 100), Near(report, stage)));
  }
  return text;
}

}  // namespace planproof::report
