// Rule "clipped_alike".
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "monitor/laws/laws.h"
#include "monitor/laws/replicas.h"

namespace planproof::monitor {
namespace {

constexpr char kAlikeRule[] = "clipped_alike";
// Of two ratios of norms: that of a gradient in bfloat16 is rounded by at most 2^-8 at each end.
constexpr double kToleranceOfFloat32 = 1e-3;
constexpr double kToleranceOfNarrow = 2e-2;
constexpr double kLeastNorm = 1e-18;  // whose square float32 still has

struct ClipFactor {
  double factor = 1;
  const HeldTensor* tensor = nullptr;
};

// Of each tensor, what clipping has multiplied its gradient by.
std::vector<ClipFactor> FactorsOf(const StepOfRank& step) {
  std::vector<ClipFactor> factors;
  const SetFacts before(step, Moment::kClip, TensorSet::kGradient);
  const SetFacts after(step, Moment::kBefore, TensorSet::kGradient);
  const bool clips = HasEvent(step, EventType::kClipByNorm);
  for (const TensorFact& fact : after.all()) {
    const TensorFact* unclipped = before.Find(fact.tensor->name);
    // Where the rank clips, but not this tensor, or twice, the factor is not known.
    if ((clips && unclipped == nullptr) || !fact.finite) continue;
    ClipFactor factor{.tensor = fact.tensor};
    if (unclipped != nullptr) {
      if (!unclipped->finite || !(unclipped->norm > kLeastNorm) || !(fact.norm > kLeastNorm))
        continue;
      factor.factor = fact.norm / unclipped->norm;
    }
    factors.push_back(factor);
  }
  return factors;
}

// Stages of a pipeline may have tensors of one name that are not one tensor: only what the
// framework says is in parts or copied is.
bool OfOneTensor(const HeldTensor& a, const HeldTensor& b) {
  return (!IsWhole(a) && !IsWhole(b)) || (!a.replicas.empty() && a.replicas == b.replicas);
}

class ClippedAlike : public Judge {
 public:
  explicit ClippedAlike(std::shared_ptr<ReplicaTrouble> trouble) : trouble_(std::move(trouble)) {}
  void Begin(const Run&, Findings*) override {}
  void Observe(const Run& run, const StepOfRun& step, Findings* findings) override {
    // Gradients that differ before they are clipped are told already.
    if (step.ranks.size() < 2 || trouble_->explained) return;
    CompareCalls(run, step, findings);
    CompareFactors(step, findings);
  }
  void End(const Run&, Findings*) override {}

 private:
  void CompareCalls(const Run& run, const StepOfRun& step, Findings* findings);
  void CompareFactors(const StepOfRun& step, Findings* findings);

  std::shared_ptr<ReplicaTrouble> trouble_;
};

// Ranks that train one model clip alike.
void ClippedAlike::CompareCalls(const Run& run, const StepOfRun& step, Findings* findings) {
  if (!IsReplicated(run, step)) return;
  std::vector<int> clip, do_not;
  for (const auto& [rank, facts] : step.ranks) {
    if (!HasEvent(*facts, EventType::kOptimizerEnds)) return;
    const bool clips =
        HasEvent(*facts, EventType::kClipByNorm) || HasEvent(*facts, EventType::kClipByValue);
    (clips ? clip : do_not).push_back(rank);
  }
  if (clip.empty()) return;
  ++findings->checked[static_cast<int>(Tier::kLaw)];
  if (do_not.empty()) return;
  trouble_->explained = true;
  findings->alarms.push_back(
      LawAlarmOfRanks(kAlikeRule, step.step, do_not, "clipping",
                      absl::StrCat("replicas clip their gradients alike; ", clip.size(), " of ",
                                   step.ranks.size(), " ranks clip them in this step")));
}

void ClippedAlike::CompareFactors(const StepOfRun& step, Findings* findings) {
  bool any = false;
  for (const auto& [rank, facts] : step.ranks) {
    if (HasEvent(*facts, EventType::kClipByValue)) return;  // element by element
    any = any || HasEvent(*facts, EventType::kClipByNorm);
  }
  if (!any) return;
  struct First {
    int rank = 0;
    ClipFactor factor;
  };
  absl::flat_hash_map<absl::string_view, First> first;
  for (const auto& [rank, facts] : step.ranks) {
    std::vector<Alarm> alarms;
    for (const ClipFactor& factor : FactorsOf(*facts)) {
      const std::string& name = factor.tensor->name;
      const auto [known, inserted] = first.try_emplace(name, First{rank, factor});
      if (inserted || !OfOneTensor(*factor.tensor, *known->second.factor.tensor)) continue;
      ++findings->checked[static_cast<int>(Tier::kLaw)];
      const double other = known->second.factor.factor;
      const double tolerance =
          factor.tensor->significand_bits >= 24 ? kToleranceOfFloat32 : kToleranceOfNarrow;
      if (std::abs(factor.factor - other) <= tolerance * std::max(factor.factor, other)) continue;
      trouble_->explained = true;
      Alarm alarm = LawAlarmOfRanks(
          kAlikeRule, step.step, {known->second.rank, rank}, name,
          absl::StrFormat("clipping multiplies all parts of a gradient by one factor, that of the "
                          "norm over all ranks; rank %d's by %.6g, rank %d's by %.6g",
                          known->second.rank, other, rank, factor.factor));
      alarm.expected = other;
      alarm.found = factor.factor;
      alarm.tolerance = tolerance * std::max(factor.factor, other);
      alarms.push_back(std::move(alarm));
    }
    std::sort(alarms.begin(), alarms.end(),
              [](const Alarm& a, const Alarm& b) { return a.subject < b.subject; });
    std::move(alarms.begin(), alarms.end(), std::back_inserter(findings->alarms));
  }
}

}  // namespace

std::unique_ptr<Judge> ClippedAlikeLaw(std::shared_ptr<ReplicaTrouble> trouble) {
  return std::make_unique<ClippedAlike>(std::move(trouble));
}

}  // namespace planproof::monitor
