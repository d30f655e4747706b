#include "monitor/proved/clip_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "monitor/laws/rounding.h"

namespace planproof::monitor {
namespace {

constexpr char kClipNorm[] = "clip_norm";
constexpr char kClip[] = "clip";
constexpr char kNoClip[] = "no_clip";
constexpr double kErrorOfJournal = 1e-5;
constexpr double kRoundingsOfCoefficient = 4;
constexpr double kEuclidean = 2;

// What is known of the norm of all gradients.
struct WholeNorm {
  double norm = 0;
  double with_copies = 0;  // each rank's copy counted
  double u = 0;            // roundoff of the widest-spaced type among gradients
  Tier tier = Tier::kProved;
};

class ClipComparison {
 public:
  ClipComparison(StepView* view, StepFindings* findings) : view_(view), findings_(findings) {}

  void Run() {
    if (!FindEvents()) return;
    const std::optional<WholeNorm> whole = NormOfAll();
    if (events_.empty()) {
      if (whole) CheckBound(*whole);
      return;
    }
    CheckWhoClips();
    if (whole && events_.size() == view_->step.ranks.size()) CheckNorms(*whole);
    if (view_->monitors.clip->only_above && !IsAboveBound()) return;
    for (const MonitoredTensor& tensor : view_->layout.tensors) {
      if (tensor.monitor->clipped) CheckClipped(tensor);
    }
  }

 private:
  // The one event of each rank that clips; false if there is one of another kind.
  bool FindEvents() {
    for (const auto& [rank, step] : view_->step.ranks) {
      if (step->left_out || HasEvent(*step, EventType::kClipByValue)) return false;
      for (const Event& event : step->events) {
        if (event.type != EventType::kClipByNorm) continue;
        if (event.c != EuclideanBits() || !events_.emplace(rank, &event).second) {
          Note(NoticeKind::kNotApplicable, kClipNorm,
               "a rank clips more than once in a step, or by another norm than the Euclidean");
          return false;
        }
      }
    }
    return true;
  }

  bool IsAboveBound() const {
    return std::all_of(events_.begin(), events_.end(),
                       [](const auto& event) { return event.second->a > event.second->b; });
  }

  static int64_t EuclideanBits() { return std::bit_cast<int64_t>(kEuclidean); }

  // The gradient before clipping; of a rank that does not clip, what its optimizer gets.
  const TensorFact* Gradient(int rank, const MonitoredTensor& tensor) {
    const SetMonitor* set = FindSet(*tensor.monitor, SetKind::kGradient);
    if (set == nullptr) return nullptr;
    const bool clips = events_.count(rank) != 0;
    return view_->Find(rank, clips ? Moment::kClip : Moment::kBefore, *set, tensor.name);
  }

  // Of all distinct parts of all gradients that are clipped in the proof. Nothing if a part is not
  // known, or if the run has gradients that the proof says nothing of.
  std::optional<WholeNorm> NormOfAll() {
    WholeNorm whole;
    double squares = 0, all = 0;
    for (const MonitoredTensor& tensor : view_->layout.tensors) {
      if (!tensor.monitor->clipped) continue;
      size_t known = 0;
      for (const std::vector<int>& group : tensor.groups) {
        const TensorFact* first = nullptr;
        for (const int rank : group) {
          const TensorFact* fact = Gradient(rank, tensor);
          if (fact == nullptr || !fact->finite) continue;
          if (first == nullptr) first = fact;
          all += fact->norm * fact->norm;
        }
        if (first == nullptr) continue;
        ++known;
        squares += first->norm * first->norm;
        whole.u = std::max(whole.u, UnitRoundoff(first->tensor->significand_bits));
      }
      if (known != 0 && known != tensor.groups.size()) return std::nullopt;
      if (known == 0 && !HasAllGradients()) {
        Note(NoticeKind::kNotObserved, kClipNorm, "some gradients are not in the journals");
        return std::nullopt;
      }
      if (known != 0) whole.tier = std::max(whole.tier, tensor.tier);
    }
    if (!view_->layout.without.empty() && AnyGradientWithout()) {
      Note(NoticeKind::kNotApplicable, kClipNorm,
           "there are gradients that the proof says nothing of");
      return std::nullopt;
    }
    whole.norm = std::sqrt(squares);
    whole.with_copies = std::sqrt(all);
    return std::isfinite(whole.norm) && whole.norm > 0 ? std::optional(whole) : std::nullopt;
  }

