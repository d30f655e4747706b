#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/show_operators.h"
#include "cli/show_pickle.h"
#include "frontend/load_problem.h"
#include "frontend/registry.h"
#include "report/text_layout.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::cli {
namespace {

using report::Grouped;
using report::OneLine;
using sdfg::Graph;

constexpr size_t kMaxShownParameters = 40;

int64_t Elements(const sdfg::Tensor& tensor) {
  return sdfg::ElementCount({tensor.shape.begin() + tensor.axes.size(), tensor.shape.end()});
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
  for (const sdfg::Tensor& tensor : graph.tensors) devices.merge(DevicesOf(graph, tensor));
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
    if (__builtin_add_overflow(elements, Elements(tensor), &elements)) {
      elements = std::numeric_limits<int64_t>::max();
    }
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
    if (printed++ >= kMaxShownParameters) continue;
    std::printf("  %-11s %s %s %s\n",
                tensor.role == sdfg::TensorRole::kParameter ? "parameter" : "input",
                OneLine(tensor.name, 100).c_str(), ShapeText(tensor).c_str(),
                sdfg::DTypeName(tensor.dtype));
  }
  if (printed > kMaxShownParameters) std::printf("  and %zu more\n", printed - kMaxShownParameters);
}

// The steps of each program, as the plan file would say them, or their number if there are many.
void PrintSchedule(const lineage::Schedule& schedule) {
  constexpr size_t kMaxSteps = 24;
  for (const lineage::ProgramSchedule& program : schedule.programs) {
    if (program.steps.empty()) continue;
    std::string text;
    for (size_t i = 0; i < std::min(program.steps.size(), kMaxSteps); ++i) {
      const lineage::ScheduleStep& step = program.steps[i];
      text += (i > 0 ? " " : "") + program.phases[step.phase];
      if (step.microbatch >= 0) text += ":" + std::to_string(step.microbatch);
    }
    if (program.steps.size() > kMaxSteps) {
      text += " and " + std::to_string(program.steps.size() - kMaxSteps) + " more";
    }
    std::printf("  schedule    %s: %zu steps in %zu phases: %s\n",
                OneLine(program.name, 60).c_str(), program.steps.size(), program.phases.size(),
                OneLine(text, 240).c_str());
  }
}

struct ShowArguments {
  std::vector<std::string> files;
  bool operators = false;
  frontend::LoadOptions load;
};

// Files that are no plans are declarations, which "--operators FILE" gives as it does elsewhere.
void TakeDeclarations(ShowArguments* arguments) {
  std::vector<std::string>& files = arguments->files;
  for (size_t i = 0; i < files.size() && files.size() > 1; ++i) {
    const absl::StatusOr<frontend::InputFile> file = frontend::OpenInput(files[i]);
    if (!file.ok() || frontend::ReaderOf(*file) != nullptr) continue;
    arguments->load.operators_file = files[i];
    arguments->operators = false;
    files.erase(files.begin() + static_cast<int64_t>(i));
    return;
  }
}

int RunShow(ShowArguments arguments) {
  if (arguments.operators && arguments.load.operators_file.empty()) TakeDeclarations(&arguments);
  const std::vector<std::string>& files = arguments.files;
  if (files.size() > 2) {
    std::fprintf(stderr, "planproof: show takes one plan file, or LOGICAL PARALLEL\n");
    return kUsageError;
  }
  const absl::StatusOr<frontend::InputFile> first = frontend::OpenInput(files[0]);
  if (files.size() == 1 && first.ok() &&
      frontend::ReaderOf(*first) == &frontend::nnscaler::PicklePairs()) {
    if (!arguments.operators) return ShowPickle(files[0]);
    std::fprintf(stderr, "planproof: %s: give both pickles, LOGICAL PARALLEL, to list operators\n",
                 files[0].c_str());
    return kUsageError;
  }
  const absl::StatusOr<lineage::Problem> problem = frontend::LoadProblem(files, arguments.load);
  if (!problem.ok()) return ReportError(problem.status());
  if (arguments.operators) {
    PrintOperators(*problem);
    return kSuccess;
  }
  PrintGraph("logical", problem->logical);
  PrintParameters(problem->logical);
  PrintGraph("parallel", problem->parallel);
  PrintSchedule(problem->schedule);
  std::map<std::string, int64_t> required;
  for (const lineage::RequiredRelation& relation : problem->required) ++required[relation.what];
  std::printf("required outputs: %zu\n", problem->required.size());
  size_t printed = 0;
  for (const auto& [what, count] : required) {
    if (printed++ < kMaxShownParameters) {
      std::printf("  required    %s%s\n", OneLine(what).c_str(),
                  count > 1 ? (" (" + std::to_string(count) + ")").c_str() : "");
    }
  }
  if (printed > kMaxShownParameters) std::printf("  and %zu more\n", printed - kMaxShownParameters);
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
  auto arguments = std::make_shared<ShowArguments>();
  command
      ->add_option("FILES", arguments->files,
                   "One plan file or nnScaler pickle, or LOGICAL PARALLEL")
      ->required()
      ->expected(-1);
  command->add_flag("--operators", arguments->operators,
                    "List the operators, one on a line (with a file of declarations among FILES: "
                    "as --declarations)");
  command->add_option("--declarations", arguments->load.operators_file,
                      "Declarations of further operators (--operators of other commands)");
  command->footer(
      "Examples:\n"
      "  planproof show examples/mlp_tp2.json\n"
      "  planproof show --operators examples/mlp_tp2.json\n"
      "  planproof show dp2_pp2_tp2.pkl\n"
      "  planproof show single_device.pkl dp2_pp2_tp2.pkl");
  command->callback([arguments, &action] { action = [arguments] { return RunShow(*arguments); }; });
}

}  // namespace planproof::cli
