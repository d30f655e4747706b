#include "monitor/proved/contribution_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "monitor/laws/rounding.h"

namespace planproof::monitor {
namespace {

constexpr char kContributions[] = "contributions";
// Of what a sketch of the gradient usually is: beyond this the bound tells nothing apart.
constexpr double kBlindShareOfSketch = 0.25;
constexpr double kSameProvedFactor = 1e-9;  // relative
constexpr double kShareOfMultiple = 0.01;   // that a multiple may miss

// What one rank adds to a gradient in a step, of all backwards together.
struct OwnContribution {
  std::array<double, kSketches> sketches{};
  double norm = 0;  // at most
  int64_t backwards = 0;
  bool finite = true;
};
using ContributionsOfRank = std::map<std::string, OwnContribution>;

ContributionsOfRank ContributionsIn(const StepOfRank& step) {
  ContributionsOfRank found;
  for (const Values& values : step.values) {
    if (values.kind != TensorSet::kContribution || values.moment != Moment::kBackward) continue;
    for (size_t i = 0; i < values.tensors.size(); ++i) {
      OwnContribution& own = found[(*values.table)[values.tensors[i]].name];
      ++own.backwards;
      own.norm += values.norms[i];
      own.finite = own.finite && std::isfinite(values.norms[i]);
      for (int k = 0; k < kSketches; ++k) {
        own.sketches[k] += values.sketches[k][i];
        own.finite = own.finite && std::isfinite(values.sketches[k][i]);
      }
    }
  }
  return found;
}

// Gradients are cleared before the first backward of the step, and not after it: what its backwards
// add is all that there is.
bool StartsCleared(const StepOfRank& step, size_t optimizers) {
  bool left_over = false, backward = false;
  size_t cleared = 0;
  for (const Event& event : step.events) {
    if (event.type == EventType::kBackward) backward = true;
    if (event.type == EventType::kZeroGrad) {
      if (backward) return false;
      ++cleared;
    }
    if (event.type == EventType::kForwardBegins && !backward && event.c > 0) {
      left_over = true;
      cleared = 0;
    }
  }
  return !left_over || cleared >= optimizers;
}

class ContributionComparison {
 public:
  ContributionComparison(StepView* view, StepFindings* findings)
      : view_(view), findings_(findings) {}

  void Run() {
    if (!IsApplicable()) return;
    for (const auto& [rank, step] : view_->step.ranks) own_[rank] = ContributionsIn(*step);
    for (const MonitoredTensor& tensor : view_->layout.tensors) {
      const SetMonitor* set = FindSet(*tensor.monitor, SetKind::kGradient);
      if (!tensor.monitor->contributions || set == nullptr) continue;
      const std::optional<double> factor = FactorOf(tensor);
      if (!factor) continue;
      for (const auto& [rank, step] : view_->step.ranks) {
        if (Compare(tensor, *set, *factor, rank)) break;
      }
    }
  }

 private:
  bool IsApplicable() const {
    if (view_->loss_is_scaled) return false;
    for (const auto& [rank, step] : view_->step.ranks) {
      const auto header = view_->run.headers.find(rank);
      const size_t optimizers =
          header == view_->run.headers.end() ? 1 : header->second.optimizers.size();
      if (step->left_out || HasClosure(*step) || !StartsCleared(*step, optimizers)) return false;
    }
    return true;
  }

  static int64_t RanksAlong(const std::vector<ProvedAxis>& axes,
                            const std::vector<int32_t>& along) {
    int64_t ranks = 1;
    for (const int32_t axis : along) ranks *= axes[axis].extent;
    return ranks;
  }

  // In the run's mesh: a mean stays one, and a sum.
  std::optional<double> FactorOf(const MonitoredTensor& tensor) const {
    const ContributionMonitor& proved = *tensor.monitor->contributions;
    const auto of_proof = static_cast<double>(RanksAlong(view_->monitors.axes, proved.axes));
    const auto of_run = static_cast<double>(RanksAlong(view_->layout.axes, proved.axes));
    if (of_run == of_proof || proved.factor == 1) return proved.factor;
    if (std::abs(proved.factor * of_proof - 1) > kSameProvedFactor) return std::nullopt;
    return 1 / of_run;
  }

  const TensorFact* Gradient(int rank, const SetMonitor& set, const std::string& name) {
    const bool clips = HasEvent(*view_->step.ranks.at(rank), EventType::kClipByNorm);
    if (!clips && view_->IsWrapped()) return nullptr;
    return view_->Find(rank, clips ? Moment::kClip : Moment::kBefore, set, name);
  }

