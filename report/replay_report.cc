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

double RatioOf(const TensorReport& tensor) {
  return tensor.finding == runtime_check::Finding::kNone ||
                 tensor.finding == runtime_check::Finding::kDiffers
             ? tensor.measure.ratio
             : tensor.ratio;
}

// What is wrong, without the tensor's name.
std::string FindingText(const lineage::Problem& problem, const TensorReport& tensor,
                        const ReplayOptions& options) {
  const std::string logical = OneLine(problem.logical.tensors[tensor.logical].name, 100);
  const std::string first = absl::StrCat(logical, IndexText(tensor.index));
  switch (tensor.finding) {
    case runtime_check::Finding::kNone:
      return "agrees with the model";
    case runtime_check::Finding::kDiffers:
      return absl::StrFormat(
          "differs from the model: error %.2g, %.2g times what rounding in %s is expected to do",
          tensor.measure.error, tensor.measure.ratio, sdfg::DTypeName(options.arithmetic));
    case runtime_check::Finding::kReplicasDiffer:
      return absl::StrFormat(
          "replicas differ in %d elements, first %s: %.2g times what rounding is expected to do",
          tensor.elements, first, tensor.ratio);
    case runtime_check::Finding::kOverlapsDiffer:
      return absl::StrFormat(
          "parts that overlap differ in %d elements, first %s: %.2g times what rounding is "
          "expected to do",
          tensor.elements, first, tensor.ratio);
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
  return MeasureTableRow(PlanTensor(problem, tensor).name, tensor.measure, RatioOf(tensor), what);
}

double WorstRatio(const ReplayReport& replay) {
  double worst = 0;
  for (const TensorReport& tensor : replay.tensors) worst = std::max(worst, RatioOf(tensor));
  return worst;
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
                         {"operator", ReplayOperator(problem, tensor)},
                         {"source", ReplaySource(problem, tensor)},
                         {"finding", ReplayFindingName(tensor.finding)},
                         {"error", JsonNumber(tensor.measure.error)},
                         {"expectation", JsonNumber(tensor.measure.expectation)},
                         {"ratio", JsonNumber(RatioOf(tensor))},
                         {"bound", tensor.measure.bound}};
  if (!tensor.required.empty()) json["required"] = tensor.required;
  if (tensor.finding == runtime_check::Finding::kNone) return json;
  json["place"] = problem.parallel.Describe(tensor.at);
  json["devices"] = tensor.devices;
  if (tensor.finding != runtime_check::Finding::kDiffers) {
    json["elements"] = tensor.elements;
    json["logical_index"] = tensor.index;
    return json;
  }
  json["parallel_index"] = tensor.measure.parallel_index;
  json["logical_index"] = tensor.measure.logical_index;
  json["parallel_value"] = JsonNumber(tensor.measure.parallel_value);
  json["logical_value"] = JsonNumber(tensor.measure.logical_value);
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
    out = absl::StrFormat(
        "%s: in %s the plan computes what the model does, up to rounding: %d tensors, ratio to "
        "expected rounding at most %.2g\n",
        AnswerText(false, text.color), type, replay.tensors.size(), WorstRatio(replay));
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
      out += AnswerRow(
          "that is",
          absl::StrFormat("%s%s: plan %.6g, model's %s%s %.6g",
                          OneLine(PlanTensor(problem, first).name, 100),
                          IndexText(first.measure.parallel_index), first.measure.parallel_value,
                          OneLine(problem.logical.tensors[first.logical].name, 100),
                          IndexText(first.measure.logical_index), first.measure.logical_value));
    }
  }
  if (text.verbose || replay.first >= 0) {
    out += MeasureTableHead(text.verbose);
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
  out += AnswerRow("compared", absl::StrFormat("%d tensors, %d of them required; %d alarm",
                                               replay.tensors.size(), required, replay.alarms));
  out += NotComparedRows(replay.undefined, replay.blind, "model", type);
  out += AnswerRow("inputs", OneLine(text.inputs));
  if (options.by_stage)
    out += AnswerRow("by stage", "what is computed from a tensor reads the model's values of it");
  out += AnswerRow("device", OneLine(text.device));
  out += AnswerRow(
      "time", absl::StrFormat("%.2f s: model %.2f, perturbed %.2f, plan %.2f",
                              replay.time_s.model + replay.time_s.perturbed + replay.time_s.plan,
                              replay.time_s.model, replay.time_s.perturbed, replay.time_s.plan));
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
                         {"undefined", replay.undefined},
                         {"blind", replay.blind}};
  json["cost"] = {{"elements", replay.cost.elements}, {"work", replay.cost.work}};
  json["time_s"] = {{"model", replay.time_s.model},
                    {"perturbed", replay.time_s.perturbed},
                    {"plan", replay.time_s.plan}};
  json["first"] = replay.first < 0 ? nlohmann::json(nullptr) : nlohmann::json(replay.first);
  json["tensors"] = nlohmann::json::array();
  for (const TensorReport& tensor : replay.tensors)
    json["tensors"].push_back(TensorJson(problem, tensor));
  // Names come from files: bytes that are no UTF-8 are replaced.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace planproof::report
