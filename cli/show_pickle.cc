#include "cli/show_pickle.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "frontend/nnscaler/plan_objects.h"
#include "report/text_layout.h"

namespace planproof::cli {
namespace {

using frontend::nnscaler::Node;
using frontend::nnscaler::NodeKind;
using frontend::nnscaler::Plan;

constexpr size_t kMaxShownAttributes = 40;

// "adapter", "reducer", "linear.backward", ...
std::string KindOf(const Plan& plan, const Node& node) {
  switch (node.kind) {
    case NodeKind::kAdapter:
      return "(adapter)";
    case NodeKind::kReducer:
      return "(reducer)";
    case NodeKind::kData:
      return "(data loader)";
    case NodeKind::kBackward:
      return (node.mirror >= 0 ? plan.nodes[node.mirror].name : node.name) + ".backward";
    case NodeKind::kForward:
      break;
  }
  return node.name;
}

}  // namespace

int ShowPickle(const std::string& path) {
  absl::StatusOr<frontend::nnscaler::Pickle> pickle = frontend::nnscaler::Pickle::ReadFile(path);
  if (!pickle.ok()) return ReportError(pickle.status());
  absl::StatusOr<Plan> plan = frontend::nnscaler::ReadPlan(*pickle);
  if (!plan.ok()) {
    return ReportError(
        absl::Status(plan.status().code(), path + ": " + std::string(plan.status().message())));
  }

  std::printf("nnScaler plan: %zu devices, %lld copies of them at run time\n", plan->devices.size(),
              static_cast<long long>(plan->copies));
  for (const frontend::nnscaler::DeviceSequence& sequence : plan->sequences) {
    std::map<int64_t, int64_t> runs;  // cell id -> how often it runs
    for (const frontend::nnscaler::Cell& cell : sequence.cells) ++runs[cell.id];
    int64_t most = 0;
    for (const auto& [id, count] : runs) most = std::max(most, count);
    std::printf("  device %-4d %zu steps, %zu cells, each up to %lld times\n", sequence.device,
                sequence.cells.size(), runs.size(), static_cast<long long>(most));
  }
  std::map<std::string, int64_t> operators;
  for (const Node& node : plan->nodes) ++operators[KindOf(*plan, node)];
  for (const auto& [name, count] : operators) {
    std::printf("  operator    %-28s %10s\n", report::OneLine(name, 60).c_str(),
                report::Grouped(count).c_str());
  }
  size_t printed = 0;
  for (const frontend::nnscaler::FullTensor& full : plan->fulls) {
    if (!full.is_attribute || full.is_gradient || printed++ >= kMaxShownAttributes) continue;
    std::string shape;
    for (const int64_t extent : full.shape) {
      shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    }
    std::printf("  attribute   %s [%s] %s\n", report::OneLine(full.name, 100).c_str(),
                shape.c_str(), sdfg::DTypeName(full.dtype));
  }
  if (printed > kMaxShownAttributes) std::printf("  and %zu more\n", printed - kMaxShownAttributes);
  return kSuccess;
}

}  // namespace planproof::cli
