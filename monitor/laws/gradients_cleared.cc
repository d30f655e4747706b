// Rule "gradients_cleared".
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "monitor/laws/facts.h"
#include "monitor/laws/laws.h"

namespace planproof::monitor {
namespace {

constexpr char kClearedRule[] = "gradients_cleared";

// What happens before a step's first backward.
struct BeforeBackward {
  bool cleared = false;
  int64_t left_over = 0;  // gradients that the first forward finds
  bool backward = false;  // there is one
};

BeforeBackward FactsBeforeBackward(const StepOfRank& step) {
  BeforeBackward facts;
  bool forward = false;
  for (const Event& event : step.events) {
    if (event.type == EventType::kZeroGrad) facts.cleared = true;
    if (event.type == EventType::kBackward) {
      facts.backward = true;
      return facts;
    }
    const bool model = event.type == EventType::kForwardBegins &&
                       (event.subject == nullptr || event.subject->empty());
    if (!model || (event.flags & kGradientsEnabled) == 0) continue;
    // A later forward that finds fewer says that something else has cleared them.
    if (!forward || event.c < facts.left_over) facts.left_over = event.c;
    forward = true;
  }
  return facts;
}

// A gradient has the bits of what its only backward computed: it was not added to anything.
bool IsOneContribution(const StepOfRank& step) {
  if (CountEvents(step, EventType::kBackward) != 1) return false;
  const SetFacts contributions(step, Moment::kBackward, TensorSet::kContribution);
  SetFacts gradients(step, Moment::kClip, TensorSet::kGradient);
  if (gradients.empty()) gradients = SetFacts(step, Moment::kBefore, TensorSet::kGradient);
  for (const TensorFact& fact : contributions.all()) {
    const TensorFact* gradient = gradients.Find(fact.tensor->name);
    if (gradient != nullptr && fact.norm > 0 && gradient->fingerprint == fact.fingerprint)
      return true;
  }
  return false;
}

class GradientsCleared : public Judge {
 public:
  void Begin(const Run&, Findings*) override {}
  void Observe(const Run& run, const StepOfRun& step, Findings* findings) override {
    for (const auto& [rank, facts] : step.ranks) {
      bool& stepped = stepped_before_[rank];
      const BeforeBackward before = FactsBeforeBackward(*facts);
      if (stepped && before.backward) {
        ++findings->checked[static_cast<int>(Tier::kLaw)];
        if (!before.cleared && before.left_over > 0 && !IsOneContribution(*facts))
          Raise(run.headers.at(rank), *facts, before.left_over, findings);
      }
      stepped = HasEvent(*facts, EventType::kOptimizerEnds) && !facts->left_out &&
                !ClearedAfterStep(*facts);
    }
  }
  void End(const Run&, Findings*) override {}

 private:
  // Where the same optimizer's step ends before another one's, gradients may be cleared between.
  static bool ClearedAfterStep(const StepOfRank& step) {
    bool ended = false;
    for (const Event& event : step.events) {
      if (event.type == EventType::kOptimizerEnds) ended = true;
      if (event.type == EventType::kZeroGrad && ended) return true;
    }
    return false;
  }
  static void Raise(const Header& header, const StepOfRank& step, int64_t left_over,
                    Findings* findings) {
    Alarm alarm = LawAlarm(
        kClearedRule, step.step, header, "zero_grad",
        absl::StrCat(
            "gradients of the last step are cleared before the next backward (zero_grad); ",
            left_over, " parameters still have theirs, and the backward adds to them"));
    alarm.expected = 0;
    alarm.found = static_cast<double>(left_over);
    findings->alarms.push_back(std::move(alarm));
  }

  std::map<int, bool> stepped_before_;  // by rank: the last step was an optimizer's
};

}  // namespace

std::unique_ptr<Judge> GradientsClearedLaw() { return std::make_unique<GradientsCleared>(); }

}  // namespace planproof::monitor
