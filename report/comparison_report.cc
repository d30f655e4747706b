#include "report/comparison_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/measure_text.h"
#include "report/text_layout.h"
#include "sdfg/types.h"

namespace planproof::report {
namespace {

using runtime_check::DumpFinding;
using runtime_check::DumpReport;
using runtime_check::DumpTensorReport;

double DumpRatio(const DumpTensorReport& tensor) {
  return tensor.finding == DumpFinding::kReplicasDiffer ? tensor.ratio : tensor.measure.ratio;
}

// The values were compared: there are an error and an expectation.
bool IsMeasured(const DumpTensorReport& tensor) {
  return tensor.finding == DumpFinding::kNone || tensor.finding == DumpFinding::kDiffers ||
         tensor.finding == DumpFinding::kReplicasDiffer;
}

const char* DumpFindingName(DumpFinding finding) {
  switch (finding) {
    case DumpFinding::kNone:
      return "none";
    case DumpFinding::kDiffers:
      return "differs";
    case DumpFinding::kReplicasDiffer:
      return "replicas_differ";
    case DumpFinding::kShapes:
      return "shapes";
    case DumpFinding::kOmitted:
      return "omitted";
    case DumpFinding::kOverlaps:
      return "overlaps";
    case DumpFinding::kLacking:
      return "lacking";
    case DumpFinding::kMissing:
      return "missing";
  }
  return "";
}

// What is wrong, without the tensor's name.
std::string DumpFindingText(const DumpTensorReport& tensor, const DumpReport& comparison) {
  const char* type = sdfg::DTypeName(comparison.dtype);
  switch (tensor.finding) {
    case DumpFinding::kNone:
      return "agrees with the reference";
    case DumpFinding::kDiffers:
      return absl::StrFormat(
          "differs from the reference: error %.2g, %.2g times what rounding in %s is expected to "
          "do",
          tensor.measure.error, tensor.measure.ratio, type);
    case DumpFinding::kReplicasDiffer:
      return absl::StrFormat(
          "replicas differ in %d elements, first %s: %.2g times what rounding in %s is expected to "
          "do",
          tensor.elements, IndexText(tensor.index), tensor.ratio, type);
    case DumpFinding::kMissing:
      return "no rank has it: map its name under \"names\", or list it under \"skip\"";
    default:
      return OneLine(tensor.what, 300);
  }
}

std::string DumpPlaceText(const DumpTensorReport& tensor, const DumpReport& comparison) {
  std::vector<std::string> parts;
  for (const DumpTensorReport::Coordinates& at : tensor.at) {
    parts.push_back(absl::StrCat(OneLine(comparison.mesh.axes[at.axis].name, 40), " ",
                                 absl::StrJoin(at.values, ", ")));
  }
  if (!tensor.ranks.empty()) {
    parts.push_back(
        absl::StrCat(tensor.ranks.size() == 1 ? "rank " : "ranks ", Ranges(tensor.ranks)));
  }
  return absl::StrJoin(parts, "; ");
}

std::string FirstTensorText(const DumpTensorReport& first, const DumpReport& comparison) {
  std::string out =
      AnswerRow("called", first.candidate == first.name || first.candidate.empty()
                              ? ""
                              : absl::StrCat(OneLine(first.candidate, 100), " in the candidate"));
  out += AnswerRow("place", DumpPlaceText(first, comparison));
  if (first.finding != DumpFinding::kDiffers || first.rank < 0) return out;
  return out + AnswerRow("that is",
                         absl::StrFormat(
                             "rank %d's %s: %.6g, the reference's %s: %.6g", first.rank,
                             IndexText(first.measure.parallel_index), first.measure.parallel_value,
                             IndexText(first.measure.logical_index), first.measure.logical_value));
}

std::string TensorTable(const DumpReport& comparison, bool verbose) {
  std::string out = MeasureTableHead(verbose);
  size_t rows = 0;
  for (const DumpTensorReport& tensor : comparison.tensors) {
    if (!verbose && tensor.finding == DumpFinding::kNone) continue;
    if (!verbose && rows++ >= kMostAlarmRows) continue;
    const bool plain =
        tensor.finding == DumpFinding::kNone || tensor.finding == DumpFinding::kDiffers;
    out += IsMeasured(tensor) ? MeasureTableRow(tensor.name, tensor.measure, DumpRatio(tensor),
                                                plain ? "" : "replicas")
                              : absl::StrFormat("  %-44s  %s\n", OneLine(tensor.name, 44),
                                                DumpFindingName(tensor.finding));
  }
  if (rows > kMostAlarmRows)
    out += absl::StrFormat("  and %d more (--verbose shows all)\n", rows - kMostAlarmRows);
  return out;
}

nlohmann::json DumpTensorJson(const DumpTensorReport& tensor, const DumpReport& comparison) {
  nlohmann::json json = {{"tensor", tensor.name},
                         {"candidate", tensor.candidate},
                         {"finding", DumpFindingName(tensor.finding)}};
  if (IsMeasured(tensor)) {
    json["error"] = JsonNumber(tensor.measure.error);
    json["expectation"] = JsonNumber(tensor.measure.expectation);
    json["ratio"] = JsonNumber(DumpRatio(tensor));
    json["bound"] = tensor.measure.bound;
  }
  if (tensor.finding == DumpFinding::kNone) return json;
  json["text"] = DumpFindingText(tensor, comparison);
  json["place"] = DumpPlaceText(tensor, comparison);
  json["ranks"] = tensor.ranks;
  if (tensor.finding == DumpFinding::kReplicasDiffer) {
    json["elements"] = tensor.elements;
    json["reference_index"] = tensor.index;
  }
  if (tensor.finding == DumpFinding::kDiffers) {
    json["rank"] = tensor.rank;
    json["candidate_index"] = tensor.measure.parallel_index;
    json["candidate_value"] = JsonNumber(tensor.measure.parallel_value);
    json["reference_index"] = tensor.measure.logical_index;
    json["reference_value"] = JsonNumber(tensor.measure.logical_value);
  }
  return json;
}

}  // namespace

std::string TextComparisonReport(const DumpReport& comparison, const ComparisonText& text) {
  std::string out;
  const char* type = sdfg::DTypeName(comparison.dtype);
  const size_t ranks = comparison.mesh.coordinates.size();
  if (comparison.first < 0) {
    double worst = 0;
    for (const DumpTensorReport& tensor : comparison.tensors)
      worst = std::max(worst, DumpRatio(tensor));
    out = absl::StrFormat(
        "%s: in %s %s what the reference does, up to rounding: %d tensors, ratio to expected "
        "rounding at most %.2g\n",
        AnswerText(false, text.color), type,
        ranks == 1 ? "the candidate computes" : absl::StrCat("the ", ranks, " ranks compute"),
        comparison.compared, worst);
  } else {
    const DumpTensorReport& first = comparison.tensors[comparison.first];
    out = absl::StrFormat("%s: %s%s %s\n", AnswerText(true, text.color), OneLine(first.name, 100),
                          IsMeasured(first) ? "" : ":", DumpFindingText(first, comparison));
    out += FirstTensorText(first, comparison);
  }
  if (text.verbose || comparison.first >= 0) out += TensorTable(comparison, text.verbose);
  out +=
      AnswerRow("compared",
                absl::StrFormat("%d tensors of %d ranks with %d perturbed runs of the reference; "
                                "%d alarm",
                                comparison.compared, ranks, comparison.samples, comparison.alarms));
  out += NotComparedRows(comparison.undefined, comparison.blind, "reference", type);
  if (comparison.skipped > 0)
    out += AnswerRow("skipped", absl::StrFormat("%d tensors, as annotated", comparison.skipped));
  if (!comparison.unmatched.empty()) {
    out += AnswerRow("unmatched", OneLine(absl::StrCat(comparison.unmatched.size(),
                                                       " tensors that the reference has not got: ",
                                                       FirstOf(comparison.unmatched, 3)),
                                          300));
  }
  if (!comparison.unused.empty()) {
    out +=
        AnswerRow("unused", absl::StrFormat("no tensor matches %s, line %s",
                                            OneLine(text.annotations), Ranges(comparison.unused)));
  }
  return out;
}

std::string JsonComparisonReport(const DumpReport& comparison, const ComparisonText& text) {
  const bool alarm = comparison.first >= 0;
  nlohmann::json json = {{"answer", alarm ? "alarm" : "no_alarm"},
                         {"exit_code", alarm ? 1 : 0},
                         {"reference", text.reference},
                         {"candidate", text.candidate},
                         {"annotations", text.annotations},
                         {"dtype", sdfg::DTypeName(comparison.dtype)},
                         {"samples", comparison.samples},
                         {"ranks", comparison.mesh.coordinates.size()},
                         {"compared", comparison.compared},
                         {"undefined", comparison.undefined},
                         {"blind", comparison.blind},
                         {"skipped", comparison.skipped},
                         {"unmatched", comparison.unmatched},
                         {"unused_lines", comparison.unused}};
  json["first"] = alarm ? nlohmann::json(comparison.first) : nlohmann::json(nullptr);
  json["tensors"] = nlohmann::json::array();
  for (const DumpTensorReport& tensor : comparison.tensors)
    json["tensors"].push_back(DumpTensorJson(tensor, comparison));
  // Names come from files: bytes that are no UTF-8 are replaced.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace planproof::report
