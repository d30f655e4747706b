#include "monitor/proved/proved_judge.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "monitor/proved/clip_check.h"
#include "monitor/proved/conformance_check.h"
#include "monitor/proved/contribution_check.h"
#include "monitor/proved/definition_check.h"
#include "monitor/proved/monitors_file.h"
#include "monitor/proved/replica_check.h"
#include "monitor/proved/run_layout.h"
#include "monitor/proved/step_view.h"

namespace planproof::monitor {
namespace {

constexpr char kMonitors[] = "monitors";
constexpr size_t kMostOthersOfFailure = 1000;

class ProvedJudge : public Judge {
 public:
  explicit ProvedJudge(ProvedMonitors monitors)
      : monitors_(std::move(monitors)), names_(monitors_) {}

  void Begin(const Run&, Findings*) override {}

  void Observe(const Run& run, const StepOfRun& step, Findings* findings) override {
    NoteLossScale(step);
    const bool follows_iteration = std::exchange(was_iteration_, false);
    if (!IsOfAllRanks(run, step, findings)) return;
    Lay(step, findings);
    StepView view(run, step, layout_, monitors_);
    view.loss_is_scaled = loss_is_scaled_;
    view.follows_iteration = follows_iteration;
    was_iteration_ = IsIteration(run, step);
    StepFindings own;
    const bool sampled = IsSampled(step);
    if (sampled) {
      CheckReplicas(&view, &own);
      CheckContributions(&view, &own);
      CheckClipping(&view, &own);
      CheckDefinitions(&view, &own);
    }
    CheckConformance(&view, &own);
    for (size_t tier = 0; tier < 4; ++tier) findings->checked[tier] += own.checked[tier];
    compared_.merge(own.compared);
    was_sampled_ = was_sampled_ || sampled;
    for (Notice& notice : own.notices) Note(std::move(notice), findings);
    Raise(std::move(own.failures), sampled, findings);
  }

  void End(const Run&, Findings* findings) override {
    if (!was_sampled_) {
      Note({NoticeKind::kNotObserved, kMonitors, std::nullopt, "steps",
            "no step that has ended has values of all ranks: a step ends when an optimizer of the "
            "monitor has stepped"},
           findings);
      return;
    }
    for (const MonitoredTensor& tensor : layout_.tensors) {
      if (compared_.count(tensor.name) > 0) continue;
      Note({NoticeKind::kNotObserved, kMonitors, std::nullopt, tensor.name,
            "no values of it were compared: one rank alone has each part, or the journals lack "
            "the gradients and states that the proof speaks of"},
           findings);
    }
  }

 private:
  static bool IsSampled(const StepOfRun& step) {
    return std::all_of(step.ranks.begin(), step.ranks.end(),
                       [](const auto& own) { return own.second->sampled; });
  }

  void NoteLossScale(const StepOfRun& step) {
    for (const auto& [rank, own] : step.ranks) {
      for (const Event& event : own->events) {
        if (event.type == EventType::kLossScale && event.a != 1) loss_is_scaled_ = true;
      }
    }
  }

  bool IsOfAllRanks(const Run& run, const StepOfRun& step, Findings* findings) {
    if (step.ranks.empty()) return false;
    for (const auto& [rank, own] : step.ranks) {
      if (!own->complete || own->table == nullptr) return false;
    }
    const auto world = static_cast<size_t>(std::max(1, run.headers.begin()->second.world));
    if (step.ranks.size() == world) return true;
    Note({NoticeKind::kNotObserved, kMonitors, std::nullopt, "ranks",
          "steps of which journals of some ranks are missing are not compared"},
         findings);
    return false;
  }

  // Which monitors apply, anew where a rank holds other tensors.
  void Lay(const StepOfRun& step, Findings* findings) {
    std::map<int, std::shared_ptr<const TensorTable>> tables;
    for (const auto& [rank, own] : step.ranks) tables[rank] = own->table;
    if (tables == tables_) return;
    tables_ = std::move(tables);
    std::map<int, const TensorTable*> plain;
    for (const auto& [rank, table] : tables_) plain[rank] = table.get();
    layout_ = LayoutOfRun(monitors_, names_, plain);
    for (const auto& [name, why] : layout_.without) {
      Note({NoticeKind::kNotApplicable, kMonitors, std::nullopt, name, why}, findings);
    }
  }

  // Whether an alarm is due: what goes on failing has had one, and what a step lacks is told with
  // what its values show.
  bool IsNew(const std::vector<Failure>& failures, bool sampled) {
    bool of_calls = false, of_values = false;
    for (const Failure& failure : failures) {
      (failure.stage == StepStage::kCalls ? of_calls : of_values) = true;
    }
    const bool values = of_values && !values_fail_;
    const bool calls = of_calls && !calls_fail_ && !of_values && !values_fail_;
    if (sampled) values_fail_ = of_values;
    calls_fail_ = of_calls;
    return values || calls;
  }

  // One alarm: of what fails in a step, and until a step is right again, the first.
  void Raise(std::vector<Failure> failures, bool sampled, Findings* findings) {
    if (!IsNew(failures, sampled)) return;
    std::stable_sort(failures.begin(), failures.end(), [](const Failure& a, const Failure& b) {
      return std::pair(a.stage, a.order) < std::pair(b.stage, b.order);
    });
    Alarm alarm = std::move(failures.front().alarm);
    std::set<std::string> known = {alarm.subject};
    for (size_t k = 1; k < failures.size(); ++k) {
      const Alarm& other = failures[k].alarm;
      const bool lacks = failures[k].stage == StepStage::kCalls;
      if (lacks && failures[k - 1].stage != StepStage::kCalls) {  // the first
        absl::StrAppend(&alarm.statement, "; ", other.statement,
                        other.place.empty() ? "" : absl::StrCat(" (", other.place, ")"));
      }
      if (other.subject == alarm.subject && other.rule == alarm.rule) {
        alarm.ranks.insert(alarm.ranks.end(), other.ranks.begin(), other.ranks.end());
      }
      if (alarm.others.size() < kMostOthersOfFailure && known.insert(other.subject).second) {
        alarm.others.push_back(other.subject);
      }
    }
    std::sort(alarm.ranks.begin(), alarm.ranks.end());
    alarm.ranks.erase(std::unique(alarm.ranks.begin(), alarm.ranks.end()), alarm.ranks.end());
    findings->alarms.push_back(std::move(alarm));
  }

  void Note(Notice notice, Findings* findings) {
    if (noted_.insert({notice.rule, notice.subject, notice.statement}).second) {
      findings->notices.push_back(std::move(notice));
    }
  }

  const ProvedMonitors monitors_;
  const MonitorNames names_;  // refers to monitors_
  std::map<int, std::shared_ptr<const TensorTable>> tables_;
  RunLayout layout_;
  bool values_fail_ = false, calls_fail_ = false;  // in the last step that shows them
  bool loss_is_scaled_ = false;
  bool was_iteration_ = false;      // the last step
  std::set<std::string> compared_;  // tensors of which values were
  bool was_sampled_ = false;
  std::set<std::tuple<std::string, std::string, std::string>> noted_;
};

}  // namespace

std::unique_ptr<Judge> MakeProvedJudge(ProvedMonitors monitors) {
  return std::make_unique<ProvedJudge>(std::move(monitors));
}

absl::StatusOr<std::unique_ptr<Judge>> ProvedMonitorsJudge(const std::string& path) {
  absl::StatusOr<ProvedMonitors> monitors = ReadMonitors(path);
  if (!monitors.ok()) return monitors.status();
  return MakeProvedJudge(*std::move(monitors));
}

}  // namespace planproof::monitor
