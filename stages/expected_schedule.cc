#include "stages/expected_schedule.h"

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "stages/communications.h"
#include "stages/step_order.h"

namespace planproof::stages {
namespace {

using lineage::kAllMicrobatches;
using lineage::PipelineStep;
using lineage::ProgramSchedule;

const char* NameOf(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::kGPipe:
      return "gpipe";
    case PipelineSchedule::k1F1B:
      return "1f1b";
    case PipelineSchedule::kInterleaved:
      return "interleaved";
    case PipelineSchedule::kAny:
      break;
  }
  return "any";
}

// "F", "F0", "B3"; the chunk of "F" and "B" is 0.
struct PhaseRole {
  bool backward = false;
  int64_t chunk = 0;
};
std::optional<PhaseRole> RoleOf(const std::string& phase) {
  if (phase.empty() || (phase[0] != 'F' && phase[0] != 'B')) return std::nullopt;
  PhaseRole role{phase[0] == 'B', 0};
  if (phase.size() > 7) return std::nullopt;
  if (phase.size() > 1 && (!absl::SimpleAtoi(phase.substr(1), &role.chunk) || role.chunk < 0)) {
    return std::nullopt;
  }
  return role;
}

// As the program names its phases: "F:3" or "F0:3".
std::string TextOf(const PipelineStep& step, const ProgramSchedule& program) {
  const bool plain =
      std::any_of(program.phases.begin(), program.phases.end(),
                  [](const std::string& phase) { return phase == "F" || phase == "B"; });
  const std::string chunk = plain ? "" : absl::StrCat(step.chunk);
  return absl::StrCat(step.backward ? "B" : "F", chunk, ":", step.microbatch);
}

class Comparison {
 public:
  Comparison(const StepOrder& order, PipelineSchedule expected)
      : order_(order),
        programs_(order.problem().schedule.programs),
        expected_(expected),
        stage_(programs_.size(), 0) {}

  std::optional<Violation> Run() {
    FindUsed();
    for (size_t p = 0; p < programs_.size(); ++p) {
      if (!used_[p]) continue;
      if (programs_[p].steps.empty()) {
        return Deviation(p,
                         "states no order of its instances: begin phases F0, B0, ... at its "
                         "operators (\"phase\") and list their steps under \"schedule\"");
      }
    }
    if (auto violation = NumberStages()) return violation;
    for (size_t p = 0; p < programs_.size(); ++p) {
      if (!used_[p]) continue;
      if (auto violation = Compare(p)) return violation;
    }
    return std::nullopt;
  }

 private:
  Violation Deviation(size_t p, const std::string& what) const {
    const std::string at = programs_[p].source.ToString();
    const std::string text = absl::StrCat("program \"", programs_[p].name, "\" ", what);
    return OrderViolation(absl::StrCat("not the schedule ", NameOf(expected_)),
                          absl::StrCat("not the schedule ", NameOf(expected_), ": ", text),
                          absl::StrCat(at, at.empty() ? "" : ": ", text));
  }

  // A program without operators has nothing to schedule.
  void FindUsed() {
    used_.assign(programs_.size(), false);
    for (const sdfg::Operator& op : order_.problem().parallel.operators) {
      const lineage::Place place = order_.PlaceOf(op);
      if (place.program != sdfg::kNone) used_[place.program] = true;
    }
  }

  bool IsFirstForward(lineage::Place place) const {
    if (place.program == sdfg::kNone || place.phase == sdfg::kNone) return false;
    const auto role = RoleOf(programs_[place.program].phases[place.phase]);
    return role.has_value() && !role->backward && role->chunk == 0;
  }

  // By how many moves between first forward phases a program is behind the first stage.
  std::optional<Violation> NumberStages() {
    std::vector<std::set<int>> next(programs_.size());
    std::vector<int> before(programs_.size(), 0);
    for (const sdfg::Operator& op : order_.problem().parallel.operators) {
      const lineage::Place place = order_.PlaceOf(op);
      if (op.name != "move" || !IsFirstForward(place)) continue;
      const lineage::Place from = order_.PlaceOf(SentTensor(order_, op.inputs[0], place.program));
      if (from.program == place.program || !IsFirstForward(from)) continue;
      before[place.program] += next[from.program].insert(place.program).second ? 1 : 0;
    }
    std::vector<int> ready;
    for (size_t p = 0; p < programs_.size(); ++p) {
      if (before[p] == 0) ready.push_back(static_cast<int>(p));
    }
    for (size_t i = 0; i < ready.size(); ++i) {
      for (int follower : next[ready[i]]) {
        stage_[follower] = std::max(stage_[follower], stage_[ready[i]] + 1);
        if (--before[follower] == 0) ready.push_back(follower);
      }
    }
    for (size_t p = 0; p < programs_.size(); ++p) {
      if (before[p] == 0) continue;
      return Deviation(p, "is no pipeline stage: its phase F0 receives from itself through others");
    }
    stages_ = 1 + *std::max_element(stage_.begin(), stage_.end());
    return std::nullopt;
  }