  // Whether each rank's journal has as many gradients as its optimizers begin with.
  bool HasAllGradients() const {
    return std::all_of(view_->step.ranks.begin(), view_->step.ranks.end(), [](const auto& own) {
      int64_t counted = 0;
      for (const Event& event : own.second->events) {
        if (event.type != EventType::kOptimizerBegins) continue;
        if (event.c < 0) return false;
        counted += event.c;
      }
      int64_t recorded = 0;
      for (const Values& values : own.second->values) {
        const bool gradients =
            values.kind == TensorSet::kGradient && values.moment == Moment::kBefore;
        if (gradients) recorded += static_cast<int64_t>(values.tensors.size());
      }
      return recorded >= counted;
    });
  }

  bool AnyGradientWithout() {
    const SetMonitor gradient{.set = "gradient", .kind = SetKind::kGradient};
    for (const auto& [name, why] : view_->layout.without) {
      for (const auto& [rank, step] : view_->step.ranks) {
        for (const Moment moment : {Moment::kClip, Moment::kBefore}) {
          if (view_->Find(rank, moment, gradient, name) != nullptr) return true;
        }
      }
    }
    return false;
  }

  Tier TierOfClipping() const {
    Tier tier = Tier::kProved;
    for (const MonitoredTensor& tensor : view_->layout.tensors) {
      if (tensor.monitor->clipped) tier = std::max(tier, tensor.tier);
    }
    return tier;
  }

  void CheckWhoClips() {
    std::vector<int> idle;
    for (const auto& [rank, step] : view_->step.ranks) {
      if (events_.count(rank) == 0) idle.push_back(rank);
    }
    findings_->Checked(TierOfClipping());
    if (idle.empty()) return;
    Alarm alarm = Begun(kNoClip, TierOfClipping(), idle);
    alarm.subject = "gradients";
    alarm.statement = absl::StrCat("all ranks clip gradients by their norm; ranks ",
                                   absl::StrJoin(idle, ", "), " do not");
    findings_->failures.push_back(
        {StepStage::kNorm, view_->monitors.clip->order, std::move(alarm)});
  }

  // No rank clips by torch's function: what the optimizer gets is within the bound all the same.
  void CheckBound(const WholeNorm& whole) {
    findings_->Checked(whole.tier);
    const double bound = view_->monitors.clip->bound;
    const double most = bound * (1 + Tolerance(whole));
    if (whole.norm <= most) return;
    Alarm alarm = Begun(kNoClip, whole.tier, {});
    alarm.subject = "gradients";
    alarm.statement = absl::StrCat("gradients are clipped to the norm ", bound,
                                   "; those that the optimizer gets have the norm ", whole.norm);
    alarm.expected = bound;
    alarm.found = whole.norm;
    alarm.tolerance = most - bound;
    findings_->failures.push_back(
        {StepStage::kNorm, view_->monitors.clip->order, std::move(alarm)});
  }

  double Tolerance(const WholeNorm& whole) const {
    return NormTolerance(whole.u, static_cast<int64_t>(view_->step.ranks.size()));
  }

