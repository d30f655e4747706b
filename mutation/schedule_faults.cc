#include "mutation/schedule_faults.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace planproof::mutation {
namespace {

using lineage::ProgramSchedule;
using lineage::ScheduleStep;
using sdfg::TensorId;

bool VariesOverMicrobatch(const sdfg::Graph& graph, TensorId tensor) {
  const std::vector<sdfg::AxisId>& axes = graph.tensors[tensor].axes;
  return std::any_of(axes.begin(), axes.end(), [&graph](sdfg::AxisId axis) {
    return graph.axes[axis].kind == sdfg::AxisKind::kMicrobatch;
  });
}

// Pairs of phases of one program of which the second reads, for the same microbatch or for all,
// what the first computes for each microbatch; with `remote`, phases (twice) whose tensors another
// program reads.
std::set<std::pair<int, int>> Dependencies(const lineage::Problem& problem, int program,
                                           bool remote) {
  std::set<std::pair<int, int>> found;
  const sdfg::Graph& graph = problem.parallel;
  for (const sdfg::Operator& op : graph.operators) {
    lineage::Place reader;
    for (TensorId output : op.outputs) {
      if (output != sdfg::kNone) reader = problem.schedule.places[output];
    }
    for (TensorId input : op.inputs) {
      const lineage::Place from = problem.schedule.places[input];
      if (from.program != program || from.phase == sdfg::kNone) continue;
      if (!VariesOverMicrobatch(graph, input)) continue;
      if (remote != (reader.program != program) || reader.program == sdfg::kNone) continue;
      if (remote) found.emplace(from.phase, from.phase);
      if (!remote && reader.phase != from.phase) found.emplace(from.phase, reader.phase);
    }
  }
  return found;
}

std::string TextOf(const ProgramSchedule& program, size_t step) {
  const ScheduleStep& at = program.steps[step];
  std::string text = program.phases[at.phase];
  if (at.microbatch != lineage::kAllMicrobatches) text += ":" + std::to_string(at.microbatch);
  return text;
}

}  // namespace

absl::StatusOr<Mutation> MutateSchedule(lineage::Problem& problem, const std::string& kind,
                                        uint64_t seed) {
  const bool same_phase = kind == "S2";
  struct Exchange {
    size_t program, first, second;
  };
  std::vector<Exchange> places;
  std::vector<ProgramSchedule>& programs = problem.schedule.programs;
  for (size_t p = 0; p < programs.size(); ++p) {
    const auto dependencies = Dependencies(problem, static_cast<int>(p), same_phase);
    const std::vector<ScheduleStep>& steps = programs[p].steps;
    for (size_t i = 0; i < steps.size() && !dependencies.empty(); ++i) {
      for (size_t j = i + 1; j < steps.size(); ++j) {
        const bool all = steps[j].microbatch == lineage::kAllMicrobatches;
        const bool fits = same_phase ? steps[i].phase == steps[j].phase
                                     : all || steps[i].microbatch == steps[j].microbatch;
        if (!fits || dependencies.count({steps[i].phase, steps[j].phase}) == 0) continue;
        places.push_back({p, i, j});
        break;  // the next one will do
      }
    }
  }
  if (places.empty()) {
    return absl::FailedPreconditionError(
        same_phase ? "this plan has no place for it: it needs a schedule whose steps send to "
                     "another program"
                   : "this plan has no place for it: it needs a schedule of several phases");
  }
  const Exchange& chosen = places[seed % places.size()];
  ProgramSchedule& program = programs[chosen.program];
  Mutation mutation;
  mutation.kind = kind;
  mutation.what = kind + ": program \"" + program.name + "\": step " +
                  std::to_string(chosen.first) + " (" + TextOf(program, chosen.first) +
                  ") and step " + std::to_string(chosen.second) + " (" +
                  TextOf(program, chosen.second) + ") are exchanged";
  std::swap(program.steps[chosen.first], program.steps[chosen.second]);
  return mutation;
}

}  // namespace planproof::mutation
