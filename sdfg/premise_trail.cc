#include "sdfg/premise_trail.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace planproof::sdfg {

PremiseTrails::PremiseTrails(solver::Arena* arena) : arena_(*arena) {
  arena_.SetPremiseListener(this);
}

PremiseTrails::~PremiseTrails() { arena_.SetPremiseListener(nullptr); }

PremiseTrails::Scope::Scope(PremiseTrails* trails) : trails_(*trails), around_(trails->innermost_) {
  trails_.innermost_ = this;
}

PremiseTrails::Scope::~Scope() {
  trails_.innermost_ = around_;
  if (around_ == nullptr) return;
  around_->steps_.insert(around_->steps_.end(), steps_.begin(), steps_.end());
  around_->in_branch_ |= in_branch_;
}

PremiseTrails::Id PremiseTrails::Scope::Finish() {
  if (steps_.empty() && !in_branch_) return kNothing;
  // What reads one element, and meets nothing itself, meets what that one met.
  const auto differs = [this](const Step& step) { return !(step == steps_[0]); };
  if (!steps_.empty() && steps_[0].trail != kNothing &&
      trails_.trails_[steps_[0].trail].in_branch == in_branch_ &&
      std::none_of(steps_.begin(), steps_.end(), differs)) {
    return steps_[0].trail;
  }
  Trail trail;
  trail.in_branch = in_branch_;
  trail.walked = trails_.arena_.premise_epoch();
  constexpr size_t kFew = 8;
  absl::flat_hash_set<Step> seen;
  for (const Step& step : steps_) {
    const bool fresh = steps_.size() > kFew ? seen.insert(step).second
                                            : std::find(trail.steps.begin(), trail.steps.end(),
                                                        step) == trail.steps.end();
    if (fresh) trail.steps.push_back(step);
  }
  const Id id = static_cast<Id>(trails_.trails_.size());
  trails_.trails_.push_back(std::move(trail));
  steps_.assign(1, Step{.trail = id, .source = {}});
  return id;
}

void PremiseTrails::Met(solver::PremiseKind kind, solver::PolyId poly,
                        solver::PremiseSource source) {
  if (innermost_ == nullptr || walking_) return;
  innermost_->steps_.push_back({.kind = kind, .poly = poly, .source = source});
}

void PremiseTrails::MeetInBranch() {
  in_branch_ = true;
  if (innermost_ != nullptr) innermost_->in_branch_ = true;
}

void PremiseTrails::MeetAgain(Id trail) {
  if (trail == kNothing) return;
  if (trails_[trail].in_branch) MeetInBranch();
  if (innermost_ != nullptr) innermost_->steps_.push_back(Step{.trail = trail, .source = {}});
  const solver::PremiseSource before = arena_.premise_source();
  walking_ = true;
  Walk(trail);
  walking_ = false;
  arena_.SetPremiseSource(before);
}

void PremiseTrails::Walk(Id first) {
  const uint64_t epoch = arena_.premise_epoch();
  std::vector<std::pair<Id, size_t>> path;  // trails, and how far they were walked
  const auto enter = [&](Id trail) {
    if (trails_[trail].walked == epoch) return;
    trails_[trail].walked = epoch;
    path.emplace_back(trail, 0);
  };
  enter(first);
  while (!path.empty()) {
    auto& [trail, at] = path.back();
    if (at == trails_[trail].steps.size()) {
      path.pop_back();
      continue;
    }
    const Step step = trails_[trail].steps[at++];
    if (step.trail != kNothing) {
      enter(step.trail);
      continue;
    }
    arena_.SetPremiseSource(step.source);
    arena_.RecordPremise(step.kind, step.poly);
  }
}

}  // namespace planproof::sdfg
