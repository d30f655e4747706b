#include "monitor/proved/audit_judge.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "monitor/proved/program_comparison.h"
#include "monitor/proved/rank_mapping.h"
#include "monitor/proved/run_layout.h"

namespace planproof::monitor {
namespace {

constexpr char kAuditRule[] = "audited_step";

class AuditJudge : public Judge {
 public:
  AuditJudge(ProvedMonitors monitors, std::unique_ptr<AuditSource> audits)
      : monitors_(std::move(monitors)), names_(monitors_), audits_(std::move(audits)) {}

  void Begin(const Run&, Findings*) override {}

  void Observe(const Run& run, const StepOfRun& step, Findings* findings) override {
    for (const auto& [rank, own] : step.ranks) {
      if (own->table != nullptr) tables_[rank] = own->table;
    }
    Judge(run, false, findings);
  }

  void End(const Run& run, Findings* findings) override { Judge(run, true, findings); }

 private:
  // Steps that all ranks have recorded, or any at the end.
  void Judge(const Run& run, bool at_end, Findings* findings) {
    std::map<int64_t, std::vector<int>> ranks;
    for (const auto& [step, rank] : audits_->Steps()) {
      if (step > judged_) ranks[step].push_back(rank);
    }
    for (const auto& [step, own] : ranks) {
      const auto world = static_cast<size_t>(std::max(1, run.headers.begin()->second.world));
      if (own.size() < world && !at_end) return;
      judged_ = step;
      if (IsComparable(run, findings)) Compare(run, step, own, findings);
    }
  }

  void Note(NoticeKind kind, const std::string& subject, const std::string& why,
            Findings* findings) {
    if (noted_.insert(subject + why).second) {
      findings->notices.push_back({kind, kAuditRule, std::nullopt, subject, why});
    }
  }

  bool IsComparable(const Run& run, Findings* findings) {
    if (monitors_.programs.empty()) {
      Note(NoticeKind::kNotApplicable, "audited steps",
           "the monitors have no program to compare with: they are of a plan, or of traces of some "
           "ranks",
           findings);
      return false;
    }
    for (const auto& [rank, header] : run.headers) {
      if (header.on_cpu) continue;
      Note(NoticeKind::kNotApplicable, "audited steps",
           "operators are compared on CPUs alone: kernels of other devices are chosen otherwise",
           findings);
      return false;
    }
    return true;
  }

  void Compare(const Run& run, int64_t step, const std::vector<int>& ranks, Findings* findings) {
    std::map<int, const TensorTable*> tables;
    for (const auto& [rank, table] : tables_) tables[rank] = table.get();
    const RankMapping mapping(monitors_, LayoutOfRun(monitors_, names_, tables).axes,
                              std::max(1, run.headers.begin()->second.world));
    if (!mapping.fits()) {
      Note(NoticeKind::kNotApplicable, "audited steps", "the run's ranks have other axes",
           findings);
      return;
    }
    // By what differs: the same of several ranks is one.
    std::map<std::pair<int64_t, std::string>, Alarm> alarms;
    for (const int rank : ranks) CompareRank(step, rank, mapping, &alarms, findings);
    for (auto& [key, alarm] : alarms) findings->alarms.push_back(std::move(alarm));
  }

  void CompareRank(int64_t step, int rank, const RankMapping& mapping,
                   std::map<std::pair<int64_t, std::string>, Alarm>* alarms, Findings* findings) {
    const absl::StatusOr<RankProgram> whole = audits_->Read(step, rank);
    if (!whole.ok()) {
      Note(NoticeKind::kNotObserved, absl::StrCat("rank ", rank),
           std::string(whole.status().message()), findings);
      return;
    }
    const RankProgram run = RelevantPart(*whole);
    const std::vector<int32_t> candidates = mapping.Candidates(rank);
    if (HaveOtherLayers(monitors_.programs[candidates[0]], run)) {
      Note(NoticeKind::kNotApplicable, absl::StrCat("rank ", rank),
           "the run has other layers than the proof: operators are not compared", findings);
      return;
    }
    ProgramComparison best;
    for (const int32_t proved : candidates) {
      ProgramComparison own =
          ComparePrograms(monitors_.programs[proved], run, mapping.ratios(), mapping.same_group());
      const bool better = proved == candidates[0] || own.compared > best.compared ||
                          (!own.difference && !own.ended_by_data);
      if (better) best = std::move(own);
      if (!best.difference && !best.ended_by_data) break;
    }
    const bool at_proved_sizes = mapping.same_world() && best.same_sizes;
    const Tier tier = at_proved_sizes ? Tier::kProved : Tier::kDerived;
    findings->checked[static_cast<size_t>(tier)] += best.compared;
    if (best.ended_by_data) {
      Note(NoticeKind::kNotApplicable, absl::StrCat("rank ", rank),
           "the run differs from the proof where data decide which operators run: the rest of the "
           "step is not compared",
           findings);
    }
    if (!best.difference) return;
    ProgramDifference& difference = *best.difference;
    Alarm& alarm = (*alarms)[{difference.at, difference.statement}];
    alarm.ranks.push_back(rank);
    if (alarm.ranks.size() > 1) return;
    alarm.tier = tier;
    alarm.rule = kAuditRule;
    alarm.step = step;
    alarm.subject = std::move(difference.subject);
    alarm.statement = std::move(difference.statement);
    alarm.place = std::move(difference.place);
    alarm.expected = difference.expected;
    alarm.found = difference.found;
  }

  const ProvedMonitors monitors_;
  const MonitorNames names_;  // refers to monitors_
  const std::unique_ptr<AuditSource> audits_;
  std::map<int, std::shared_ptr<const TensorTable>> tables_;
  int64_t judged_ = -1;  // the last step that was compared
  std::set<std::string> noted_;
};

}  // namespace

std::unique_ptr<Judge> MakeAuditJudge(ProvedMonitors monitors,
                                      std::unique_ptr<AuditSource> audits) {
  return std::make_unique<AuditJudge>(std::move(monitors), std::move(audits));
}

}  // namespace planproof::monitor
