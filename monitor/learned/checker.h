// Compares a run with learned facts while it is observed.
#ifndef PLANPROOF_MONITOR_LEARNED_CHECKER_H_
#define PLANPROOF_MONITOR_LEARNED_CHECKER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "monitor/findings.h"
#include "monitor/learned/facts.h"
#include "monitor/learned/windows.h"

namespace planproof::monitor::learned {

// Each fact alarms at most once in a run. Memory: that of Windows, and of the facts.
class Checker : public Windows {
 public:
  // `facts` must outlive the checker.
  Checker(const FactSet& facts, Symbols* symbols);

  void Part(Symbol part, bool optimizer) override;
  void Call(int stream, Symbol phase, Symbol function, Role role) override;
  // Only these functions were recorded: that others are missing says nothing.
  void SetRecorded(std::set<std::string> functions);

  // Whether what was observed so far is the program of the references: half of the parameters with
  // their shapes, and an optimizer's class, as far as either is known.
  bool IsSameProgram() const;
  // Differences since the last call, and the run's alarm when it was found: the violation of that
  // step that explains the others, and their subjects. A run has one alarm; what differs in later
  // steps is a notice. `ranks`: by process.
  void Report(const std::map<int64_t, int>& ranks, Findings* findings);
  // What was never to be seen, as notices. After the last End.
  void ReportUnobserved(Findings* findings) const;

 protected:
  void OnWindow(const Window& window) override;
  void OnInstance(const Instance& instance) override;
  void OnGiven(int64_t process, int64_t step, Symbol function,
               absl::Span<const Symbol> subjects) override;
  const std::vector<std::pair<Symbol, Symbol>>& Pairs() const override { return pairs_; }

 private:
  using Key = FactTopic;
  struct CallFact {
    int fact;
    CallItem other;
  };
  struct State {
    int in_a_row = 0;  // contradictions
    int64_t held = 0;
    bool reported = false;
  };
  struct Violation {
    int fact;
    int64_t step = 0;
    std::set<int64_t> processes;
    std::string found;
  };
  void AddFact(int number, const Fact& fact);
  void AddNotice(Notice notice);
  void Held(int fact);
  void Violated(int fact, int64_t process, int64_t step, std::string_view found);
  std::vector<Violation> TakeViolations();
  Alarm AlarmOf(const Violation& violation) const;

  const FactSet& facts_;
  std::vector<State> states_;
  absl::flat_hash_map<CallItem, std::vector<CallFact>> within_, before_;
  absl::flat_hash_map<Key, int> values_;  // facts of all other forms but kGiven
  absl::flat_hash_map<Symbol, std::vector<std::pair<Symbol, int>>> given_;
  std::vector<std::pair<Symbol, Symbol>> pairs_;
  absl::flat_hash_set<Symbol> phases_, functions_, new_functions_;
  std::set<std::string> recorded_, program_, optimizers_;
  bool all_recorded_ = true;
  std::map<int, Violation> violations_;  // by fact
  std::vector<Notice> notices_;
  std::optional<int64_t> alarmed_at_;  // step
  int64_t checked_ = 0;
};

}  // namespace planproof::monitor::learned

#endif  // PLANPROOF_MONITOR_LEARNED_CHECKER_H_
