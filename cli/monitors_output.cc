#include "cli/monitors_output.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cli/monitor_program.h"
#include "monitor/proved/export.h"
#include "monitor/proved/monitors_file.h"
#include "monitor/proved/plan_sets.h"

namespace planproof::cli {
namespace {

using frontend::RecordedInput;
using frontend::RecordedResult;
using frontend::RecordedRole;

// A state's parameter and what the optimizer calls it: up.weight and exp_avg.
struct NamedState {
  std::string parameter, state;
};

class SetsOfRecording {
 public:
  SetsOfRecording(const lineage::Problem& problem, const frontend::Recording& recording)
      : problem_(problem), recording_(recording) {
    for (const RecordedInput& input : recording.reference.inputs) {
      roles_[input.name] = input.role;
      held_by_model_[input.name] = input.tensor;
    }
    for (const frontend::RecordedProgram& rank : recording.ranks) {
      std::map<std::string, sdfg::TensorId>& held = held_.emplace_back();
      for (const RecordedInput& input : rank.inputs) held[input.name] = input.tensor;
    }
  }

  std::vector<monitor::ExportedSet> Make() {
    for (const frontend::RecordedRequirement& requirement : recording_.requirements) {
      if (requirement.terms.size() == 1) Add(requirement);
    }
    std::vector<monitor::ExportedSet> sets;
    for (auto& [key, set] : sets_) {
      std::sort(set.parts.begin(), set.parts.end(),
                [](const auto& a, const auto& b) { return a.rank < b.rank; });
      sets.push_back(std::move(set));
    }
    return sets;
  }

 private:
  void Add(const frontend::RecordedRequirement& requirement) {
    const RecordedResult& result = recording_.reference.results[requirement.reference];
    if (result.kind == RecordedResult::Kind::kOutput) return;
    const auto role = roles_.find(result.name);
    if (role == roles_.end()) return;
    monitor::ExportedSet named;
    if (!Name(result, role->second, &named)) return;
    auto [at, is_new] = sets_.try_emplace({named.name, named.set}, std::move(named));
    monitor::ExportedSet& set = at->second;
    if (is_new) {
      set.of = result.shape;
      set.model_after = result.tensor;
      const bool gradient = result.kind == RecordedResult::Kind::kGradient;
      if (!gradient) set.model_before = held_by_model_[result.name];
    }
    const frontend::RecordedRequirement::Term& term = requirement.terms[0];
    const RecordedResult& own = recording_.ranks[term.rank].results[term.result];
    monitor::ExportedPart part;
    part.rank = recording_.ranks[term.rank].rank;
    part.after = own.tensor;
    part.required = requirement.required;
    const auto held = held_[term.rank].find(result.name);
    if (held != held_[term.rank].end() && result.kind == RecordedResult::Kind::kUpdated) {
      part.before = held->second;
    }
    const lineage::Lineage& lineage = problem_.required[requirement.required].lineage;
    set.flat = set.flat || lineage.map.size() != set.of.size();
    set.parts.push_back(part);
  }

  bool Name(const RecordedResult& result, RecordedRole role, monitor::ExportedSet* set) const {
    set->name = result.name;
    if (result.kind == RecordedResult::Kind::kGradient) {
      set->set = "gradient";
      set->kind = monitor::SetKind::kGradient;
      return role == RecordedRole::kParameter;
    }
    if (role == RecordedRole::kParameter || role == RecordedRole::kBuffer) {
      set->set = "parameter";
      set->kind = monitor::SetKind::kParameter;
      return true;
    }
    if (role != RecordedRole::kState) return false;
    const NamedState state = StateOf(result.name);
    if (state.parameter.empty()) return false;
    set->name = state.parameter;
    set->set = state.state;
    const bool number = result.shape.empty() && !ShapeOf(state.parameter).empty();
    set->kind = number ? monitor::SetKind::kNumberState : monitor::SetKind::kState;
    return true;
  }

  sdfg::Shape ShapeOf(const std::string& parameter) const {
    for (const RecordedInput& input : recording_.reference.inputs) {
      if (input.name == parameter) return input.view.shape;
    }
    return {};
  }

  // By the longest name of a parameter that the state's begins with.
  NamedState StateOf(const std::string& name) const {
    for (size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0;
         dot = name.rfind('.', dot - 1)) {
      const auto role = roles_.find(name.substr(0, dot));
      if (role == roles_.end() || role->second != RecordedRole::kParameter) continue;
      return {name.substr(0, dot), name.substr(dot + 1)};
    }
    return {};
  }

  const lineage::Problem& problem_;
  const frontend::Recording& recording_;
  std::map<std::string, RecordedRole> roles_;
  std::map<std::string, sdfg::TensorId> held_by_model_;
  std::vector<std::map<std::string, sdfg::TensorId>> held_;  // by rank
  std::map<std::pair<std::string, std::string>, monitor::ExportedSet> sets_;
};

}  // namespace

absl::Status WriteMonitorsOf(const std::string& path, const lineage::Problem& problem,
                             const frontend::Recording* recording, const stages::Result& result,
                             bool force) {
  monitor::ExportRequest request;
  if (recording == nullptr) request = monitor::RequestOfPlan(problem);
  request.force = force;
  if (recording != nullptr) {
    request.world = static_cast<int32_t>(recording->ranks.size());
    request.sets = SetsOfRecording(problem, *recording).Make();
    for (const frontend::RecordedProgram& rank : recording->ranks) {
      request.in_place.insert(request.in_place.end(), rank.in_place.begin(), rank.in_place.end());
    }
  }
  absl::StatusOr<monitor::ProvedMonitors> monitors =
      monitor::ExportMonitors(problem, result, request);
  if (!monitors.ok()) return monitors.status();
  if (recording != nullptr) {
    absl::StatusOr<std::vector<monitor::RankProgram>> programs = ProgramsOf(*recording);
    if (!programs.ok()) return programs.status();
    monitors->programs = *std::move(programs);
  }
  return monitor::WriteMonitors(path, *monitors);
}

}  // namespace planproof::cli
