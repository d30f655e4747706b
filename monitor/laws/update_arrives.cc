// Rule "update_arrives".
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "monitor/laws/facts.h"
#include "monitor/laws/law_of_each_rank.h"
#include "monitor/laws/laws.h"
#include "monitor/laws/rounding.h"
#include "monitor/laws/update_options.h"

namespace planproof::monitor {
namespace {

constexpr char kArrivesRule[] = "update_arrives";
// So many elements are expected to change before that none does is an alarm.
constexpr double kLeastChanges = 100;
// Adam changes an element by about the learning rate, unless gradients of changing sign cancel.
constexpr double kLeastShareOfRate = 0.01;
// Gradients much above epsilon: below, Adam's steps are shorter than the learning rate.
constexpr double kEpsilons = 100;

// What a step should have changed.
struct Expected {
  std::map<std::string, uint64_t> bits;  // of parameters with a gradient, before the step
  double changes = 0;                    // of elements that are expected, at least
};

// Smallest positive learning rate of an optimizer; 0 if it has none.
double RateOf(const StepOfRank& step, int32_t optimizer, double* epsilon) {
  double least = 0;
  for (const OptimizerOptions& options : step.options) {
    if (options.optimizer != optimizer) continue;
    for (const ParameterGroup& group : options.groups) {
      const double rate = LearningRate(group);
      if (rate > 0 && (least == 0 || rate < least)) least = rate;
      const auto update = ReadUpdateOptions(OptimizerKind::kAdam, group);
      if (update.has_value()) *epsilon = std::max(*epsilon, update->epsilon);
    }
  }
  return least;
}

// How many elements a step changes, about: an element changes if its update is not below half of
// its last place, or with that probability where small updates are collected elsewhere.
double ChangesOf(const TensorFact& parameter, const TensorFact& gradient, OptimizerKind kind,
                 double rate, double epsilon) {
  const double elements = static_cast<double>(parameter.tensor->local);
  const double place =
      2 * UnitRoundoff(parameter.tensor->significand_bits) * parameter.norm / std::sqrt(elements);
  double update = rate * gradient.norm / std::sqrt(elements);
  if (kind != OptimizerKind::kSgd) {
    if (gradient.norm / std::sqrt(elements) < kEpsilons * epsilon) return 0;
    update = kLeastShareOfRate * rate;
  }
  return place > 0 ? elements * std::min(1.0, update / place) : elements;
}

class UpdateArrives : public LawOfEachRank {
 private:
  void ObserveRank(const Header& header, const StepOfRank& step, Findings* findings) override;
  static Expected ExpectedOf(const Header& header, const StepOfRank& step);

  std::map<int, Expected> ranks_;
};

Expected UpdateArrives::ExpectedOf(const Header& header, const StepOfRank& step) {
  Expected expected;
  if (step.left_out || HasEvent(step, EventType::kStepLeftOut) || HasClosure(step) ||
      !HasEvent(step, EventType::kOptimizerEnds) ||
      header.optimizers.size() !=
          static_cast<size_t>(CountEvents(step, EventType::kOptimizerEnds))) {
    return expected;
  }
  const SetFacts parameters(step, Moment::kBefore, TensorSet::kParameter);
  const SetFacts gradients(step, Moment::kBefore, TensorSet::kGradient);
  for (const TensorFact& gradient : gradients.all()) {
    if (!gradient.finite) return {};  // a loss scaler's step may do nothing
    const TensorFact* parameter = parameters.Find(gradient.tensor->name);
    if (parameter == nullptr || !parameter->finite || gradient.norm == 0 ||
        parameter->tensor->optimizers.size() != 1 || parameter->tensor->significand_bits == 0) {
      continue;
    }
    const int32_t optimizer = parameter->tensor->optimizers[0];
    if (optimizer < 0 || static_cast<size_t>(optimizer) >= header.optimizers.size()) continue;
    const OptimizerKind kind = header.optimizers[static_cast<size_t>(optimizer)].kind;
    double epsilon = 0;
    const double rate = RateOf(step, optimizer, &epsilon);
    if (kind == OptimizerKind::kOther || !(rate > 0)) continue;
    expected.changes += ChangesOf(*parameter, gradient, kind, rate, epsilon);
    expected.bits.emplace(parameter->tensor->name, parameter->fingerprint);
  }
  return expected;
}

void UpdateArrives::ObserveRank(const Header& header, const StepOfRank& step, Findings* findings) {
  const Expected expected = ranks_[header.rank];
  const SetFacts now(step, Moment::kBefore, TensorSet::kParameter);
  if (now.empty()) {
    if (StateIsReplaced(step)) ranks_.erase(header.rank);
    return;
  }
  std::vector<std::string> unchanged;
  bool changed = StateIsReplaced(step);
  for (const TensorFact& fact : now.all()) {
    const auto before = expected.bits.find(fact.tensor->name);
    if (before == expected.bits.end()) continue;
    if (before->second != fact.fingerprint) changed = true;
    unchanged.push_back(fact.tensor->name);
  }
  if (expected.changes >= kLeastChanges && !unchanged.empty()) {
    ++findings->checked[static_cast<int>(Tier::kLaw)];
    if (!changed) {
      Alarm alarm = LawAlarm(
          kArrivesRule, step.step, header, unchanged.front(),
          absl::StrCat("the optimizer's step changes the model; none of the ", unchanged.size(),
                       " parameters with a gradient has changed since the last sampled step"));
      alarm.others.assign(unchanged.begin() + 1, unchanged.end());
      findings->alarms.push_back(std::move(alarm));
    }
  }
  ranks_[header.rank] = ExpectedOf(header, step);
}

}  // namespace

std::unique_ptr<Judge> UpdateArrivesLaw() { return std::make_unique<UpdateArrives>(); }

}  // namespace planproof::monitor
