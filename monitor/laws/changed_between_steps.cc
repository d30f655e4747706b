// Rules "changed_between_steps" and "initialised_again": parameters between the end of one step and
// the optimizer's next.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "monitor/laws/last_facts.h"
#include "monitor/laws/law_of_each_rank.h"
#include "monitor/laws/laws.h"

namespace planproof::monitor {
namespace {

constexpr char kChangedRule[] = "changed_between_steps";
constexpr char kAgainRule[] = "initialised_again";
// This share of the tensors that training changes: all of them, as a checkpoint or an average does.
constexpr double kShareOfAll = 0.75;
// Squared distance of old and new parameters by the sum of their squared norms: 1 for tensors that
// have nothing to do with one another, near 0 for an average or a step back.
constexpr double kUnrelated = 0.25;

struct Change {
  const TensorFact* fact = nullptr;
  const KeptFact* before = nullptr;
};

struct RankParameters {
  KeptFacts last;                            // after the last step
  KeptFacts initial;                         // at the first step that was seen
  std::set<std::string, std::less<>> quiet;  // seen unchanged between two steps
};

class ChangedBetweenSteps : public LawOfEachRank {
 private:
  void ObserveRank(const Header& header, const StepOfRank& step, Findings* findings) override;
  static void Compare(const Header& header, const StepOfRank& step, RankParameters* rank,
                      Findings* findings);
  static void JudgeAll(const Header& header, const StepOfRank& step, const RankParameters& rank,
                       const std::vector<Change>& changes, Findings* findings);
  static void Remember(const StepOfRank& step, RankParameters* rank);

  std::map<int, RankParameters> ranks_;
};

// The parameters as the optimizer finds them: averages that were swapped in for an evaluation are
// swapped out again.
SetFacts Found(const StepOfRank& step) { return {step, Moment::kBefore, TensorSet::kParameter}; }

void ChangedBetweenSteps::Remember(const StepOfRank& step, RankParameters* rank) {
  const SetFacts found = Found(step);
  const SetFacts after(step, Moment::kAfter, TensorSet::kParameter);
  if (rank->initial.empty())
    for (const TensorFact& fact : found.all()) rank->initial[fact.tensor->name] = Kept(fact);
  // Without values the optimizer has changed what was recorded.
  if (after.empty() && HasEvent(step, EventType::kOptimizerEnds)) rank->last.clear();
  for (const TensorFact& fact : after.all()) {
    if (fact.tensor->buffer) continue;
    const auto before = rank->last.find(fact.tensor->name);
    KeptFact kept = Kept(fact);
    const TensorFact* own = found.Find(fact.tensor->name);
    if (own != nullptr) {
      kept.moved = own->fingerprint != fact.fingerprint;
    } else {
      kept.moved = before != rank->last.end() ? before->second.moved : fact.tensor->trainable;
    }
    rank->last.insert_or_assign(fact.tensor->name, kept);
  }
}

bool IsInitial(const KeptFacts& initial, const std::vector<Change>& changes) {
  return std::all_of(changes.begin(), changes.end(), [&](const Change& change) {
    const auto start = initial.find(change.fact->tensor->name);
    return start != initial.end() && start->second.fingerprint == change.fact->fingerprint;
  });
}

void ChangedBetweenSteps::JudgeAll(const Header& header, const StepOfRank& step,
                                   const RankParameters& rank, const std::vector<Change>& changes,
                                   Findings* findings) {
  double distance = 0, norms = 0;
  const TensorFact* first = nullptr;
  for (const Change& change : changes) {
    if (!change.before->matrix || !change.before->finite || !change.fact->finite) continue;
    if (first == nullptr) first = change.fact;
    distance += SquaredDistance(*change.before, *change.fact);
    norms += change.before->norm * change.before->norm + change.fact->norm * change.fact->norm;
  }
  const bool initial = IsInitial(rank.initial, changes);
  if (first == nullptr) first = changes.front().fact;
  const bool unrelated = norms > 0 && distance > kUnrelated * norms;
  const bool explained =
      HasEvent(step, EventType::kStateLoaded) || HasEvent(step, EventType::kAveraged);
  if (explained || (!initial && !unrelated)) {
    if (explained) return;
    findings->notices.push_back(
        {.kind = NoticeKind::kEvent,
         .rule = kChangedRule,
         .step = step.step,
         .subject = "parameters",
         .statement = "all are changed at once between two steps (a checkpoint, an average, or "
                      "copies in another type)"});
    return;
  }
  Alarm alarm = LawAlarm(
      kAgainRule, step.step, header, first->tensor->name,
      initial ? "parameters go on from the last step; all are those of the first step again"
              : absl::StrFormat("parameters go on from the last step; all are others, which have "
                                "nothing to do with them (distance %.2g of unrelated ones)",
                                distance / norms));
  for (const Change& change : changes) {
    if (change.fact != first) alarm.others.push_back(change.fact->tensor->name);
  }
  findings->alarms.push_back(std::move(alarm));
}

void ChangedBetweenSteps::Compare(const Header& header, const StepOfRank& step,
                                  RankParameters* rank, Findings* findings) {
  std::vector<Change> changes;
  int64_t moving = 0, moving_changed = 0;
  const SetFacts found = Found(step);
  for (const TensorFact& fact : found.all()) {
    const auto last = rank->last.find(fact.tensor->name);
    if (last == rank->last.end() || fact.tensor->buffer) continue;
    ++findings->checked[static_cast<int>(Tier::kLaw)];
    const bool changed = last->second.fingerprint != fact.fingerprint;
    moving += last->second.moved;
    moving_changed += last->second.moved && changed;
    if (changed) changes.push_back({&fact, &last->second});
  }
  const bool all = moving > 1 && moving_changed >= kShareOfAll * static_cast<double>(moving);
  if (all) {
    JudgeAll(header, step, *rank, changes, findings);
    return;
  }
  std::set<absl::string_view> names;
  for (const Change& change : changes) {
    const std::string& name = change.fact->tensor->name;
    names.insert(name);
    // What the optimizer has, and does not change itself, may be written from a copy elsewhere.
    const bool copied = !change.before->moved && change.fact->tensor->trainable &&
                        !change.fact->tensor->optimizers.empty();
    if (copied || !rank->quiet.contains(name) || HasEvent(step, EventType::kStateLoaded) ||
        HasEvent(step, EventType::kParameterChanged)) {
      continue;
    }
    Alarm alarm =
        LawAlarm(kChangedRule, step.step, header, name,
                 absl::StrFormat(
                     "only the optimizer changes a parameter; this one is changed between the "
                     "last step and this one (norm %.9g, was %.9g), as %d of %d are",
                     change.fact->norm, change.before->norm, changes.size(), found.all().size()));
    alarm.expected = change.before->norm;
    alarm.found = change.fact->norm;
    findings->alarms.push_back(std::move(alarm));
  }
  for (const TensorFact& fact : found.all()) {
    if (rank->last.contains(fact.tensor->name) && !names.contains(fact.tensor->name))
      rank->quiet.insert(fact.tensor->name);
  }
}

void ChangedBetweenSteps::ObserveRank(const Header& header, const StepOfRank& step,
                                      Findings* findings) {
  RankParameters& rank = ranks_[header.rank];
  if (!rank.last.empty()) Compare(header, step, &rank, findings);
  Remember(step, &rank);
}

}  // namespace

std::unique_ptr<Judge> ChangedBetweenStepsLaw() { return std::make_unique<ChangedBetweenSteps>(); }

}  // namespace planproof::monitor
