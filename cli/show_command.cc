#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/load_problem.h"
#include "cli/show_pickle.h"
#include "report/text_layout.h"

namespace planproof::cli {
namespace {

using report::Grouped;
using report::OneLine;
using sdfg::Graph;

constexpr size_t kMostParameters = 40;

int64_t Elements(const sdfg::Tensor& tensor) {
  int64_t elements = 1;
  for (size_t i = tensor.axes.size(); i < tensor.shape.size(); ++i) elements *= tensor.shape[i];
  return elements;
}

std::string ShapeText(const sdfg::Tensor& tensor) {
  std::string text = "[";
  for (size_t i = tensor.axes.size(); i < tensor.shape.size(); ++i) {
    if (i > tensor.axes.size()) text += ", ";
    text += std::to_string(tensor.shape[i]);
  }
  return text + "]";
}

const char* RoleName(sdfg::TensorRole role) {
  switch (role) {
    case sdfg::TensorRole::kInput:
      return "inputs";
    case sdfg::TensorRole::kParameter:
      return "parameters";
    case sdfg::TensorRole::kBuffer:
      return "buffers";
    case sdfg::TensorRole::kOne:
    case sdfg::TensorRole::kZero:
      return "constants";
    case sdfg::TensorRole::kIntermediate:
      break;
  }
  return "intermediate";
}

// All devices that some instance of an operator or tensor is on.
std::set<int> Devices(const Graph& graph) {
  std::set<int> devices;
  for (const sdfg::Tensor& tensor : graph.tensors) {
    if (tensor.device < 0) continue;
    std::set<int> here = {tensor.device};
    for (const sdfg::AxisId axis : tensor.axes) {
      if (axis >= static_cast<int>(graph.axis_device_stride.size())) continue;
      const int64_t stride = graph.axis_device_stride[axis];
      if (stride == 0) continue;
      std::set<int> shifted;
      for (const int device : here) {
        for (int64_t i = 0; i < graph.axes[axis].extent; ++i) {
          shifted.insert(static_cast<int>(device + i * stride));
        }
      }
      here = std::move(shifted);
    }
    devices.insert(here.begin(), here.end());
  }
  return devices;
}

void PrintGraph(const char* title, const Graph& graph) {
  std::map<std::string, std::pair<int64_t, int64_t>> operators;  // distinct, instances
  int64_t instances = 0;
  for (const sdfg::Operator& op : graph.operators) {
    auto& [distinct, all] = operators[op.name];
    const int64_t count = graph.InstanceCount(op);
    ++distinct;
    all += count;
    instances += count;
  }
  std::map<std::string, std::pair<int64_t, int64_t>> tensors;  // count, elements
  for (const sdfg::Tensor& tensor : graph.tensors) {
    auto& [count, elements] = tensors[RoleName(tensor.role)];
    ++count;
    elements += Elements(tensor);
  }
  std::printf("%s graph: %s operators, %s instances\n", title,
              Grouped(static_cast<long long>(graph.operators.size())).c_str(),
              Grouped(instances).c_str());
  for (const sdfg::Axis& axis : graph.axes) {
    std::printf("  axis        %s: %lld\n", OneLine(axis.name).c_str(),
                static_cast<long long>(axis.extent));
  }
  const std::set<int> devices = Devices(graph);
  if (!devices.empty()) {
    const std::string ranges = report::Ranges({devices.begin(), devices.end()});
    std::printf("  devices     %zu: %s\n", devices.size(), OneLine(ranges).c_str());
  }
  for (const auto& [role, sizes] : tensors) {
    std::printf("  %-11s %s tensors, %s elements\n", role.c_str(), Grouped(sizes.first).c_str(),
                Grouped(sizes.second).c_str());
  }
  for (const auto& [name, counts] : operators) {
    std::printf("  operator    %-28s %10s %14s\n", OneLine(name, 60).c_str(),
                Grouped(counts.first).c_str(), Grouped(counts.second).c_str());
  }
}

void PrintParameters(const Graph& graph) {
  size_t printed = 0;
  for (const sdfg::Tensor& tensor : graph.tensors) {
    if (tensor.role != sdfg::TensorRole::kParameter && tensor.role != sdfg::TensorRole::kInput) {
      continue;
    }
    if (printed++ >= kMostParameters) continue;
    std::printf("  %-11s %s %s %s\n",
                tensor.role == sdfg::TensorRole::kParameter ? "parameter" : "input",
                OneLine(tensor.name, 100).c_str(), ShapeText(tensor).c_str(),
                sdfg::DTypeName(tensor.dtype));
  }
  if (printed > kMostParameters) std::printf("  and %zu more\n", printed - kMostParameters);
}

// The steps of each program, as the plan file would say them, or their number if there are many.
void PrintSchedule(const lineage::Schedule& schedule) {
  constexpr size_t kMostSteps = 24;
  for (const lineage::ProgramSchedule& program : schedule.programs) {
    if (program.steps.empty()) continue;
    std::string text;
    for (size_t i = 0; i < std::min(program.steps.size(), kMostSteps); ++i) {
      const lineage::ScheduleStep& step = program.steps[i];
      text += (i > 0 ? " " : "") + program.phases[step.phase];
      if (step.microbatch >= 0) text += ":" + std::to_string(step.microbatch);
    }
    if (program.steps.size() > kMostSteps) {
      text += " and " + std::to_string(program.steps.size() - kMostSteps) + " more";
    }
    std::printf("  schedule    %s: %zu steps in %zu phases: %s\n",
                OneLine(program.name, 60).c_str(), program.steps.size(), program.phases.size(),
                OneLine(text, 240).c_str());
  }
}

int RunShow(const std::vector<std::string>& files, const LoadOptions& options) {
  const absl::StatusOr<FileFormat> format = DetectFormat(files[0]);
  if (files.size() == 1 && format.ok() && *format == FileFormat::kPickle) {
    return ShowPickle(files[0]);
  }
  const absl::StatusOr<lineage::Problem> problem = LoadProblem(files, options);
  if (!problem.ok()) return ReportError(problem.status(), files);
  PrintGraph("logical", problem->logical);
  PrintParameters(problem->logical);
  PrintGraph("parallel", problem->parallel);
  PrintSchedule(problem->schedule);
  std::map<std::string, int64_t> required;
  for (const lineage::RequiredRelation& relation : problem->required) ++required[relation.what];
  std::printf("required outputs: %zu\n", problem->required.size());
  size_t printed = 0;
  for (const auto& [what, count] : required) {
    if (printed++ < kMostParameters) {
      std::printf("  required    %s%s\n", OneLine(what).c_str(),
                  count > 1 ? (" (" + std::to_string(count) + ")").c_str() : "");
    }
  }
  if (printed > kMostParameters) std::printf("  and %zu more\n", printed - kMostParameters);
  for (const std::string& assumption : problem->assumptions) {
    std::printf("  assumes     %s\n", OneLine(assumption).c_str());
  }
  for (const std::string& warning : problem->warnings) {
    std::printf("  warning     %s\n", OneLine(warning).c_str());
  }
  return kSuccess;
}

}  // namespace

void AddShowCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "show", "What is in a plan: devices, axes, operators, sizes, required outputs");
  auto files = std::make_shared<std::vector<std::string>>();
  auto options = std::make_shared<LoadOptions>();
  command->add_option("FILES", *files, "One plan file or nnScaler pickle, or LOGICAL PARALLEL")
      ->required()
      ->expected(1, 2);
  command->add_option("--operators", options->operators_file, "Declarations of further operators");
  command->footer(
      "Examples:\n"
      "  planproof show examples/mlp_tp2.json\n"
      "  planproof show dp2_pp2_tp2.pkl\n"
      "  planproof show single_device.pkl dp2_pp2_tp2.pkl");
  command->callback([files, options, &action] {
    action = [files, options] { return RunShow(*files, *options); };
  });
}

}  // namespace planproof::cli
