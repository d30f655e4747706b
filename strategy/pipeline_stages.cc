#include "strategy/pipeline_stages.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "stages/schedule/communications.h"

namespace planproof::strategy {
namespace {

using lineage::Place;
using sdfg::kNone;
using sdfg::TensorId;

// Only says where values go: no part of a pass.
bool Communicates(const sdfg::Operator& op, bool reads_others) {
  if (op.kind == sdfg::OperatorKind::kMove || op.kind == sdfg::OperatorKind::kWait) return true;
  return (!op.lifted || reads_others) && sdfg::IsCommunication(op.kind);
}

std::string TextOf(const Pass& pass) { return absl::StrCat(pass.backward ? "B" : "F", pass.chunk); }

}  // namespace

std::optional<Pass> PassNamed(const std::string& phase) {
  if (phase.empty() || (phase[0] != 'F' && phase[0] != 'B') || phase.size() > 7) {
    return std::nullopt;
  }
  Pass pass{phase[0] == 'B', 0};
  const bool digits = phase.find_first_not_of("0123456789", 1) == std::string::npos;
  if (phase.size() > 1 && (!digits || !absl::SimpleAtoi(phase.substr(1), &pass.chunk))) {
    return std::nullopt;
  }
  return pass;
}

PipelineStages::PipelineStages(const stages::StepOrder& order)
    : order_(order),
      graph_(order.problem().parallel),
      component_(order.problem().schedule.programs.size()),
      stage_(component_.size(), 0) {
  std::iota(component_.begin(), component_.end(), 0);
  if (!FindUsed()) return;
  for (size_t p = 0; p < component_.size(); ++p) {
    if (used_[p] && !CheckPasses(p)) return;
  }
  if (!CheckContents() || !CheckNeeded()) return;
  FindFlows();
  if (!error_ && NumberStages()) CheckFlows();
}

bool PipelineStages::Fail(size_t program, std::string what) {
  if (!error_) error_ = {program, std::move(what)};
  return false;
}

std::string PipelineStages::Quoted(size_t program) const {
  return absl::StrCat("\"", order_.ProgramName(static_cast<int>(program)), "\"");
}

std::optional<Pass> PipelineStages::PassOf(Place place) const {
  if (place.program == kNone || place.phase == kNone) return std::nullopt;
  return PassNamed(order_.problem().schedule.programs[place.program].phases[place.phase]);
}

size_t PipelineStages::Component(size_t program) const {
  while (component_[program] != program) program = component_[program];
  return program;
}

// A program without operators has nothing to schedule.
bool PipelineStages::FindUsed() {
  used_.assign(component_.size(), false);
  for (const sdfg::Operator& op : graph_.operators) {
    const Place place = order_.PlaceOf(op);
    if (place.program != kNone) used_[place.program] = true;
  }
  for (size_t p = 0; p < used_.size(); ++p) {
    if (!used_[p] || !order_.problem().schedule.programs[p].steps.empty()) continue;
    return Fail(p,
                "states no order of its instances: begin phases F0, B0, ... at its operators "
                "(\"phase\") and list their steps under \"schedule\"");
  }
  return true;
}

// The passes of the program: of each chunk one forward and one backward.
bool PipelineStages::CheckPasses(size_t program) {
  const std::vector<std::string>& phases = order_.problem().schedule.programs[program].phases;
  std::map<Pass, std::string> named;
  int64_t chunks = 0;
  for (const std::string& phase : phases) {
    const std::optional<Pass> pass = PassNamed(phase);
    if (!pass.has_value()) continue;
    const auto [at, fresh] = named.emplace(*pass, phase);
    if (!fresh) {
      return Fail(program, absl::StrCat("names one pass twice, as phases \"", at->second,
                                        "\" and \"", phase, "\""));
    }
    chunks = std::max(chunks, pass->chunk + 1);
  }
  if (chunks > static_cast<int64_t>(phases.size())) {
    return Fail(program, absl::StrCat("names a chunk ", chunks - 1, ", but not all before it"));
  }
  for (int64_t chunk = 0; chunk < std::max<int64_t>(chunks, 1); ++chunk) {
    for (const bool backward : {false, true}) {
      if (named.count({backward, chunk}) > 0) continue;
      return Fail(program,
                  absl::StrCat("has no phase ", TextOf({backward, chunk}), ", the ",
                               backward ? "backward" : "forward", " pass of ",
                               chunks > 1 ? absl::StrCat("its chunk ", chunk) : "its layers",
                               "; its phases are \"", absl::StrJoin(phases, "\", \""), "\""));
    }
  }
  if (chunks_ == 0) chunks_ = chunks;
  if (chunks == chunks_) return true;
  return Fail(program,
              absl::StrCat("has ", chunks, " chunks of layers, another program ", chunks_));
}

// What is computed per microbatch is part of a pass, unless it is of the batch alone (how many
// tokens count, a mask). Where there are no parameters nothing tells that apart.
bool PipelineStages::CheckContents() {
  std::vector<bool> of_model(graph_.tensors.size(), false);
  for (size_t id = 0; id < of_model.size(); ++id) {
    of_model[id] = graph_.tensors[id].role == sdfg::TensorRole::kParameter;
  }
  if (std::find(of_model.begin(), of_model.end(), true) == of_model.end()) {
    of_model.assign(of_model.size(), true);
  }
  for (const sdfg::Operator& op : graph_.operators) {
    const Place place = order_.PlaceOf(op);
    if (place.program == kNone) continue;
    const bool pass = PassOf(place).has_value();
    const bool trained = pass || std::any_of(op.inputs.begin(), op.inputs.end(),
                                             [&](TensorId input) { return of_model[input]; });
    for (TensorId output : op.outputs) {
      if (output != kNone && trained) of_model[output] = true;
    }
    if (pass || !trained) continue;
    const bool reads_others = std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      return order_.PlaceOf(input).program != place.program;
    });
    const bool of_microbatch = std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
      if (id == kNone) return false;
      const std::vector<sdfg::AxisId>& axes = graph_.tensors[id].axes;
      return std::any_of(axes.begin(), axes.end(), [this](sdfg::AxisId axis) {
        return graph_.axes[axis].kind == sdfg::AxisKind::kMicrobatch;
      });
    });
    if (!of_microbatch || Communicates(op, reads_others)) continue;
    const lineage::ProgramSchedule& program = order_.problem().schedule.programs[place.program];
    return Fail(place.program,
                absl::StrCat("computes ", order_.OperatorText(op),
                             " of each microbatch in phase \"", program.phases[place.phase],
                             "\", which is no pass; name forward passes F0, F1, ... and backward "
                             "passes B0, B1, ..."));
  }
  return true;
}

