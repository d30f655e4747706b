#include "stages/schedule/step_order.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace planproof::stages {

using lineage::kAllMicrobatches;
using lineage::Place;
using sdfg::kNone;
using sdfg::TensorId;

Violation OrderViolation(const std::string& kind, const std::string& cause,
                         const std::string& message) {
  Violation violation;
  violation.verdict = Verdict::kMalformed;
  violation.kind = kind;
  violation.cause = cause;
  violation.message = message;
  return violation;
}

void Concerns(const sdfg::Operator& op, Violation* violation) {
  violation->parallel_operators.push_back(op.label.empty() ? op.name
                                                           : op.name + " (" + op.label + ")");
  if (op.source.line > 0) violation->parallel_places.push_back(op.source);
  std::vector<int>& devices = violation->devices;
  devices.insert(devices.end(), op.devices.begin(), op.devices.end());
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
}

StepOrder::StepOrder(const lineage::Problem& problem) : problem_(problem) {
  const sdfg::Graph& graph = problem.parallel;
  // Which instances share memory.
  bool stated = !problem.schedule.storage.empty() ||
                std::any_of(graph.operators.begin(), graph.operators.end(),
                            [](const auto& op) { return op.memory.overwrites != kNone; });
  for (const lineage::ProgramSchedule& program : problem.schedule.programs) {
    Program& to = programs_.emplace_back();
    to.steps = program.steps;
    stated = stated || !program.steps.empty();
    for (size_t phase = 0; phase < program.phases.size() && program.steps.empty(); ++phase) {
      to.steps.push_back({static_cast<int32_t>(phase), kAllMicrobatches});
    }
    to.phases.resize(program.phases.size());
  }
  for (size_t axis = 0; axis < graph.axes.size(); ++axis) {
    if (graph.axes[axis].kind == sdfg::AxisKind::kMicrobatch)
      axis_ = static_cast<sdfg::AxisId>(axis);
  }
  if (stated && axis_ != kNone) microbatches_ = graph.axes[axis_].extent;
  varies_.resize(graph.tensors.size());
  for (size_t id = 0; id < graph.tensors.size() && microbatches_ > 1; ++id) {
    const std::vector<sdfg::AxisId>& axes = graph.tensors[id].axes;
    varies_[id] = std::find(axes.begin(), axes.end(), axis_) != axes.end();
  }
}

bool StepOrder::VariesOperator(const sdfg::Operator& op) const {
  return std::any_of(op.outputs.begin(), op.outputs.end(),
                     [this](TensorId output) { return output != kNone && varies_[output]; });
}

std::vector<bool> StepOrder::ReadsSameMicrobatch(const sdfg::Operator& op) const {
  std::vector<bool> same(op.inputs.size(), true);
  if (op.lifted || microbatches_ == 1) return same;
  const auto dimension = [this](TensorId tensor) {
    const std::vector<sdfg::AxisId>& axes = problem_.parallel.tensors[tensor].axes;
    return static_cast<size_t>(std::find(axes.begin(), axes.end(), axis_) - axes.begin());
  };
  const sdfg::IndexFunction& function = *op.function;
  std::vector<bool> own(function.vars.size(), false);  // variables that are a result's microbatch
  bool all_vary = true;
  for (size_t o = 0; o < op.outputs.size(); ++o) {
    const TensorId output = op.outputs[o];
    if (output == kNone) continue;
    all_vary = all_vary && varies_[output];
    if (varies_[output]) own[function.outputs[o].dims[dimension(output)]] = true;
  }
  std::vector<size_t> at(op.inputs.size(), 0);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!varies_[op.inputs[i]]) continue;
    at[i] = dimension(op.inputs[i]);
    same[i] = all_vary;
  }
  for (const sdfg::Node& node : function.nodes) {
    if (node.op != sdfg::Op::kElement && node.op != sdfg::Op::kIntElement) continue;
    if (!varies_[op.inputs[node.input]] || !same[node.input]) continue;
    const sdfg::Node& index = function.nodes[node.args[at[node.input]]];
    same[node.input] = index.op == sdfg::Op::kIndex && own[index.var];
  }
  return same;
}

