#include "cli/show_operators.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "report/text_layout.h"

namespace planproof::cli {
namespace {

using report::OneLine;
using sdfg::Graph;
using sdfg::Tensor;
using sdfg::TensorId;

constexpr size_t kMaxOperands = 12;
constexpr size_t kMaxBytes = 600;  // of a line

// "h[2, 16]", "ids int64[8]".
std::string TensorText(const Tensor& tensor, const std::string& program) {
  std::string name = tensor.name;
  if (!program.empty() && name.rfind(program + ":", 0) == 0) name = name.substr(program.size() + 1);
  const bool other_type = tensor.dtype != sdfg::DType::kFloat32;
  return absl::StrCat(name, other_type ? absl::StrCat(" ", sdfg::DTypeName(tensor.dtype)) : "", "[",
                      absl::StrJoin(tensor.shape.begin() + static_cast<int64_t>(tensor.axes.size()),
                                    tensor.shape.end(), ", "),
                      "]");
}

class Lister {
 public:
  Lister(const lineage::Problem& problem, const Graph& graph)
      : problem_(problem), graph_(graph), parallel_(&graph == &problem.parallel) {}

  void Print(const char* title) const {
    std::printf("%s graph: %s operators\n", title,
                report::Grouped(static_cast<long long>(graph_.operators.size())).c_str());
    size_t width = 0;
    for (const sdfg::Operator& op : graph_.operators) width = std::max(width, Where(op).size());
    for (const sdfg::Operator& op : graph_.operators) {
      std::printf("  %-*s%s%s\n", static_cast<int>(width), Where(op).c_str(), width > 0 ? "  " : "",
                  OneLine(Line(op), kMaxBytes).c_str());
    }
  }

 private:
  const lineage::ProgramSchedule* ProgramOf(const sdfg::Operator& op) const {
    const TensorId output = FirstOutput(op);
    const lineage::Schedule& schedule = problem_.schedule;
    if (!parallel_ || output == sdfg::kNone ||
        output >= static_cast<TensorId>(schedule.places.size()) ||
        schedule.places[output].program == sdfg::kNone) {
      return nullptr;
    }
    return &schedule.programs[schedule.places[output].program];
  }

  static TensorId FirstOutput(const sdfg::Operator& op) {
    for (const TensorId output : op.outputs) {
      if (output != sdfg::kNone) return output;
    }
    return sdfg::kNone;
  }

  // "stage0 F0", or "devices 0-3".
  std::string Where(const sdfg::Operator& op) const {
    const TensorId output = FirstOutput(op);
    if (!parallel_ || output == sdfg::kNone) return "";
    const lineage::ProgramSchedule* program = ProgramOf(op);
    if (program == nullptr) {
      const std::set<int> devices = DevicesOf(graph_, graph_.tensors[output]);
      return devices.empty()
                 ? ""
                 : OneLine(absl::StrCat(devices.size() == 1 ? "device " : "devices ",
                                        report::Ranges({devices.begin(), devices.end()})),
                           40);
    }
    const int32_t phase = problem_.schedule.places[output].phase;
    const bool named = phase >= 0 && phase < static_cast<int32_t>(program->phases.size()) &&
                       !program->phases[phase].empty();
    return OneLine(
        absl::StrCat(program->name, named ? " " : "", named ? program->phases[phase] : ""), 40);
  }

  std::string Line(const sdfg::Operator& op) const {
    const lineage::ProgramSchedule* program = ProgramOf(op);
    const std::string own = program == nullptr ? "" : program->name;
    std::vector<std::string> results, operands;
    for (const TensorId output : op.outputs) {
      if (output != sdfg::kNone) results.push_back(TensorText(graph_.tensors[output], own));
    }
    for (const TensorId input : op.inputs) {
      if (operands.size() == kMaxOperands) {
        operands.push_back(absl::StrCat("and ", op.inputs.size() - kMaxOperands, " more"));
        break;
      }
      operands.push_back(TensorText(graph_.tensors[input], own));
    }
    for (const auto& [key, value] : op.attributes)
      operands.push_back(absl::StrCat(key, "=", value));
    if (!op.group.empty()) operands.push_back("ranks=" + absl::StrJoin(op.group, ","));
    if (!op.override_at.empty()) operands.push_back("at=" + graph_.Describe(op.override_at));
    std::string line = absl::StrCat(absl::StrJoin(results, ", "), " = ", op.name, "(",
                                    absl::StrJoin(operands, ", "), ")");
    const bool named = std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId output) {
      return output != sdfg::kNone && graph_.tensors[output].name.ends_with(op.label);
    });
    if (!named) absl::StrAppend(&line, "; named ", op.label);
    const TensorId output = FirstOutput(op);
    if (output != sdfg::kNone && !graph_.tensors[output].axes.empty()) {
      std::vector<std::string> axes;
      for (const sdfg::AxisId axis : graph_.tensors[output].axes) {
        axes.push_back(graph_.axes[axis].name);
      }
      absl::StrAppend(&line, "; varies over ", absl::StrJoin(axes, ", "));
    }
    if (!op.source.file.empty()) {
      absl::StrAppend(&line, "; at ", op.source.file);
      if (op.source.line > 0) absl::StrAppend(&line, ":", op.source.line);
      if (!op.source.text.empty()) absl::StrAppend(&line, ": ", op.source.text);
    }
    return line;
  }

  const lineage::Problem& problem_;
  const Graph& graph_;
  const bool parallel_;
};

}  // namespace

std::set<int> DevicesOf(const Graph& graph, const Tensor& tensor) {
  std::set<int> devices;
  if (tensor.device < 0) return devices;
  devices.insert(tensor.device);
  for (const sdfg::AxisId axis : tensor.axes) {
    if (axis >= static_cast<int>(graph.axis_device_stride.size())) continue;
    const int64_t stride = graph.axis_device_stride[axis];
    if (stride == 0) continue;
    std::set<int> shifted;
    for (const int device : devices) {
      for (int64_t i = 0; i < graph.axes[axis].extent; ++i) {
        shifted.insert(static_cast<int>(device + i * stride));
      }
    }
    devices = std::move(shifted);
  }
  return devices;
}

void PrintOperators(const lineage::Problem& problem) {
  Lister(problem, problem.logical).Print("logical");
  Lister(problem, problem.parallel).Print("parallel");
}

}  // namespace planproof::cli
