// Rules "gradients_reduced" and "gradients_averaged".
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "monitor/laws/laws.h"
#include "monitor/laws/replicas.h"
#include "monitor/laws/rounding.h"

namespace planproof::monitor {
namespace {

constexpr char kReducedRule[] = "gradients_reduced";
constexpr char kAveragedRule[] = "gradients_averaged";
// The gradient is a multiple of the mean, up to this share; and not the mean itself.
constexpr double kShareBesides = 0.1;
constexpr double kOtherFactor = 0.2;
// Sketches whose squares add up to less than this of what their tensor's norm makes expected say
// little of a factor.
constexpr double kLeastSketch = 0.05;

// Before clipping where they are clipped.
FactsOfRanks ReducedGradients(const StepOfRun& step) {
  FactsOfRanks facts = FactsAt(step, Moment::kBefore, TensorSet::kGradient);
  for (auto& [rank, clipped] : FactsAt(step, Moment::kClip, TensorSet::kGradient))
    if (!clipped.empty()) facts.insert_or_assign(rank, clipped);
  return facts;
}

struct Factor {
  bool known = false;
  double value = 0;
};

// By which the gradient is a multiple of the mean of contributions.
Factor FactorOfMean(const TensorFact& gradient, const std::vector<const TensorFact*>& parts) {
  std::array<double, kSketches> mean{};
  for (const TensorFact* part : parts) {
    for (int k = 0; k < kSketches; ++k)
      mean[k] += part->sketches[k] / static_cast<double>(parts.size());
  }
  double product = 0, square = 0, of_gradient = 0;
  for (int k = 0; k < kSketches; ++k) {
    product += gradient.sketches[k] * mean[k];
    square += mean[k] * mean[k];
    of_gradient += gradient.sketches[k] * gradient.sketches[k];
  }
  const double usual =
      kSketches * SketchSquare(gradient.tensor->of.size()) * gradient.norm * gradient.norm;
  if (!(of_gradient > kLeastSketch * usual) || square == 0) return {};
  const double factor = product / square;
  double besides = 0;
  for (int k = 0; k < kSketches; ++k) {
    const double rest = gradient.sketches[k] - factor * mean[k];
    besides += rest * rest;
  }
  return {besides <= kShareBesides * kShareBesides * of_gradient, factor};
}

class GradientsReduced : public Judge {
 public:
  explicit GradientsReduced(std::shared_ptr<ReplicaTrouble> trouble)
      : trouble_(std::move(trouble)) {}
  void Begin(const Run&, Findings*) override {}
  void Observe(const Run& run, const StepOfRun& step, Findings* findings) override {
    for (const auto& [rank, facts] : step.ranks) {
      for (const Event& event : facts->events) {
        if (event.type == EventType::kLossScale && std::isfinite(event.a)) scale_ = event.a;
      }
    }
    if (!IsReplicated(run, step)) return;
    const FactsOfRanks gradients = ReducedGradients(step);
    if (CompareGradients(step, gradients, findings)) CompareMean(step, gradients, findings);
  }
  void End(const Run&, Findings*) override {}

 private:
  // Whether replicas have one gradient.
  bool CompareGradients(const StepOfRun& step, const FactsOfRanks& gradients, Findings* findings);
  void CompareMean(const StepOfRun& step, const FactsOfRanks& gradients, Findings* findings);

  std::shared_ptr<ReplicaTrouble> trouble_;
  double scale_ = 1;  // of the loss
  std::string told_;  // the tensor by which it was told that gradients are no mean
};

bool GradientsReduced::CompareGradients(const StepOfRun& step, const FactsOfRanks& gradients,
                                        Findings* findings) {
  int64_t compared = 0;
  const auto differences = CompareReplicas(gradients, &compared);
  findings->checked[static_cast<int>(Tier::kLaw)] += compared;
  if (differences.empty()) return true;
  // Parameters that differ make gradients of different ranks differ, but not after the reduction:
  // gradients that differ are a trouble of their own, and the one that the others follow from.
  trouble_->explained = true;
  const bool all = static_cast<int64_t>(differences.size()) == compared;
  for (const ReplicaDifference& difference : differences) {
    Alarm alarm = LawAlarmOfRanks(
        kReducedRule, step.step, {difference.other, difference.rank}, difference.fact->tensor->name,
        absl::StrFormat(
            "replicas have one gradient, the all_reduce of what each contributes; rank %d's has "
            "the norm %.9g, rank %d's %.9g%s",
            difference.rank, difference.fact->norm, difference.other,
            difference.fact_of_other->norm, all ? " (no gradient was reduced)" : ""));
    alarm.expected = difference.fact_of_other->norm;
    alarm.found = difference.fact->norm;
    findings->alarms.push_back(std::move(alarm));
  }
  return false;
}

void GradientsReduced::CompareMean(const StepOfRun& step, const FactsOfRanks& gradients,
                                   Findings* findings) {
  for (const auto& [rank, facts] : step.ranks)
    if (CountEvents(*facts, EventType::kBackward) != 1) return;
  const FactsOfRanks contributions = FactsAt(step, Moment::kBackward, TensorSet::kContribution);
  const SetFacts& first = gradients.begin()->second;
  for (const TensorFact& gradient : first.all()) {
    std::vector<const TensorFact*> parts;
    for (const auto& [rank, facts] : contributions) {
      const TensorFact* part = facts.Find(gradient.tensor->name);
      if (part != nullptr && part->finite) parts.push_back(part);
    }
    if (parts.size() != step.ranks.size() || !gradient.finite || gradient.norm == 0) continue;
    const Factor factor = FactorOfMean(gradient, parts);
    if (!factor.known) continue;
    ++findings->checked[static_cast<int>(Tier::kLaw)];
    if (std::abs(factor.value - 1) <= kOtherFactor ||
        std::abs(factor.value * scale_ - 1) <= kOtherFactor) {
      continue;
    }
    Alarm alarm = LawAlarmOfRanks(
        kAveragedRule, step.step, {}, gradient.tensor->name,
        absl::StrFormat("the gradient is the mean of what %d ranks contribute; it is %.4g times "
                        "that (%d would be their sum)",
                        parts.size(), factor.value, parts.size()));
    // A few tensors have contributions in each step, others in the next: it is one alarm.
    if (told_.empty()) told_ = gradient.tensor->name;
    if (told_ != alarm.subject) alarm.others.push_back(std::exchange(alarm.subject, told_));
    alarm.expected = 1;
    alarm.found = factor.value;
    alarm.tolerance = kOtherFactor;
    findings->alarms.push_back(std::move(alarm));
  }
}

}  // namespace

std::unique_ptr<Judge> GradientsReducedLaw(std::shared_ptr<ReplicaTrouble> trouble) {
  return std::make_unique<GradientsReduced>(std::move(trouble));
}

}  // namespace planproof::monitor
