#include "report/replay_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/measure_text.h"
#include "report/text_layout.h"
#include "stages/verdict.h"

namespace planproof::report {
namespace {

using runtime_check::ExactComparison;
using runtime_check::Measure;
using runtime_check::ReplayOptions;
using runtime_check::ReplayReport;
using runtime_check::TensorReport;

const sdfg::Tensor& PlanTensor(const lineage::Problem& problem, const TensorReport& tensor) {
  return problem.parallel.tensors[tensor.parallel];
}

// "all_reduce (embedding)": the operator, and what it makes.
std::string ReplayOperator(const lineage::Problem& problem, const TensorReport& tensor) {
  const sdfg::Tensor& made = PlanTensor(problem, tensor);
  if (made.producer == sdfg::kNone) return "an input";
  return OneLine(absl::StrCat(problem.parallel.operators[made.producer].name, " (", made.name, ")"),
                 120);
}

std::string ReplaySource(const lineage::Problem& problem, const TensorReport& tensor) {
  const sdfg::Tensor& made = PlanTensor(problem, tensor);
  if (made.producer == sdfg::kNone) return "";
  return problem.parallel.operators[made.producer].source.ToString();
}

std::string PlaceText(const lineage::Problem& problem, const TensorReport& tensor) {
  std::vector<std::string> parts;
  if (!tensor.at.empty()) parts.push_back(OneLine(problem.parallel.Describe(tensor.at)));
  if (!tensor.devices.empty()) {
    parts.push_back(
        absl::StrCat(tensor.devices.size() == 1 ? "device " : "devices ", Ranges(tensor.devices)));
  }
  return absl::StrJoin(parts, "; ");
}

bool IsOfAll(const TensorReport& tensor) {
  return tensor.finding == runtime_check::Finding::kNone ||
         tensor.finding == runtime_check::Finding::kDiffers;
}

bool HasExact(const ReplayReport& replay) {
  return !replay.tensors.empty() && replay.tensors[0].exact.has_value();
}

double RatioOf(const TensorReport& tensor) {
  return IsOfAll(tensor) ? tensor.measure.ratio : tensor.ratio;
}

double ExactRatioOf(const TensorReport& tensor) {
  return IsOfAll(tensor) ? tensor.exact->measure.ratio : tensor.exact->ratio;
}

// Only float64 shows it: rounding in the type hides it.
bool IsHidden(const TensorReport& tensor) {
  return tensor.finding != runtime_check::Finding::kNone && !tensor.alarms_in_type;
}

// The run that the report speaks of: in the type, unless only the other has the finding.
const Measure& SpokenOf(const TensorReport& tensor) {
  return IsHidden(tensor) && tensor.exact ? tensor.exact->measure : tensor.measure;
}

std::string DifferenceText(const TensorReport& tensor, const char* type) {
  const Measure& measure = SpokenOf(tensor);
  if (IsHidden(tensor)) {
    return absl::StrFormat(
        "differs from the model in float64 on the same inputs: error %.2g, %.2g times what "
        "rounding is expected to do; rounding in %s hides it",
        measure.error, measure.ratio, type);
  }
  return absl::StrFormat(
      "differs from the model: error %.2g, %.2g times what rounding in %s is expected to do",
      measure.error, measure.ratio, type);
}

// What is wrong, without the tensor's name.
std::string FindingText(const lineage::Problem& problem, const TensorReport& tensor,
                        const ReplayOptions& options) {
  const double ratio = IsHidden(tensor) && tensor.exact ? tensor.exact->ratio : tensor.ratio;
  const char* where = IsHidden(tensor) ? "in float64 " : "";
  const std::string logical = OneLine(problem.logical.tensors[tensor.logical].name, 100);
  const std::string first = absl::StrCat(logical, IndexText(tensor.index));
  switch (tensor.finding) {
    case runtime_check::Finding::kNone:
      return "agrees with the model";
    case runtime_check::Finding::kDiffers:
      return DifferenceText(tensor, sdfg::DTypeName(options.arithmetic));
    case runtime_check::Finding::kReplicasDiffer:
      return absl::StrFormat(
          "%sreplicas differ in %d elements, first %s: %.2g times what rounding is expected to do",
          where, tensor.elements, first, ratio);
    case runtime_check::Finding::kOverlapsDiffer:
      return absl::StrFormat(
          "%sparts that overlap differ in %d elements, first %s: %.2g times what rounding is "
          "expected to do",
          where, tensor.elements, first, ratio);
    case runtime_check::Finding::kOmitted:
      return absl::StrFormat("no device holds %d elements of %s, first %s", tensor.elements,
                             logical, first);
  }
  return "";
}

std::string TableRow(const lineage::Problem& problem, const TensorReport& tensor) {
  const char* what = tensor.finding == runtime_check::Finding::kReplicasDiffer   ? "replicas"
                     : tensor.finding == runtime_check::Finding::kOverlapsDiffer ? "overlaps"
                     : tensor.finding == runtime_check::Finding::kOmitted        ? "omitted"
                                                                                 : "";
  std::string note = what;
  if (tensor.exact) {
    note = absl::StrFormat("%9.2g%s%s", ExactRatioOf(tensor), note.empty() ? "" : "  ", note);
  }
  return MeasureTableRow(PlanTensor(problem, tensor).name, tensor.measure, RatioOf(tensor), note);
}

std::string NoAlarmText(const ReplayReport& replay, const char* type) {
  double worst = 0, worst_exact = 0;
  const bool exact = HasExact(replay);
  for (const TensorReport& tensor : replay.tensors) {
    worst = std::max(worst, RatioOf(tensor));
    if (exact) worst_exact = std::max(worst_exact, ExactRatioOf(tensor));
  }
  return absl::StrFormat(
      "in %s%s the plan computes what the model does, up to rounding: %d tensors, ratio to "
      "expected rounding at most %.2g%s",
      type, exact ? ", and in float64 on the same inputs," : "", replay.tensors.size(), worst,
      exact ? absl::StrFormat(", in float64 %.2g", worst_exact) : "");
}

std::string JudgedText(const char* type, const Measure& measure, double ratio, bool alarms) {
  return absl::StrFormat("%s: error %.2g, ratio %.2g, bound %.2g: %s", type, measure.error, ratio,
                         measure.bound, alarms ? "alarm" : "no alarm");
}

// What either run says of the first tensor that alarms.
std::string JudgedRows(const TensorReport& tensor, const char* type) {
  if (!tensor.exact) return "";
  const ExactComparison& exact = *tensor.exact;
  return AnswerRow("type",
                   JudgedText(type, tensor.measure, RatioOf(tensor), tensor.alarms_in_type)) +
         AnswerRow("exact", JudgedText("float64 on the same inputs", exact.measure,
                                       ExactRatioOf(tensor), exact.alarms));
}

std::string AlarmsText(const ReplayReport& replay, const char* type) {
  std::string text = absl::StrFormat("%d alarm", replay.alarms);
  if (!HasExact(replay) || replay.alarms == 0) return text;
  return absl::StrFormat("%s, %d of them in %s, %d in float64", text, replay.alarms_in_type, type,
                         replay.alarms_exact);
}

const char* ReplayFindingName(runtime_check::Finding finding) {
  switch (finding) {
    case runtime_check::Finding::kNone:
      return "none";
    case runtime_check::Finding::kDiffers:
      return "differs";
    case runtime_check::Finding::kReplicasDiffer:
      return "replicas_differ";
    case runtime_check::Finding::kOverlapsDiffer:
      return "overlaps_differ";
    case runtime_check::Finding::kOmitted:
      return "omitted";
  }
  return "";
}

nlohmann::json TensorJson(const lineage::Problem& problem, const TensorReport& tensor) {
  nlohmann::json json = {{"tensor", PlanTensor(problem, tensor).name},
                         {"logical", problem.logical.tensors[tensor.logical].name},
                         {"model_order", problem.logical.tensors[tensor.logical].producer},
                         {"operator", ReplayOperator(problem, tensor)},
                         {"source", ReplaySource(problem, tensor)},
                         {"finding", ReplayFindingName(tensor.finding)},
                         {"error", JsonNumber(tensor.measure.error)},
                         {"expectation", JsonNumber(tensor.measure.expectation)},
                         {"ratio", JsonNumber(RatioOf(tensor))},
                         {"bound", tensor.measure.bound}};
  if (tensor.exact) {
    const ExactComparison& exact = *tensor.exact;
    json["alarms_in_type"] = tensor.alarms_in_type;
    json["exact"] = {{"error", JsonNumber(exact.measure.error)},
                     {"expectation", JsonNumber(exact.measure.expectation)},
                     {"ratio", JsonNumber(ExactRatioOf(tensor))},
                     {"bound", exact.measure.bound},
                     {"alarms", exact.alarms}};
  }
  if (!tensor.required.empty()) json["required"] = tensor.required;
  if (tensor.finding == runtime_check::Finding::kNone) return json;
  json["place"] = problem.parallel.Describe(tensor.at);
  json["devices"] = tensor.devices;
  if (tensor.finding != runtime_check::Finding::kDiffers) {
    json["elements"] = tensor.elements;
    json["logical_index"] = tensor.index;
    return json;
  }
  const Measure& measure = SpokenOf(tensor);
  json["parallel_index"] = measure.parallel_index;
  json["logical_index"] = measure.logical_index;
  json["parallel_value"] = JsonNumber(measure.parallel_value);
  json["logical_value"] = JsonNumber(measure.logical_value);
  return json;
}

}  // namespace

int ReplayExitCode(const ReplayReport& replay) {
  return stages::VerdictExitCode(replay.first < 0 ? stages::Verdict::kProved
                                                  : stages::Verdict::kRefuted);
}

std::string TextReplayReport(const lineage::Problem& problem, const ReplayReport& replay,
                             const ReplayOptions& options, const ReplayText& text) {
  std::string out;
  const char* type = sdfg::DTypeName(options.arithmetic);
  if (replay.first < 0) {
    out = absl::StrFormat("%s: %s\n", AnswerText(false, text.color), NoAlarmText(replay, type));
  } else {
    const TensorReport& first = replay.tensors[replay.first];
    out = absl::StrFormat("%s: %s %s\n", AnswerText(true, text.color),
                          OneLine(PlanTensor(problem, first).name, 100),
                          FindingText(problem, first, options));
    const std::string source = ReplaySource(problem, first);
    out += AnswerRow("operator", absl::StrCat(ReplayOperator(problem, first),
                                              source.empty() ? "" : ", at " + OneLine(source)));
    out += AnswerRow("place", PlaceText(problem, first));
    if (first.finding == runtime_check::Finding::kDiffers) {
      const Measure& measure = SpokenOf(first);
      out += AnswerRow("that is",
                       absl::StrFormat("%s%s: plan %.6g, model's %s%s %.6g",
                                       OneLine(PlanTensor(problem, first).name, 100),
                                       IndexText(measure.parallel_index), measure.parallel_value,
                                       OneLine(problem.logical.tensors[first.logical].name, 100),
                                       IndexText(measure.logical_index), measure.logical_value));
    }
    out += JudgedRows(first, type);
  }
  const bool exact = HasExact(replay);
  if (text.verbose || replay.first >= 0) {
    out += MeasureTableHead(text.verbose, exact ? "in float64" : "");
    size_t rows = 0;
    for (const TensorReport& tensor : replay.tensors) {
      if (!text.verbose && tensor.finding == runtime_check::Finding::kNone) continue;
      if (text.verbose || rows < kMostAlarmRows) out += TableRow(problem, tensor);
      ++rows;
    }
    if (!text.verbose && rows > kMostAlarmRows)
      out += absl::StrFormat("  and %d more (--verbose shows all)\n", rows - kMostAlarmRows);
  }
  const auto required =
      std::count_if(replay.tensors.begin(), replay.tensors.end(),
                    [](const TensorReport& tensor) { return !tensor.required.empty(); });
  out += AnswerRow("compared",
                   absl::StrFormat("%d tensors, %d of them required; %s", replay.tensors.size(),
                                   required, AlarmsText(replay, type)));
  out += NotComparedRows(replay.undefined, replay.blind, "model", type);
  out += AnswerRow("inputs", OneLine(text.inputs));
  if (options.by_stage)
    out += AnswerRow("by stage", "what is computed from a tensor reads the model's values of it");
  out += AnswerRow("device", OneLine(text.device));
  const auto& time = replay.time_s;
  out += AnswerRow("time",
                   absl::StrFormat("%.2f s: model %.2f, perturbed %.2f, plan %.2f%s",
                                   time.model + time.perturbed + time.plan + time.exact, time.model,
                                   time.perturbed, time.plan,
                                   exact ? absl::StrFormat(", in float64 %.2f", time.exact) : ""));
  return out;
}

std::string JsonReplayReport(const lineage::Problem& problem, const ReplayReport& replay,
                             const ReplayOptions& options, const ReplayText& text,
                             const std::vector<std::string>& files) {
  nlohmann::json json = {{"answer", replay.first < 0 ? "no_alarm" : "alarm"},
                         {"exit_code", ReplayExitCode(replay)},
                         {"files", files},
                         {"inputs", text.inputs},
                         {"dtype", sdfg::DTypeName(options.arithmetic)},
                         {"samples", options.samples},
                         {"device", text.device.empty() ? "cpu" : text.device},
                         {"by_stage", options.by_stage},
                         {"exact", HasExact(replay)},
                         {"alarms", replay.alarms},
                         {"alarms_in_type", replay.alarms_in_type},
                         {"alarms_exact", replay.alarms_exact},
                         {"undefined", replay.undefined},
                         {"blind", replay.blind}};
  json["cost"] = {{"elements", replay.cost.elements}, {"work", replay.cost.work}};
  json["time_s"] = {{"model", replay.time_s.model},
                    {"perturbed", replay.time_s.perturbed},
                    {"plan", replay.time_s.plan},
                    {"exact", replay.time_s.exact}};
  json["first"] = replay.first < 0 ? nlohmann::json(nullptr) : nlohmann::json(replay.first);
  json["tensors"] = nlohmann::json::array();
  for (const TensorReport& tensor : replay.tensors)
    json["tensors"].push_back(TensorJson(problem, tensor));
  // Names come from files: bytes that are no UTF-8 are replaced.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace planproof::report