  // Whether it fails.
  bool Compare(const MonitoredTensor& tensor, const SetMonitor& set, double factor, int rank) {
    const std::vector<int> ranks =
        LineOf(view_->layout.axes, tensor.monitor->contributions->axes, rank);
    const TensorFact* gradient = Gradient(rank, set, tensor.name);
    if (gradient == nullptr || !gradient->finite) return false;
    std::array<double, kSketches> expected{};
    double magnitude = 0;
    int64_t backwards = 0;
    for (const int other : ranks) {
      const auto of_rank = own_.find(other);
      if (of_rank == own_.end()) return false;
      const auto own = of_rank->second.find(tensor.name);
      if (own == of_rank->second.end() || !own->second.finite) return false;
      for (int k = 0; k < kSketches; ++k) expected[k] += factor * own->second.sketches[k];
      magnitude += std::abs(factor) * own->second.norm;
      backwards = std::max(backwards, own->second.backwards);
    }
    const double u = UnitRoundoff(gradient->tensor->significand_bits) *
                     RoundoffsOfContributions(ranks.size(), backwards);
    const double tolerance = SketchError(*gradient->tensor, magnitude + gradient->norm, u);
    const double usual = std::sqrt(SketchSquare(tensor.of.size())) * magnitude;
    if (!(tolerance <= kBlindShareOfSketch * usual)) {
      findings_->notices.push_back({NoticeKind::kBlind, kContributions, std::nullopt, tensor.name,
                                    "rounding may be as large as what ranks contribute"});
      return false;
    }
    findings_->Compared(tensor);
    for (int k = 0; k < kSketches; ++k) {
      if (std::abs(gradient->sketches[k] - expected[k]) <= tolerance) continue;
      Fail(tensor, set, factor, rank, ranks, *gradient, expected, k, tolerance);
      return true;
    }
    return false;
  }

  // " (it is 2 times that)", if it is a multiple.
  static std::string AsMultiple(const TensorFact& gradient,
                                const std::array<double, kSketches>& expected) {
    double product = 0, square = 0, own = 0, rest = 0;
    for (int k = 0; k < kSketches; ++k) {
      product += gradient.sketches[k] * expected[k];
      square += expected[k] * expected[k];
      own += gradient.sketches[k] * gradient.sketches[k];
    }
    if (!(square > 0)) return "";
    const double times = product / square;
    for (int k = 0; k < kSketches; ++k) {
      const double missed = gradient.sketches[k] - times * expected[k];
      rest += missed * missed;
    }
    if (!(rest <= kShareOfMultiple * kShareOfMultiple * own)) return "";
    return absl::StrFormat(" (%.4g times that)", times);
  }

  void Fail(const MonitoredTensor& tensor, const SetMonitor& set, double factor, int rank,
            const std::vector<int>& ranks, const TensorFact& gradient,
            const std::array<double, kSketches>& expected, int k, double tolerance) {
    Alarm alarm;
    alarm.tier = tensor.tier;
    alarm.rule = kContributions;
    alarm.step = view_->step.step;
    alarm.ranks = {rank};
    alarm.subject = tensor.name;
    alarm.statement = absl::StrFormat(
        "the gradient of %s is %.6g times the sum of what ranks %s contribute; rank %d has "
        "something else%s",
        tensor.name, factor, absl::StrJoin(ranks, ", "), rank, AsMultiple(gradient, expected));
    alarm.expected = expected[k];
    alarm.found = gradient.sketches[k];
    alarm.tolerance = tolerance;
    alarm.place = Place(tensor, set);
    findings_->failures.push_back({StepStage::kGradient, set.order, std::move(alarm)});
  }

  // Of the collective that reduces along these axes, if the proof has one.
  std::string Place(const MonitoredTensor& tensor, const SetMonitor& set) const {
    for (const CollectiveMonitor& collective : view_->monitors.collectives) {
      if (collective.kind == CollectiveKind::kAllReduce &&
          collective.axes == tensor.monitor->contributions->axes) {
        return collective.place;
      }
    }
    return set.place;
  }

  StepView* view_;
  StepFindings* findings_;
  std::map<int, ContributionsOfRank> own_;
};

}  // namespace

double RoundoffsOfContributions(size_t ranks, int64_t backwards) {
  return static_cast<double>(ranks) + static_cast<double>(backwards);
}

void CheckContributions(StepView* view, StepFindings* findings) {
  ContributionComparison(view, findings).Run();
}

}  // namespace planproof::monitor
