#include "monitor/proved/replica_check.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "monitor/journal/words.h"
#include "monitor/laws/rounding.h"

namespace planproof::monitor {
namespace {

constexpr char kReplicas[] = "replicas";
// Ranks that compute a gradient each in its own order: sums of terms that cancel, whose rounding is
// relative to the terms. Beyond a half of the norm nothing would be told apart.
constexpr double kRoundoffsOfOwnOrder = 4096;
constexpr double kBlindShare = 0.5;

struct MomentOfSet {
  Moment moment;
  StepStage stage;
};

std::vector<MomentOfSet> MomentsOf(SetKind kind) {
  switch (kind) {
    case SetKind::kParameter:
      return {{Moment::kBegin, StepStage::kBegin}, {Moment::kAfter, StepStage::kUpdated}};
    case SetKind::kGradient:
      return {{Moment::kClip, StepStage::kGradient}, {Moment::kBefore, StepStage::kClipped}};
    default:
      return {{Moment::kBefore, StepStage::kBegin}, {Moment::kAfter, StepStage::kState}};
  }
}

const char* WordsOf(SetKind kind) {
  return kind == SetKind::kGradient ? "gradient" : kind == SetKind::kParameter ? "value" : "state";
}

// One rank's copy.
struct Copy {
  int rank = 0;
  const TensorFact* fact = nullptr;
};

class ReplicaComparison {
 public:
  ReplicaComparison(StepView* view, StepFindings* findings) : view_(view), findings_(findings) {}

  void Run() {
    for (const MonitoredTensor& tensor : view_->layout.tensors) {
      for (const SetMonitor& set : tensor.monitor->sets) {
        if (set.kind == SetKind::kNumberState) {
          CompareNumbers(tensor, set);
          continue;
        }
        for (const MomentOfSet& moment : MomentsOf(set.kind)) {
          if (IsComplete(set, moment.moment)) Compare(tensor, set, moment);
        }
      }
    }
  }

 private:
  // Whether ranks have then what the proof says of the end of the step: not before parts that other
  // ranks have updated are gathered.
  bool IsComplete(const SetMonitor& set, Moment moment) const {
    const bool later = set.late || view_->IsWrapped();
    if (set.kind == SetKind::kParameter) return !later || moment == Moment::kBegin;
    return set.kind != SetKind::kGradient || !later || moment != Moment::kBefore;
  }

  void Compare(const MonitoredTensor& tensor, const SetMonitor& set, const MomentOfSet& moment) {
    for (const std::vector<int>& group : tensor.groups) {
      if (group.size() < 2) continue;
      std::vector<Copy> copies;
      for (const int rank : group) {
        const TensorFact* fact = view_->Find(rank, moment.moment, set, tensor.name);
        if (fact != nullptr) copies.push_back({rank, fact});
      }
      if (copies.size() < 2) continue;
      if (ByBits(tensor, set)) {
        findings_->Compared(tensor);
        CompareBits(tensor, set, moment, copies);
      } else if (set.kind == SetKind::kGradient) {
        CompareNumbersOf(tensor, set, moment, copies);
      } else {
        Note(NoticeKind::kNotApplicable, tensor, set,
             "copies are computed on each rank for itself, and rounding adds up");
      }
    }
  }

  // Sums over groups of two are the same in either order.
  bool ByBits(const MonitoredTensor& tensor, const SetMonitor& set) const {
    if (set.same == Sameness::kBits) return true;
    if (set.same != Sameness::kAlike || !tensor.monitor->by_axes()) return false;
    const bool pairs = std::all_of(view_->layout.axes.begin(), view_->layout.axes.end(),
                                   [](const ProvedAxis& axis) { return axis.extent <= 2; });
    return pairs || view_->OnCpu();
  }

  void CompareBits(const MonitoredTensor& tensor, const SetMonitor& set, const MomentOfSet& moment,
                   const std::vector<Copy>& copies) {
    std::map<uint64_t, std::vector<int>> ranks;
    for (const Copy& copy : copies) ranks[copy.fact->fingerprint].push_back(copy.rank);
    if (ranks.size() == 1) return;
    // Those that most ranks do not agree with; all of them if there is no majority.
    size_t most = 0;
    for (const auto& [bits, who] : ranks) most = std::max(most, who.size());
    std::vector<int> odd;
    const Copy *usual = nullptr, *other = nullptr;
    for (const Copy& copy : copies) {
      const bool majority =
          ranks.at(copy.fact->fingerprint).size() == most && 2 * most > copies.size();
      if (!majority) odd.push_back(copy.rank);
      if (majority && usual == nullptr) usual = &copy;
    }
    if (usual == nullptr) usual = &copies.front();
    for (const Copy& copy : copies) {
      if (other == nullptr && copy.fact->fingerprint != usual->fact->fingerprint) other = &copy;
    }
    Fail(tensor, set, moment, odd, *usual, *other, "do not have the same bits", std::nullopt);
  }

