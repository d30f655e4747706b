#include "monitor/proved/conformance_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planproof::monitor {
namespace {

constexpr char kCollectives[] = "collectives";
constexpr char kTrained[] = "trained";

const char* WordsOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    default:
      return "reduce";
  }
}

// What a rank's step has of collectives.
struct CollectivesOfStep {
  std::set<std::tuple<CollectiveKind, std::vector<int>, sdfg::DType>> all;

  bool Has(CollectiveKind kind, const std::vector<int>& group) const {
    return std::any_of(all.begin(), all.end(), [&](const auto& each) {
      return std::get<0>(each) == kind && std::get<1>(each) == group;
    });
  }
  bool HasKind(CollectiveKind kind) const {
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& each) { return std::get<0>(each) == kind; });
  }
};

CollectivesOfStep CollectivesIn(const StepOfRank& step) {
  CollectivesOfStep found;
  for (const Event& event : step.events) {
    if (event.type != EventType::kCollective || event.collective == nullptr) continue;
    std::vector<int> group = event.collective->group;
    std::sort(group.begin(), group.end());
    found.all.emplace(event.collective->kind, std::move(group),
                      sdfg::DTypeFromName(event.collective->dtype));
  }
  return found;
}

class Conformance {
 public:
  Conformance(StepView* view, StepFindings* findings) : view_(view), findings_(findings) {}

  void Run() {
    if (view_->layout.contradicted || !IsIteration(view_->run, view_->step)) return;
    CompareTrained();
    if (view_->monitors.collectives.empty()) return;
    for (const auto& [rank, step] : view_->step.ranks) found_[rank] = CollectivesIn(*step);
    types_agree_ = TypesAgree();
    int64_t order = 0;
    for (const CollectiveMonitor& collective : view_->monitors.collectives) {
      Compare(collective, order++);
    }
  }

 private:
  // Whether parameters have the types of the proof: then collectives have, too.
  bool TypesAgree() const {
    const StepOfRank& first = *view_->step.ranks.begin()->second;
    std::map<std::string, sdfg::DType> types;
    for (const HeldTensor& held : *first.table) types[held.name] = sdfg::DTypeFromName(held.dtype);
    return std::all_of(view_->layout.tensors.begin(), view_->layout.tensors.end(),
                       [&](const MonitoredTensor& tensor) {
                         const auto own = types.find(tensor.name);
                         return own == types.end() || own->second == tensor.monitor->dtype;
                       });
  }

  bool IsObserved(int rank) const {
    const auto facts = view_->run.not_observed.find(rank);
    return facts == view_->run.not_observed.end() ||
           std::all_of(facts->second.begin(), facts->second.end(), [](const NotObserved& fact) {
             return fact.kind == NotObservedKind::kOther;
           });
  }

  Tier TierOf() const {
    Tier tier = Tier::kProved;
    for (const MonitoredTensor& tensor : view_->layout.tensors) {
      tier = std::max(tier, tensor.tier);
    }
    return tier;
  }

  std::vector<int> RanksThatTakePart(const CollectiveMonitor& collective) const {
    if (!collective.ranks.empty()) {
      const bool same = static_cast<int64_t>(view_->step.ranks.size()) == view_->monitors.world;
      return same ? std::vector<int>(collective.ranks.begin(), collective.ranks.end())
                  : std::vector<int>();
    }
    std::vector<int> ranks;
    for (const auto& [rank, step] : view_->step.ranks) ranks.push_back(rank);
    return ranks;
  }