  std::optional<Violation> Compare(size_t p) const {
    int64_t chunks = 0;
    for (const std::string& phase : programs_[p].phases) {
      const auto role = RoleOf(phase);
      if (role.has_value()) chunks = std::max(chunks, role->chunk + 1);
    }
    const int64_t microbatches = order_.microbatches();
    const bool interleaved = expected_ == PipelineSchedule::kInterleaved;
    if (!interleaved && chunks > 1) {
      return Deviation(p, absl::StrCat("has ", chunks, " chunks, not one"));
    }
    if (interleaved && chunks < 2) return Deviation(p, "has one chunk, not at least two");
    if (interleaved && microbatches % stages_ != 0) {
      return Deviation(p, absl::StrCat("runs ", microbatches, " microbatches, which the ", stages_,
                                       " stages do not divide"));
    }
    if (chunks > static_cast<int64_t>(programs_[p].phases.size())) {
      return Deviation(p, absl::StrCat("names a chunk ", chunks - 1, ", but not all before it"));
    }
    const auto steps = static_cast<int64_t>(programs_[p].steps.size());
    if (chunks * microbatches > steps) {
      return Deviation(p, absl::StrCat("has ", steps, " steps for ", chunks, " chunks and ",
                                       microbatches, " microbatches"));
    }
    std::vector<PipelineStep> wanted =
        lineage::PublishedSchedule(expected_, stages_, stage_[p], chunks, microbatches);
    size_t position = 0;
    for (size_t s = 0; s < programs_[p].steps.size(); ++s) {
      const lineage::ScheduleStep& step = programs_[p].steps[s];
      const auto role = RoleOf(programs_[p].phases[step.phase]);
      if (!role.has_value()) continue;
      const bool once = step.microbatch == kAllMicrobatches;
      if (once && microbatches > 1) {
        return Deviation(p, absl::StrCat(order_.StepText(p, s), " is no step of one microbatch"));
      }
      const PipelineStep found{role->backward, role->chunk, once ? 0 : step.microbatch};
      // The first backward pass says in which direction GPipe's go.
      if (expected_ == PipelineSchedule::kGPipe && found.backward && position < wanted.size() &&
          wanted[position].backward && position == static_cast<size_t>(microbatches) &&
          found.microbatch == microbatches - 1) {
        std::reverse(wanted.begin() + microbatches, wanted.end());
      }
      const bool same = position < wanted.size() && found == wanted[position];
      if (!same) {
        return Deviation(
            p, absl::StrCat("(stage ", stage_[p], " of ", stages_, ") at position ", s, ": ",
                            position < wanted.size() ? TextOf(wanted[position], programs_[p])
                                                     : std::string("nothing more"),
                            " is expected, ", TextOf(found, programs_[p]), " found"));
      }
      ++position;
    }
    if (position == wanted.size()) return std::nullopt;
    return Deviation(p, absl::StrCat("ends after ", position, " passes; ",
                                     TextOf(wanted[position], programs_[p]), " is expected"));
  }

  const StepOrder& order_;
  const std::vector<ProgramSchedule>& programs_;
  const PipelineSchedule expected_;
  std::vector<bool> used_;
  std::vector<int64_t> stage_;
  int64_t stages_ = 1;
};

}  // namespace

std::optional<Violation> CheckExpectedSchedule(const lineage::Problem& problem,
                                               PipelineSchedule expected) {
  if (problem.schedule.programs.empty()) {
    return OrderViolation(absl::StrCat("not the schedule ", NameOf(expected)),
                          absl::StrCat("not the schedule ", NameOf(expected),
                                       ": the plan states no order of its instances"),
                          "the files say in which order instances run only in plan format "
                          "(\"phase\" and \"schedule\", docs/plan-format.md)");
  }
  StepOrder order(problem);
  if (auto violation = order.CheckOnce()) return violation;
  return Comparison(order, expected).Run();
}

}  // namespace planproof::stages
