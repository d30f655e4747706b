#include "monitor/learned/learned_judge.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "monitor/journal/run_journal.h"
#include "monitor/learned/checker.h"
#include "monitor/learned/journal_observer.h"

namespace planproof::monitor::learned {
namespace {

class FactsJudge : public Judge {
 public:
  explicit FactsJudge(FactSet facts)
      : facts_(std::move(facts)), checker_(facts_, &symbols_), observer_(&symbols_, &checker_) {}

  void Begin(const Run& /*run*/, Findings* findings) override {
    if (facts_.source != SourceKind::kJournal) findings->other_program = other_ = true;
  }

  void Observe(const Run& run, const StepOfRun& step, Findings* findings) override {
    if (other_) return;
    observer_.Observe(run, step);
    if (!checker_.IsSameProgram()) {
      findings->other_program = other_ = true;
      return;
    }
    checker_.Report(Ranks(run), findings);
  }

  void End(const Run& run, Findings* findings) override {
    if (other_) return;
    observer_.End(run);
    checker_.Report(Ranks(run), findings);
    checker_.ReportUnobserved(findings);
  }

 private:
  static std::map<int64_t, int> Ranks(const Run& run) {
    std::map<int64_t, int> ranks;
    for (const auto& [rank, header] : run.headers) ranks.emplace(rank, rank);
    return ranks;
  }

  FactSet facts_;
  Symbols symbols_;
  Checker checker_;
  JournalObserver observer_;
  bool other_ = false;
};

}  // namespace

absl::StatusOr<LearnedRun> LearnJournal(const std::string& directory) {
  absl::StatusOr<std::unique_ptr<RunJournal>> run = RunJournal::Open(directory, {});
  if (!run.ok()) return run.status();
  Symbols symbols;
  Learner learner(&symbols);
  JournalObserver observer(&symbols, &learner);
  int64_t steps = 0;
  while (true) {
    const absl::StatusOr<Arrival> arrival = (*run)->ReadOn();
    if (!arrival.ok()) return arrival.status();
    if (*arrival != Arrival::kStep) break;
    observer.Observe((*run)->run(), (*run)->step());
    ++steps;
  }
  observer.End((*run)->run());
  if (steps == 0)
    return absl::InvalidArgumentError(
        absl::StrCat(directory, ": the journal has no step: nothing can be learned"));
  return learner.Result(SourceKind::kJournal);
}

std::unique_ptr<Judge> LearnedJudge(FactSet facts) {
  return std::make_unique<FactsJudge>(std::move(facts));
}

}  // namespace planproof::monitor::learned