Place StepOrder::PlaceOf(const sdfg::Operator& op) const {
  for (TensorId output : op.outputs) {
    if (output != kNone) return problem_.schedule.places[output];
  }
  return {};
}

int64_t StepOrder::Position(Place place, int64_t microbatch) const {
  const Phase& phase = this->phase(place);
  return phase.once ? phase.first : phase.at[microbatch];
}

std::string StepOrder::StepText(int program, int64_t step) const {
  const lineage::ScheduleStep& at = programs_[program].steps[step];
  std::string text = problem_.schedule.programs[program].phases[at.phase];
  if (at.microbatch != kAllMicrobatches) absl::StrAppend(&text, ":", at.microbatch);
  return text.empty() ? "its only step" : absl::StrCat("step ", step, " (", text, ")");
}

std::string StepOrder::OperatorText(const sdfg::Operator& op) const {
  const std::string at = op.source.ToString();
  return absl::StrCat(op.name, op.label.empty() ? "" : absl::StrCat(" (", op.label, ")"),
                      at.empty() ? "" : " at ", at);
}

std::string StepOrder::TensorText(TensorId tensor, int64_t microbatch) const {
  const std::string& name = problem_.parallel.tensors[tensor].name;
  return varies_[tensor] ? absl::StrCat(name, " of microbatch ", microbatch) : name;
}

int64_t StepOrder::Missing(const Program& program, int32_t phase) const {
  std::vector<int32_t> seen;
  for (const lineage::ScheduleStep& step : program.steps) {
    if (step.phase == phase) seen.push_back(step.microbatch);
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] != static_cast<int32_t>(i)) return static_cast<int64_t>(i);
  }
  return static_cast<int64_t>(seen.size()) < microbatches_ ? static_cast<int64_t>(seen.size()) : -1;
}

std::optional<Violation> StepOrder::CheckOnce(int number) {
  Program& program = programs_[number];
  const lineage::ProgramSchedule& schedule = problem_.schedule.programs[number];
  const auto wrong = [&](const std::string& what) {
    const std::string at = schedule.source.ToString();
    const std::string text = absl::StrCat("program \"", schedule.name, "\": ", what);
    return OrderViolation("instance not scheduled exactly once", text,
                          absl::StrCat(at, at.empty() ? "" : ": ", text));
  };
  for (const lineage::ScheduleStep& step : program.steps) ++program.phases[step.phase].steps;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const lineage::ScheduleStep& step = program.steps[s];
    Phase& phase = program.phases[step.phase];
    const bool once = step.microbatch == kAllMicrobatches;
    if (step.microbatch >= microbatches_) {
      return wrong(absl::StrCat(StepText(number, s), ": there are ", microbatches_,
                                " microbatches, numbered from 0"));
    }
    if (phase.first < 0) {
      phase.once = once;
      phase.first = static_cast<int64_t>(s);
      if (!once && phase.steps < microbatches_) {
        return wrong(absl::StrCat("phase \"", schedule.phases[step.phase],
                                  "\" is never scheduled for microbatch ",
                                  Missing(program, step.phase)));
      }
      if (!once) phase.at.assign(microbatches_, -1);
    } else if (once || phase.once) {
      return wrong(absl::StrCat(StepText(number, phase.first), " and ", StepText(number, s),
                                " run the same instances"));
    }
    phase.last = static_cast<int64_t>(s);
    if (once) continue;
    int32_t& at = phase.at[step.microbatch];
    if (at >= 0) {
      return wrong(absl::StrCat(StepText(number, at), " and ", StepText(number, s),
                                " run the same instances"));
    }
    at = static_cast<int32_t>(s);
  }
  for (size_t i = 0; i < program.phases.size(); ++i) {
    if (program.phases[i].first >= 0) continue;
    return wrong(absl::StrCat("phase \"", schedule.phases[i], "\" is never scheduled"));
  }
  return std::nullopt;
}

std::optional<Violation> StepOrder::CheckOnce() {
  for (size_t p = 0; p < programs_.size(); ++p) {
    if (auto violation = CheckOnce(static_cast<int>(p))) return violation;
  }
  return std::nullopt;
}

}  // namespace planproof::stages