  void Compare(const CollectiveMonitor& collective, int64_t order) {
    std::vector<int> lacking, other_type, other_group;
    std::vector<int> group;  // of the first that fails
    for (const int rank : RanksThatTakePart(collective)) {
      const std::vector<int> line = LineOf(view_->layout.axes, collective.axes, rank);
      if (line.size() < 2 || found_.count(rank) == 0) continue;
      const CollectivesOfStep& own = found_.at(rank);
      const bool has_group = own.Has(collective.kind, line);
      const bool has = has_group && (!types_agree_ ||
                                     own.all.count({collective.kind, line, collective.dtype}) != 0);
      // Journals name some by words that are not known; it may be one of those.
      if (!has && (!IsObserved(rank) || own.Has(CollectiveKind::kOther, line))) {
        NoteNotObserved(collective);
        continue;
      }
      if (!has && !view_->follows_iteration) continue;
      findings_->Checked(TierOf());
      if (has) continue;
      if (group.empty()) group = line;
      lacking.push_back(rank);
      if (has_group) other_type.push_back(rank);
      if (!has_group && own.HasKind(collective.kind)) other_group.push_back(rank);
    }
    if (lacking.empty()) return;
    const char* instead = " has none";
    if (!other_type.empty()) instead = " has it of another type";
    if (!other_group.empty()) instead = " has it over other ranks only";
    Alarm alarm = Begun(kCollectives, TierOf());
    alarm.ranks = lacking;
    alarm.subject = Described(collective);
    alarm.statement = absl::StrCat("each step has an ", alarm.subject, " of ",
                                   sdfg::DTypeName(collective.dtype), ", among ranks ",
                                   absl::StrJoin(group, ", "), "; rank ", lacking.front(), instead);
    alarm.place = collective.place;
    findings_->failures.push_back({StepStage::kCalls, order, std::move(alarm)});
  }

  // "all_reduce over dp".
  std::string Described(const CollectiveMonitor& collective) const {
    std::vector<std::string> names;
    for (const int32_t axis : collective.axes) names.push_back(view_->monitors.axes[axis].name);
    return absl::StrCat(WordsOf(collective.kind), " over ", absl::StrJoin(names, " and "));
  }

  // What the proof has a gradient of may be frozen on purpose, for a while: a difference.
  void CompareTrained() {
    std::set<std::string_view> frozen;
    for (const auto& [rank, step] : view_->step.ranks) {
      for (const HeldTensor& held : *step->table) {
        if (!held.buffer && !held.trainable) frozen.insert(held.name);
      }
    }
    if (frozen.empty()) return;
    for (const MonitoredTensor& tensor : view_->layout.tensors) {
      if (frozen.count(tensor.name) == 0) continue;
      if (FindSet(*tensor.monitor, SetKind::kGradient) == nullptr) continue;
      findings_->notices.push_back(
          {NoticeKind::kDifference, kTrained, std::nullopt, tensor.name,
           "the proved iteration trains it; here it does not require a gradient"});
    }
  }

  Alarm Begun(const char* rule, Tier tier) const {
    Alarm alarm;
    alarm.tier = tier;
    alarm.rule = rule;
    alarm.step = view_->step.step;
    return alarm;
  }

  void NoteNotObserved(const CollectiveMonitor& collective) {
    findings_->notices.push_back({NoticeKind::kNotObserved, kCollectives, std::nullopt,
                                  Described(collective),
                                  "some collectives of the run are not in its journal"});
  }

  StepView* view_;
  StepFindings* findings_;
  std::map<int, CollectivesOfStep> found_;
  bool types_agree_ = false;
};

}  // namespace

bool IsIteration(const Run& run, const StepOfRun& step) {
  for (const auto& [rank, own] : step.ranks) {
    const auto header = run.headers.find(rank);
    if (header == run.headers.end() || own->left_out) return false;
    const auto steps = static_cast<size_t>(CountEvents(*own, EventType::kOptimizerEnds));
    if (steps == 0 || steps != header->second.optimizers.size()) return false;
  }
  return !step.ranks.empty();
}

void CheckConformance(StepView* view, StepFindings* findings) {
  if (view->layout.axes.size() == view->monitors.axes.size()) Conformance(view, findings).Run();
}

}  // namespace planproof::monitor