// A pass that nothing required depends on could be anywhere.
bool PipelineStages::CheckNeeded() {
  needed_.assign(graph_.tensors.size(), false);
  for (const lineage::RequiredRelation& required : order_.problem().required) {
    needed_[required.parallel] = true;
  }
  std::set<std::pair<int32_t, Pass>> needed;
  for (size_t i = graph_.operators.size(); i-- > 0;) {
    const sdfg::Operator& op = graph_.operators[i];
    if (std::none_of(op.outputs.begin(), op.outputs.end(),
                     [this](TensorId id) { return id != kNone && needed_[id]; })) {
      continue;
    }
    for (TensorId input : op.inputs) needed_[input] = true;
    const Place place = order_.PlaceOf(op);
    if (const auto pass = PassOf(place)) needed.insert({place.program, *pass});
  }
  for (size_t p = 0; p < used_.size(); ++p) {
    if (!used_[p]) continue;
    for (const std::string& phase : order_.problem().schedule.programs[p].phases) {
      const std::optional<Pass> pass = PassNamed(phase);
      if (!pass.has_value() || needed.count({static_cast<int32_t>(p), *pass}) > 0) continue;
      return Fail(p, absl::StrCat("computes nothing in phase \"", phase,
                                  "\" on which a required output depends"));
    }
  }
  return true;
}

// All participants compute the same layers.
void PipelineStages::JoinCollective(const sdfg::Operator& op, int program) {
  for (TensorId input : op.inputs) {
    const int other = order_.PlaceOf(stages::SentTensor(order_, input, program)).program;
    component_[Component(other)] = Component(program);
  }
  if (std::any_of(op.outputs.begin(), op.outputs.end(),
                  [this](TensorId id) { return id != kNone && needed_[id]; })) {
    return;
  }
  Fail(program, absl::StrCat("takes part in ", order_.OperatorText(op),
                             ", but no required output depends on what it gets: is it the same "
                             "stage as the others? Between stages there are moves"));
}

