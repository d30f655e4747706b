// Rule "moments_continue".
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "monitor/journal/words.h"
#include "monitor/laws/last_facts.h"
#include "monitor/laws/law_of_each_rank.h"
#include "monitor/laws/laws.h"

namespace planproof::monitor {
namespace {

constexpr char kContinueRule[] = "moments_continue";

class MomentsContinue : public LawOfEachRank {
 private:
  struct RankStates {
    std::map<std::string, KeptFacts> states;  // by the state's name
    std::map<std::string, double> counts;     // steps by tensor's name
  };

  void ObserveRank(const Header& header, const StepOfRank& step, Findings* findings) override;
  static void CompareState(const Header& header, const StepOfRank& step, const std::string& state,
                           const KeptFacts& last, Findings* findings);
  static void CompareCounts(const Header& header, const StepOfRank& step,
                            const std::map<std::string, double>& last, Findings* findings);
  static void Remember(const StepOfRank& step, RankStates* states);

  std::map<int, RankStates> ranks_;
};

std::set<absl::string_view> Replaced(const StepOfRank& step) {
  std::set<absl::string_view> names;
  for (const Event& event : step.events) {
    if (event.type == EventType::kParameterChanged && event.subject != nullptr)
      names.insert(*event.subject);
  }
  return names;
}

void MomentsContinue::CompareState(const Header& header, const StepOfRank& step,
                                   const std::string& state, const KeptFacts& last,
                                   Findings* findings) {
  const SetFacts now(step, Moment::kBefore, SetFromWord(state), state);
  const SetFacts parameters(step, Moment::kBefore, TensorSet::kParameter);
  const std::set<absl::string_view> replaced = Replaced(step);
  for (const TensorFact& parameter : parameters.all()) {
    const std::string& name = parameter.tensor->name;
    const auto before = last.find(name);
    if (before == last.end() || replaced.contains(name) || parameter.tensor->optimizers.empty())
      continue;
    const TensorFact* fact = now.Find(name);
    ++findings->checked[static_cast<int>(Tier::kLaw)];
    if (fact != nullptr && fact->fingerprint == before->second.fingerprint) continue;
    Alarm alarm = LawAlarm(
        kContinueRule, step.step, header, name,
        fact == nullptr
            ? absl::StrCat("the optimizer finds its ", state, " of the step before; it is gone")
            : absl::StrFormat("the optimizer finds its %s of the step before (norm %.9g); it is "
                              "another one (norm %.9g), and nothing was loaded",
                              state, before->second.norm, fact->norm));
    alarm.expected = before->second.norm;
    if (fact != nullptr) alarm.found = fact->norm;
    findings->alarms.push_back(std::move(alarm));
  }
}

void MomentsContinue::CompareCounts(const Header& header, const StepOfRank& step,
                                    const std::map<std::string, double>& last, Findings* findings) {
  for (const auto& [name, fact] : ElementsOf(step, Moment::kBefore, TensorSet::kStepCount)) {
    const auto before = last.find(std::string(name));
    if (before == last.end() || fact.ambiguous || !std::isfinite(fact.value)) continue;
    ++findings->checked[static_cast<int>(Tier::kLaw)];
    if (fact.value >= before->second) continue;
    Alarm alarm = LawAlarm(kContinueRule, step.step, header, name,
                           absl::StrFormat("the optimizer counts its steps on; it had %g and is at "
                                           "%g, and nothing was loaded",
                                           before->second, fact.value));
    alarm.expected = before->second;
    alarm.found = fact.value;
    findings->alarms.push_back(std::move(alarm));
  }
}

void MomentsContinue::Remember(const StepOfRank& step, RankStates* states) {
  for (const std::string& state : StatesOf(step, Moment::kAfter)) {
    const SetFacts facts(step, Moment::kAfter, SetFromWord(state), state);
    KeptFacts& kept = states->states[state];
    for (const TensorFact& fact : facts.all()) kept[fact.tensor->name] = Kept(fact);
  }
  for (const auto& [name, fact] : ElementsOf(step, Moment::kAfter, TensorSet::kStepCount))
    if (!fact.ambiguous) states->counts[std::string(name)] = fact.value;
}

void MomentsContinue::ObserveRank(const Header& header, const StepOfRank& step,
                                  Findings* findings) {
  RankStates& states = ranks_[header.rank];
  if (HasEvent(step, EventType::kStateLoaded)) states = RankStates();
  for (const auto& [state, last] : states.states) CompareState(header, step, state, last, findings);
  CompareCounts(header, step, states.counts, findings);
  // Without values the optimizer has changed what was recorded.
  if (!step.sampled && HasEvent(step, EventType::kOptimizerEnds)) states.states.clear();
  Remember(step, &states);
}

}  // namespace

std::unique_ptr<Judge> MomentsContinueLaw() { return std::make_unique<MomentsContinue>(); }

}  // namespace planproof::monitor