  void CheckNorms(const WholeNorm& whole) {
    const double tolerance = Tolerance(whole) * whole.norm;
    if (whole.with_copies - whole.norm > 0 && whole.with_copies - whole.norm <= tolerance) {
      Note(NoticeKind::kBlind, kClipNorm,
           "copies that are counted again would change the norm by less than rounding");
    }
    std::vector<int> wrong;
    double found = 0;
    for (const auto& [rank, event] : events_) {
      if (std::isnan(event->a)) continue;
      findings_->Checked(whole.tier);
      if (std::abs(event->a - whole.norm) <= tolerance) continue;
      if (wrong.empty()) found = event->a;
      wrong.push_back(rank);
    }
    if (wrong.empty()) return;
    Alarm alarm = Begun(kClipNorm, whole.tier, wrong);
    alarm.subject = "norm of all gradients";
    alarm.statement = absl::StrCat(
        "clipping is by the norm of all gradients, each element counted once, which is ",
        absl::StrFormat("%.6g", whole.norm), "; rank ", wrong.front(), " clips by ",
        absl::StrFormat("%.6g", found), Explained(whole, found, tolerance));
    alarm.expected = whole.norm;
    alarm.found = found;
    alarm.tolerance = tolerance;
    findings_->failures.push_back(
        {StepStage::kNorm, view_->monitors.clip->order, std::move(alarm)});
  }

  static const char* Explained(const WholeNorm& whole, double found, double tolerance) {
    const bool copies = whole.with_copies - whole.norm > 2 * tolerance &&
                        std::abs(found - whole.with_copies) <= tolerance;
    return copies ? ", as if copies were counted again" : "";
  }

  void CheckClipped(const MonitoredTensor& tensor) {
    const SetMonitor* set = FindSet(*tensor.monitor, SetKind::kGradient);
    if (set == nullptr) return;
    for (const auto& [rank, event] : events_) {
      const TensorFact* before = view_->Find(rank, Moment::kClip, *set, tensor.name);
      const TensorFact* after = view_->Find(rank, Moment::kBefore, *set, tensor.name);
      const bool known = before != nullptr && after != nullptr && before->finite && after->finite &&
                         std::isfinite(event->a) && event->b > 0;
      if (!known) continue;
      findings_->Compared(tensor);
      const double factor = std::min(1.0, event->b / (event->a + view_->monitors.clip->epsilon));
      const double u = UnitRoundoff(before->tensor->significand_bits);
      const double norm = std::max(after->norm, factor * before->norm);
      for (int k = 0; k < kSketches; ++k) {
        const double expected = factor * before->sketches[k];
        const double tolerance = SketchError(*before->tensor, norm, 2 * u) +
                                 kRoundingsOfCoefficient * u * std::abs(expected);
        if (std::abs(after->sketches[k] - expected) <= tolerance) continue;
        Alarm alarm = Begun(kClip, tensor.tier, {rank});
        alarm.subject = tensor.name;
        alarm.statement = absl::StrCat("clipping multiplies the gradient of ", tensor.name, " by ",
                                       absl::StrFormat("%.6g", factor),
                                       "; the optimizer gets something else on rank ", rank);
        alarm.expected = expected;
        alarm.found = after->sketches[k];
        alarm.tolerance = tolerance;
        findings_->failures.push_back({StepStage::kClipped, set->order, std::move(alarm)});
        break;
      }
    }
  }

  Alarm Begun(const char* rule, Tier tier, std::vector<int> ranks) const {
    Alarm alarm;
    alarm.tier = tier;
    alarm.rule = rule;
    alarm.step = view_->step.step;
    alarm.ranks = std::move(ranks);
    alarm.place = view_->monitors.clip->place;
    return alarm;
  }

  void Note(NoticeKind kind, const char* rule, const char* statement) {
    findings_->notices.push_back({kind, rule, std::nullopt, "norm of all gradients", statement});
  }

  StepView* view_;
  StepFindings* findings_;
  std::map<int, const Event*> events_;  // by rank
};

}  // namespace

double NormTolerance(double u, int64_t world) {
  return (4 + std::log2(static_cast<double>(std::max<int64_t>(world, 1)))) * u + kErrorOfJournal;
}

void CheckClipping(StepView* view, StepFindings* findings) {
  if (view->monitors.clip && !view->IsWrapped()) ClipComparison(view, findings).Run();
}

}  // namespace planproof::monitor