void PipelineStages::FindFlows() {
  computed_.resize(graph_.tensors.size());
  for (size_t id = 0; id < graph_.operators.size(); ++id) {
    const sdfg::Operator& op = graph_.operators[id];
    const Place place = order_.PlaceOf(op);
    if (place.program == kNone) continue;
    const std::optional<Pass> pass = PassOf(place);
    std::set<Origin> from;
    bool others = false;
    bool own = false;
    for (TensorId input : op.inputs) {
      from.insert(computed_[input].begin(), computed_[input].end());
      const bool mine =
          order_.PlaceOf(stages::SentTensor(order_, input, place.program)).program == place.program;
      (mine ? own : others) = true;
    }
    const bool meets = own && others;
    const bool forward = std::any_of(from.begin(), from.end(),
                                     [](const Origin& origin) { return !origin.second.backward; });
    if (meets && forward && (!pass.has_value() || !pass->backward)) {
      JoinCollective(op, place.program);
    }
    std::vector<Origin> made;
    if (pass.has_value()) {
      made = {{place.program, *pass}};
      for (const Origin& origin : from) {
        if (origin.first == place.program || meets) continue;
        flows_.try_emplace({origin, made[0]}, static_cast<sdfg::OperatorId>(id));
      }
    } else {
      for (const Origin& origin : from) {
        if (!meets || origin.first == place.program) made.push_back(origin);
      }
    }
    for (TensorId output : op.outputs) {
      if (output != kNone) computed_[output] = made;
    }
  }
}

// Along the forward passes of the first chunks.
bool PipelineStages::NumberStages() {
  std::map<size_t, std::set<size_t>> next;
  std::vector<int> before(component_.size(), 0);
  for (const auto& [flow, op] : flows_) {
    const auto& [from, to] = flow;
    if (from.second != Pass{} || to.second != Pass{}) continue;
    const size_t a = Component(from.first);
    const size_t b = Component(to.first);
    before[b] += next[a].insert(b).second ? 1 : 0;
  }
  std::vector<size_t> ready;
  for (size_t p = 0; p < component_.size(); ++p) {
    if (Component(p) == p && before[p] == 0) ready.push_back(p);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    const size_t at = ready[i];
    stages_ = std::max(stages_, stage_[at] + 1);
    for (size_t follower : next[at]) {
      stage_[follower] = std::max(stage_[follower], stage_[at] + 1);
      if (--before[follower] == 0) ready.push_back(follower);
    }
  }
  for (size_t p = 0; p < component_.size(); ++p) {
    if (Component(p) != p || before[p] == 0) continue;
    return Fail(p, "is no pipeline stage: its phase F0 receives from itself through others");
  }
  return true;
}

// Values flow down the pipeline in forward passes, and up in backward passes.
bool PipelineStages::CheckFlows() {
  for (const auto& [flow, op] : flows_) {
    const auto& [from, to] = flow;
    if (Component(from.first) == Component(to.first) &&
        from.second.backward == to.second.backward && from.second.chunk == to.second.chunk) {
      continue;
    }
    const int64_t a = Rank(from);
    const int64_t b = Rank(to);
    bool right = false;
    if (!from.second.backward) {
      right = to.second.backward ? a != b || Component(from.first) == Component(to.first) : a < b;
    } else {
      right = to.second.backward && a > b;
    }
    if (right) continue;
    const char* remedy = !from.second.backward && to.second.backward
                             ? "; what a forward pass needs of another one, it receives itself"
                             : "";
    return Fail(
        to.first,
        absl::StrCat("reads in its phase ", TextOf(to.second), " (",
                     order_.OperatorText(graph_.operators[op]), ") what program ",
                     Quoted(from.first), " computes in its phase ", TextOf(from.second),
                     ", which does not come from the ", to.second.backward ? "next" : "previous",
                     " stages of a pipeline (", stages_, stages_ == 1 ? " stage" : " stages",
                     " by what F0 reads)", remedy));
  }
  return true;
}

}  // namespace planproof::strategy
