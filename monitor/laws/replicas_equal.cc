// Rule "replicas_equal".
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "monitor/laws/laws.h"
#include "monitor/laws/replicas.h"
#include "monitor/laws/rounding.h"

namespace planproof::monitor {
namespace {

constexpr char kReplicasRule[] = "replicas_equal";
// Of replicas that compute the same instead of sharing one result, as those of tensor parallelism
// do: kernels whose sums have no fixed order let them drift apart.
constexpr double kDrift = 0.01;

bool DriftedFar(const ReplicaDifference& difference) {
  const TensorFact& a = *difference.fact;
  const TensorFact& b = *difference.fact_of_other;
  if (!a.finite || !b.finite) return a.finite != b.finite;
  double square = 0;
  for (int k = 0; k < kSketches; ++k) {
    const double distance = a.sketches[k] - b.sketches[k];
    square += distance * distance / kSketches;
  }
  return std::sqrt(square / SketchSquare(a.tensor->of.size())) > kDrift * (a.norm + b.norm);
}

class ReplicasEqual : public Judge {
 public:
  explicit ReplicasEqual(std::shared_ptr<const ReplicaTrouble> trouble)
      : trouble_(std::move(trouble)) {}
  void Begin(const Run&, Findings*) override {}
  void Observe(const Run& run, const StepOfRun& step, Findings* findings) override {
    if (step.ranks.size() < 2) return;
    const bool replicated = IsReplicated(run, step);
    Compare(step, Moment::kBefore, "before", replicated, findings);
    if (replicated) Compare(step, Moment::kAfter, "after", replicated, findings);
  }
  void End(const Run&, Findings*) override {}

 private:
  void Compare(const StepOfRun& step, Moment moment, const char* when, bool replicated,
               Findings* findings) {
    const FactsOfRanks facts = FactsAt(step, moment, TensorSet::kParameter);
    const auto differences =
        CompareReplicas(facts, &findings->checked[static_cast<int>(Tier::kLaw)]);
    if (trouble_->explained) return;
    for (const ReplicaDifference& difference : differences) {
      const TensorFact& fact = *difference.fact;
      if (!replicated && !DriftedFar(difference)) {
        findings->notices.push_back({.kind = NoticeKind::kDifference,
                                     .rule = kReplicasRule,
                                     .subject = fact.tensor->name,
                                     .statement = "copies that ranks compute each for itself have "
                                                  "other bits, within rounding"});
        continue;
      }
      Alarm alarm = LawAlarmOfRanks(
          kReplicasRule, step.step, {difference.rank}, fact.tensor->name,
          absl::StrFormat("replicas have the same bits; %s the optimizer's step the parameter of "
                          "rank %d (norm %.9g) is not that of rank %d (norm %.9g)",
                          when, difference.rank, fact.norm, difference.other,
                          difference.fact_of_other->norm));
      alarm.expected = difference.fact_of_other->norm;
      alarm.found = fact.norm;
      alarm.tolerance = 0;
      findings->alarms.push_back(std::move(alarm));
    }
  }

  std::shared_ptr<const ReplicaTrouble> trouble_;
};

}  // namespace

std::unique_ptr<Judge> ReplicasEqualLaw(std::shared_ptr<const ReplicaTrouble> trouble) {
  return std::make_unique<ReplicasEqual>(std::move(trouble));
}

}  // namespace planproof::monitor