  void CompareNumbersOf(const MonitoredTensor& tensor, const SetMonitor& set,
                        const MomentOfSet& moment, const std::vector<Copy>& copies) {
    const TensorFact& first = *copies.front().fact;
    const double u = UnitRoundoff(first.tensor->significand_bits);
    if (kRoundoffsOfOwnOrder * u >= kBlindShare) {
      Note(NoticeKind::kBlind, tensor, set,
           "copies are computed in different orders, and rounding may be as large as they are");
      return;
    }
    findings_->Compared(tensor);
    for (const Copy& copy : copies) {
      if (!copy.fact->finite || !first.finite) continue;
      const double norm = std::max(copy.fact->norm, first.norm);
      const double tolerance = SketchError(*first.tensor, norm, kRoundoffsOfOwnOrder * u);
      for (int k = 0; k < kSketches; ++k) {
        if (std::abs(copy.fact->sketches[k] - first.sketches[k]) <= tolerance) continue;
        Fail(tensor, set, moment, {copies.front().rank, copy.rank}, copies.front(), copy,
             "differ by more than rounding", tolerance);
        return;
      }
    }
  }

  void CompareNumbers(const MonitoredTensor& tensor, const SetMonitor& set) {
    for (const MomentOfSet& moment : MomentsOf(set.kind)) {
      const ElementFact* first = nullptr;
      int first_rank = 0;
      for (const auto& [rank, own] : view_->step.ranks) {
        const ElementFact* fact = view_->FindNumber(rank, moment.moment, set, tensor.name);
        if (fact == nullptr) continue;
        if (first == nullptr) {
          first = fact;
          first_rank = rank;
          continue;
        }
        findings_->Compared(tensor);
        if (fact->value == first->value) continue;
        Alarm alarm = Begun(tensor, set, {first_rank, rank});
        alarm.statement = absl::StrCat("the optimizer's ", set.set, " of ", tensor.name,
                                       " is the same on all ranks; ranks ", first_rank, " and ",
                                       rank, " have ", first->value, " and ", fact->value);
        alarm.expected = first->value;
        alarm.found = fact->value;
        findings_->failures.push_back({moment.stage, set.order, std::move(alarm)});
        return;
      }
    }
  }

  Alarm Begun(const MonitoredTensor& tensor, const SetMonitor& set, std::vector<int> ranks) const {
    Alarm alarm;
    alarm.tier = tensor.tier;
    alarm.rule = kReplicas;
    alarm.step = view_->step.step;
    alarm.ranks = std::move(ranks);
    alarm.subject = tensor.name;
    alarm.place = set.place;
    return alarm;
  }

  void Fail(const MonitoredTensor& tensor, const SetMonitor& set, const MomentOfSet& moment,
            std::vector<int> odd, const Copy& usual, const Copy& other, const char* what,
            std::optional<double> tolerance) {
    Alarm alarm = Begun(tensor, set, std::move(odd));
    alarm.statement = absl::StrCat(
        "ranks ", usual.rank, " and ", other.rank, " hold the same part of the ", WordsOf(set.kind),
        set.kind == SetKind::kState ? absl::StrCat(" ", set.set) : std::string(), " of ",
        tensor.name, "; at moment \"", MomentName(moment.moment), "\" they ", what);
    int k = 0;
    while (k + 1 < kSketches && usual.fact->sketches[k] == other.fact->sketches[k]) ++k;
    alarm.expected = usual.fact->sketches[k];
    alarm.found = other.fact->sketches[k];
    alarm.tolerance = tolerance;
    findings_->failures.push_back({moment.stage, set.order, std::move(alarm)});
  }

  void Note(NoticeKind kind, const MonitoredTensor& tensor, const SetMonitor& set,
            const char* statement) {
    findings_->notices.push_back(
        {kind, kReplicas, std::nullopt, absl::StrCat(tensor.name, " ", set.set), statement});
  }

  StepView* view_;
  StepFindings* findings_;
};

}  // namespace

void CheckReplicas(StepView* view, StepFindings* findings) {
  ReplicaComparison(view, findings).Run();
}

}  // namespace planproof::monitor
