// Rule "moments_linear".
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_format.h"
#include "monitor/laws/facts.h"
#include "monitor/laws/law_of_each_rank.h"
#include "monitor/laws/laws.h"
#include "monitor/laws/rounding.h"
#include "monitor/laws/update_options.h"

namespace planproof::monitor {
namespace {

constexpr char kLinearRule[] = "moments_linear";

// after = of_before * before + of_gradient * gradient + of_parameter * parameter.
struct Combination {
  TensorSet set = TensorSet::kOther;
  const char* name = "";
  double of_before = 0, of_gradient = 0, of_parameter = 0;
};

Combination CombinationOf(const UpdateOptions& options, bool first) {
  const double sign = options.maximize ? -1 : 1;
  const double decay = options.decoupled ? 0 : options.weight_decay;
  Combination combination;
  double rest = 1;
  if (options.kind == OptimizerKind::kSgd) {
    combination = {.set = TensorSet::kMomentumBuffer,
                   .name = "momentum_buffer",
                   .of_before = options.momentum};
    rest = first ? 1 : 1 - options.dampening;
  } else {
    combination = {.set = TensorSet::kExpAvg, .name = "exp_avg", .of_before = options.beta1};
    rest = 1 - options.beta1;
  }
  combination.of_gradient = sign * rest;
  combination.of_parameter = decay * rest;
  return combination;
}

struct LinearFacts {
  SetFacts parameter, gradient, momentum, momentum_after, mean, mean_after;
};

class MomentsLinear : public LawOfEachRank {
 private:
  void ObserveRank(const Header& header, const StepOfRank& step, Findings* findings) override;
  static void CompareTensor(const Header& header, const StepOfRank& step, const LinearFacts& facts,
                            const TensorFact& gradient, const UpdateOptions& options,
                            Findings* findings);
  std::map<int, bool> scaled_;  // by rank: a loss scale other than 1 was seen
};

void MomentsLinear::CompareTensor(const Header& header, const StepOfRank& step,
                                  const LinearFacts& facts, const TensorFact& gradient,
                                  const UpdateOptions& options, Findings* findings) {
  const std::string& name = gradient.tensor->name;
  const bool sgd = options.kind == OptimizerKind::kSgd;
  const TensorFact* before = (sgd ? facts.momentum : facts.mean).Find(name);
  const TensorFact* after = (sgd ? facts.momentum_after : facts.mean_after).Find(name);
  const TensorFact* parameter = facts.parameter.Find(name);
  if (after == nullptr || parameter == nullptr || !after->finite || !gradient.finite ||
      !parameter->finite || (before != nullptr && !before->finite)) {
    return;
  }
  const Combination c = CombinationOf(options, before == nullptr);
  const double old_norm = before == nullptr ? 0 : std::abs(c.of_before) * before->norm;
  const double norm = old_norm + std::abs(c.of_gradient) * gradient.norm +
                      std::abs(c.of_parameter) * parameter->norm + after->norm;
  const int bits = gradient.tensor->significand_bits;
  const double tolerance = SketchError(*gradient.tensor, norm, 2 * UnitRoundoff(bits)) +
                           SmallestNormal(bits) * static_cast<double>(gradient.tensor->local);
  ++findings->checked[static_cast<int>(Tier::kLaw)];
  for (int k = 0; k < kSketches; ++k) {
    const double expected = (before == nullptr ? 0 : c.of_before * before->sketches[k]) +
                            c.of_gradient * gradient.sketches[k] +
                            c.of_parameter * parameter->sketches[k];
    if (std::abs(expected - after->sketches[k]) <= tolerance) continue;
    Alarm alarm = LawAlarm(
        kLinearRule, step.step, header, name,
        absl::StrFormat("%s after the step is %g times that before, and %g times the gradient; a "
                        "weighted sum of its elements says otherwise",
                        c.name, c.of_before, c.of_gradient));
    alarm.expected = expected;
    alarm.found = after->sketches[k];
    alarm.tolerance = tolerance;
    findings->alarms.push_back(std::move(alarm));
    return;
  }
}

void MomentsLinear::ObserveRank(const Header& header, const StepOfRank& step, Findings* findings) {
  bool& scaled = scaled_[header.rank];
  for (const Event& event : step.events)
    scaled = scaled || (event.type == EventType::kLossScale && event.a != 1);
  if (!step.sampled || step.left_out || StateIsReplaced(step) ||
      HasEvent(step, EventType::kStepLeftOut) || HasClosure(step)) {
    return;
  }
  const LinearFacts facts{.parameter = {step, Moment::kBefore, TensorSet::kParameter},
                          .gradient = {step, Moment::kBefore, TensorSet::kGradient},
                          .momentum = {step, Moment::kBefore, TensorSet::kMomentumBuffer},
                          .momentum_after = {step, Moment::kAfter, TensorSet::kMomentumBuffer},
                          .mean = {step, Moment::kBefore, TensorSet::kExpAvg},
                          .mean_after = {step, Moment::kAfter, TensorSet::kExpAvg}};
  const auto updates = UpdatesOfStep(header, step);
  for (const TensorFact& gradient : facts.gradient.all()) {
    const auto update = updates.find(gradient.tensor->name);
    if (update == updates.end() || gradient.tensor->significand_bits < 8) continue;
    if (scaled && update->second.fused) continue;  // the kernel unscales
    if (update->second.kind == OptimizerKind::kSgd && update->second.momentum == 0) continue;
    CompareTensor(header, step, facts, gradient, update->second, findings);
  }
}

}  // namespace

std::unique_ptr<Judge> MomentsLinearLaw() { return std::make_unique<MomentsLinear>(); }

}  // namespace planproof::monitor
